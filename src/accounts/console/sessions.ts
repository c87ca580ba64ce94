import { awaitsConfirmation, type System } from '../../platform/context.ts'
import { openCredential, presentedIn, type SealedCredential, sealCredential } from '../../platform/crypto/sealed-credential.ts'
import { commit } from '../../platform/db/commit.ts'
import { isGuardViolation } from '../../platform/db/guard.ts'
import { Failure } from '../../platform/failures.ts'
import type { PresentedCredential } from '../../platform/tenant/tenant.ts'
import { pageByPage } from '../../platform/work/pages.ts'
import { openSignInLink } from '../confirmation/confirmation.ts'
import { authenticate } from '../credentials/authenticate.ts'
import { holderOf } from '../identity.ts'
import { assertMembership, type Membership, membershipsOf } from '../team/store.ts'
import type { OrganizationOf, SessionView } from './contract.ts'
import {
  assertSession,
  deleteEndedSessions,
  deleteSession,
  deleteSessionOf,
  endSurplusSessions,
  findSession,
  insertSession,
  listSessionsOf,
  type SessionRow,
} from './store.ts'

/** No script, style or picture of another origin, nothing inline, nothing that frames the page, and no text that becomes code. */
const POLICY = [
  "default-src 'none'",
  ...['script', 'style', 'font', 'img', 'connect'].map((what) => `${what}-src 'self'`),
  ...['form-action', 'frame-ancestors', 'base-uri'].map((what) => `${what} 'none'`),
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const FOLDER = '/console/assets/'

/**
 * Answers with a file of the console. The names of its files change with their content. Every other path is a page, which the browser's
 * script chooses.
 */
export async function consoleFile(assets: Fetcher, request: Request): Promise<Response> {
  const { pathname, origin } = new URL(request.url)
  const isFile = pathname.startsWith(FOLDER)
  const asked = new Headers()
  const known = request.headers.get('if-none-match')
  if (known !== null) asked.set('If-None-Match', known)
  const file = await assets.fetch(new URL(isFile ? pathname : '/console/index.html', origin), { headers: asked })
  const headers = new Headers(file.headers)
  headers.set('Cache-Control', isFile && file.ok ? 'public, max-age=31536000, immutable' : 'no-cache')
  headers.set('Content-Security-Policy', POLICY)
  headers.set('Cross-Origin-Opener-Policy', 'same-origin')
  return new Response(file.body, { status: file.status, headers })
}

const SESSION_SECONDS = 12 * 3_600
const MAIL_SESSION_SECONDS = 30 * 86_400
/** As many sessions as a credential may have at a time. */
const MOST_SESSIONS = 50
/** How long a sign-in link can be used. */
const LINK_SECONDS = 3_600

interface Session {
  view: SessionView
  /** The text that the browser keeps. */
  sealed: string
}

/** Whom a credential signs in, until this time at the latest. Throws Failure 401 when it is not valid, or came in a session that has ended. */
async function viewHolder(system: System, presented: PresentedCredential, until: number, email: string | null): Promise<SessionView> {
  const { organization, actor } = await authenticate(system, presented, null)
  if (actor.kind !== 'credential') throw new Error('A session is of a credential.')
  const { id, name, timezone } = organization
  const { person, expires_at } = await holderOf(system, id, actor.api_key)
  return {
    api_key: actor.api_key,
    role: actor.role,
    is_bound: organization.bound_to !== undefined,
    environment: system.settings.environment,
    tax_authority: system.settings.taxAuthority,
    organization: { id, name, timezone },
    organizations: email === null ? [] : (await membershipsOf(system.db.$client, email, system.now)).map(organizationOf),
    awaits_confirmation: awaitsConfirmation({ settings: system.settings, organization }),
    person,
    expires_at: new Date(Math.min(until, expires_at?.getTime() ?? until)).toISOString(),
  }
}

const organizationOf = ({ organization_id: id, name, role }: Membership): OrganizationOf => ({ id, name, role })

/** Who is signed in with this session. Throws Failure 401 when it has ended. */
export async function viewSession(system: System, session: SealedCredential): Promise<SessionView> {
  const row = await findSession(system.db, session.id)
  return viewHolder(system, presentedIn(session), session.until, row?.email ?? null)
}

/**
 * A new session, what the browser keeps of it, and the statements that begin it. Beyond `MOST_SESSIONS` of a credential, the oldest one ends.
 * Without a secret it has a random one, under which answers are kept for repetitions.
 */
async function begin({ db, now, settings }: System, api_key: string, until: number, by: { api_secret: string } | { email: string }) {
  const id = crypto.randomUUID()
  const email = 'email' in by ? by.email : null
  const session = { api_key, api_secret: 'email' in by ? crypto.randomUUID() : by.api_secret, until, id }
  return {
    session,
    sealed: await sealCredential(settings.sessionKeys, 'console-session', session),
    statements: [
      ...(email === null ? [] : [assertMembership(api_key, email)]),
      insertSession(db, { session_id: id, api_key, until: new Date(until), created_at: now, email }),
      endSurplusSessions(api_key, MOST_SESSIONS),
    ],
  }
}

/** Signs in with a credential, until it expires and for twelve hours at most. Throws Failure 401 unless the credential is valid. */
export async function signIn(system: System, presented: { api_key: string; api_secret: string }): Promise<Session> {
  const view = await viewHolder(system, presented, system.now.getTime() + SESSION_SECONDS * 1_000, null)
  const { sealed, statements } = await begin(system, view.api_key, Date.parse(view.expires_at), presented)
  await commit(system.db.$client, statements)
  return { view, sealed }
}

/** Whose link of a mail it is, and where it leads. It can still be used afterwards. Throws Failure 401 session.link. */
export async function viewSignInLink(system: System, token: string): Promise<{ email: string; organizations: OrganizationOf[] }> {
  const { email } = await openSignInLink(system, token)
  return { email, organizations: (await membershipsOf(system.db.$client, email, system.now)).map(organizationOf) }
}

/** Throws Failure 404 unless the person with this address can sign in there. */
async function membershipIn(system: System, email: string, organization_id: string): Promise<Membership> {
  const found = (await membershipsOf(system.db.$client, email, system.now)).find((one) => one.organization_id === organization_id)
  if (!found) throw notMember()
  return found
}

const notMember = () =>
  new Failure(
    'not_found',
    'session.not_member',
    'This person is no member of the organization, or has no valid credential there. An owner or admin invites again.',
  )
const endedSession = () => new Failure('unauthenticated', 'session.ended', 'The session has ended. Sign in again.')

/** What refused the commit of a session: the person left the organization, or signed out, since it was read. */
function refusedSession(error: unknown): never {
  if (isGuardViolation(error, 'membership.active')) throw notMember()
  throw isGuardViolation(error, 'console_session.open') ? endedSession() : error
}

/** Signs in where a link of a mail leads, for thirty days, as long as the member has a valid credential. Throws Failure 401 session.link and 404. */
export async function signInByMail(system: System, token: string, organization_id: string): Promise<Session> {
  const link = await openSignInLink(system, token)
  const { api_key, expires_at } = await membershipIn(system, link.email, organization_id)
  const until = Math.min(system.now.getTime() + MAIL_SESSION_SECONDS * 1_000, expires_at ?? Number.POSITIVE_INFINITY)
  const { session, sealed, statements } = await begin(system, api_key, until, { email: link.email.toLowerCase() })
  await link.use(statements).catch(refusedSession)
  return { view: await viewSession(system, session), sealed }
}

/** The address of whoever signed in by mail. Throws Failure 403 for a session of a credential, and 401 for one that has ended. */
async function personOf(system: System, session: SealedCredential | null): Promise<{ email: string; row: SessionRow }> {
  const row = session && (await findSession(system.db, session.id))
  if (!session || !row) throw endedSession()
  await authenticate(system, presentedIn(session), null)
  if (row.email === null)
    throw new Failure('forbidden', 'session.no_person', 'Who signed in with a credential is in its organization alone. Sign in by mail.')
  return { email: row.email, row }
}

/** Goes on in another organization of the same person, until the session would have ended. Throws Failure 401, 403 session.no_person and 404. */
export async function changeOrganization(system: System, session: SealedCredential | null, organization_id: string): Promise<Session> {
  const { email, row } = await personOf(system, session)
  const { api_key, expires_at } = await membershipIn(system, email, organization_id)
  const until = Math.min(row.until.getTime(), expires_at ?? Number.POSITIVE_INFINITY)
  const next = await begin(system, api_key, until, { email })
  const moved = [assertSession(row.session_id), deleteSession(system.db, row.session_id), ...next.statements]
  await commit(system.db.$client, moved).catch(refusedSession)
  return { view: await viewSession(system, next.session), sealed: next.sealed }
}

/** The sessions that a person began by mail. Throws Failure 401 and 403 session.no_person. */
export async function listSessions(system: System, session: SealedCredential | null) {
  const { email, row } = await personOf(system, session)
  const rows = await listSessionsOf(system.db, email, system.now)
  return {
    data: rows.map(({ session_id, organization, created_at, until }) => ({
      ...{ session_id, organization, is_current: session_id === row.session_id },
      ...{ created_at: created_at.toISOString(), expires_at: until.toISOString() },
    })),
  }
}

/** Ends a session of the same person. Throws Failure 401 and 403 session.no_person. */
export async function endSessionOf(system: System, session: SealedCredential | null, session_id: string): Promise<void> {
  const { email } = await personOf(system, session)
  await deleteSessionOf(system.db, email, session_id)
}

/** Ends a session, so that no copy of its cookie signs anybody in. */
export const signOut = async ({ db }: System, { id }: SealedCredential): Promise<void> => void (await deleteSession(db, id))

const PRUNE_BATCH = 1_000

/** Forgets sessions that ended by themselves. Returns the cursor where another invocation continues, null at the end. */
export const pruneSessions = (system: System, cursor: string): Promise<string | null> =>
  pageByPage(system, 1, cursor, async () => ((await deleteEndedSessions(system.db, system.now, PRUNE_BATCH)) < PRUNE_BATCH ? null : ''))

const unusableLink = () =>
  new Failure(
    'unauthenticated',
    'session.link',
    'The sign-in link was used already, or is too old. Ask for another one, or sign in with a credential.',
  )

/** The credential in a link, and the lock of its one use. Throws Failure 401. */
async function openLink(system: System, link: string) {
  const opened = await openCredential(system.settings.sessionKeys, 'console-link', link, system.now)
  if (!opened) throw unusableLink()
  return { opened, use: system.env.COOLDOWNS.getByName(`console-link:${opened.id}`) }
}

/** Whom a link signs in. The link can still be used afterwards. Throws Failure 401. */
export async function viewLink(system: System, link: string): Promise<SessionView> {
  const { opened, use } = await openLink(system, link)
  if (!(await use.isFree(system.now.getTime()))) throw unusableLink()
  const { api_key, api_secret, until } = opened
  return viewHolder(system, { api_key, api_secret }, until, null)
}

/** Signs in with a link, which works once. Throws Failure 401. */
export async function signInWithLink(system: System, link: string): Promise<Session> {
  const { opened, use } = await openLink(system, link)
  // It stays used for as long as it could be opened.
  if (!(await use.acquire(LINK_SECONDS, system.now.getTime())).acquired) throw unusableLink()
  return signIn(system, opened)
}

/** Makes a sign-in link for whoever presents a credential: the part after `#`, which browsers send nowhere. Throws Failure 401. */
export async function makeLink(system: System, presented: PresentedCredential | undefined): Promise<{ hash: string; expires_at: string }> {
  const { actor } = await authenticate(system, presented, null)
  if (actor.kind !== 'credential') throw new Error('A link is of a credential.')
  const until = system.now.getTime() + LINK_SECONDS * 1_000
  const what = { api_key: actor.api_key, api_secret: presented!.api_secret, until, id: crypto.randomUUID() }
  const sealed = await sealCredential(system.settings.sessionKeys, 'console-link', what)
  return { hash: `#link=${sealed}`, expires_at: new Date(until).toISOString() }
}
