import { awaitsConfirmation, type System } from '../../platform/context.ts'
import { openCredential, presentedIn, type SealedCredential, sealCredential } from '../../platform/crypto/sealed-credential.ts'
import { commit } from '../../platform/db/commit.ts'
import { Failure } from '../../platform/failures.ts'
import type { PresentedCredential } from '../../platform/tenant/tenant.ts'
import { pageByPage } from '../../platform/work/pages.ts'
import { authenticate } from '../credentials/authenticate.ts'
import { holderOf } from '../identity.ts'
import type { SessionView } from './contract.ts'
import { deleteEndedSessions, endSession, endSurplusSessions, insertSession } from './store.ts'

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
async function viewHolder(system: System, presented: PresentedCredential, until: number): Promise<SessionView> {
  const { organization, actor } = await authenticate(system, presented, null)
  if (actor.kind !== 'credential') throw new Error('A session is of a credential.')
  const { id, name, timezone } = organization
  const { person, expires_at } = await holderOf(system, id, actor.api_key)
  return {
    api_key: actor.api_key,
    role: actor.role,
    environment: system.settings.environment,
    tax_authority: system.settings.taxAuthority,
    organization: { id, name, timezone },
    awaits_confirmation: awaitsConfirmation({ settings: system.settings, organization }),
    person,
    expires_at: new Date(Math.min(until, expires_at?.getTime() ?? until)).toISOString(),
  }
}

/** Who is signed in with this session. Throws Failure 401 when it has ended. */
export const viewSession = (system: System, session: SealedCredential): Promise<SessionView> =>
  viewHolder(system, presentedIn(session), session.until)

/**
 * Signs in with a credential, until it expires and for twelve hours at most. Beyond `MOST_SESSIONS` of a credential, the oldest one ends.
 * Throws Failure 401 unless the credential is valid.
 */
export async function signIn(system: System, { api_key, api_secret }: { api_key: string; api_secret: string }): Promise<Session> {
  const { db, now, settings } = system
  const view = await viewHolder(system, { api_key, api_secret }, now.getTime() + SESSION_SECONDS * 1_000)
  const [id, until] = [crypto.randomUUID(), new Date(view.expires_at)]
  await commit(db.$client, [
    insertSession(db, { session_id: id, api_key: view.api_key, until }),
    endSurplusSessions(view.api_key, MOST_SESSIONS),
  ])
  return {
    view,
    sealed: await sealCredential(settings.sessionKeys, 'console-session', { api_key, api_secret, until: until.getTime(), id }),
  }
}

/** Ends a session, so that no copy of its cookie signs anybody in. */
export const signOut = ({ db }: System, { id }: SealedCredential): Promise<void> => endSession(db, id)

const PRUNE_BATCH = 1_000

/** Forgets sessions that ended by themselves. Returns the cursor where another invocation continues, null at the end. */
export const pruneSessions = (system: System, cursor: string): Promise<string | null> =>
  pageByPage(system, 1, cursor, async () => ((await deleteEndedSessions(system.db, system.now, PRUNE_BATCH)) < PRUNE_BATCH ? null : ''))

const unusableLink = () =>
  new Failure('unauthenticated', 'session.link', 'The sign-in link was used already, or is too old. Sign in with a credential.')

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
  return viewHolder(system, { api_key, api_secret }, until)
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
