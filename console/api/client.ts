import createClient from 'openapi-fetch'
import type { Problem, paths } from './routes.d.ts'
import { loadSentences } from './sentences.ts'

/** Why a call has no answer: what the API refused, or status 0 when it could not be reached. */
export class Refused extends Error {
  readonly status: number
  readonly problem: Problem | null
  /** With 429 and 503: how long to wait. */
  readonly retryAfterSeconds: number | null

  constructor(status: number, problem: Problem | null = null, retryAfter: string | null = null) {
    super(typeof problem?.detail === 'string' ? problem.detail : (problem?.detail.message ?? ''))
    this.status = status
    this.problem = problem
    this.retryAfterSeconds = retryAfter && /^\d+$/.test(retryAfter) ? Number(retryAfter) : null
  }
}

/** Every route of the API, typed: `answer(api.GET('/v1/cfdi', { params: { query } }))`. */
export const api = createClient<paths>({ baseUrl: location.origin })

interface Call<T> {
  data?: T
  error?: unknown
  response: Response
}

/** The body of an answer. Throws Refused for every other outcome. */
export async function answer<T>(call: Promise<Call<T>>): Promise<T> {
  const { data, error, response } = await call.catch(() => {
    throw new Refused(0)
  })
  if (!response.ok) throw await refused(response, error)
  return data as T
}

const problemOf = (body: unknown): Problem | null => (body && typeof body === 'object' && 'code' in body ? (body as Problem) : null)

async function refused(response: Response, body: unknown): Promise<Refused> {
  await loadSentences()
  return new Refused(response.status, problemOf(body), response.headers.get('retry-after'))
}

export interface Session {
  api_key: string
  role: 'owner' | 'admin' | 'member'
  /** Whether it is bound to some RFCs: nothing of the whole organization is shown then. */
  is_bound: boolean
  environment: 'test' | 'live'
  /** The sandbox invents what is downloaded. */
  tax_authority: 'sandbox' | 'sat'
  organization: { id: string; name: string; timezone: string }
  /** The member behind the credential. */
  person: { name: string; email: string } | null
  /** Whether the e-mail address of the sign-up is to be confirmed before an RFC is connected. */
  awaits_confirmation: boolean
  /** Where else the person can go who signed in by mail; empty otherwise. */
  organizations: { id: string; name: string; role: Session['role'] }[]
  expires_at: string
}

/** The console's own door, beside the API. Null when nobody is signed in. */
export const session = (method: 'GET' | 'POST' | 'DELETE', body?: object): Promise<Session | null> => door(method, '/console/session', body)

/** Whom a sign-in link signs in. It is not used for that. */
export const holderOf = (link: string): Promise<Session | null> => door('POST', '/console/links/holder', { link })

/** Has a link that signs in sent to an address. A service on this machine, which sends no mail, answers with its token. */
export const sendSignInLink = (email: string): Promise<{ token: string | null }> => door('POST', '/console/sign-in-links', { email })

/** Whose the link of a mail is, and where it leads. It is not used for that. */
export const signInLinkOf = (token: string): Promise<Pick<Session, 'organizations'> & { email: string }> =>
  door('POST', '/console/sign-in-links/holder', { token })

/** Goes on in another organization of the same person. */
export const changeOrganization = (organization_id: string): Promise<Session> =>
  door('POST', '/console/session/organization', { organization_id })

/** A session that the person began by mail. */
export interface PersonSession {
  session_id: string
  organization: string
  is_current: boolean
  created_at: string
  expires_at: string
}

export const sessionsOfPerson = (): Promise<{ data: PersonSession[] }> => door('GET', '/console/sessions')
export const endSession = (session_id: string): Promise<null> => door('DELETE', `/console/sessions/${session_id}`)

export interface InvitationView {
  organization: { name: string }
  /** Who sent it, as far as they are still there. */
  invited_by: { name: string; email: string } | null
  email: string
  role: Session['role']
  /** What the inviter suggests as the name. */
  name: string | null
  expires_at: string
}

/** What an invitation is to. It is not accepted by that. */
export const invitationOf = (token: string): Promise<InvitationView> => door('POST', '/console/invitations/holder', { token })

export interface ConfirmationView {
  organization: { name: string }
  /** Who signed up, as they call themselves. */
  name: string
  email: string
}

/** Whose address the link of a mail confirms. It is not confirmed by that. */
export const confirmationOf = (token: string): Promise<ConfirmationView> => door('POST', '/console/confirmations/holder', { token })

async function door<T = Session | null>(method: string, path: string, body?: object): Promise<T> {
  const sent = body ? { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } } : {}
  const response = await fetch(path, { method, ...sent }).catch(() => {
    throw new Refused(0)
  })
  if (response.status === 204) return null as T
  const json: unknown = await response.json().catch(() => null)
  if (!response.ok) throw await refused(response, json)
  return json as T
}
