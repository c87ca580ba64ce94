import { Failure } from '../failures.ts'
import { authenticate } from '../identity/credentials/authenticate.ts'
import type { System } from '../platform/context.ts'
import { openCredential, type SealedCredential, sealCredential } from '../platform/crypto/sealed-credential.ts'
import type { PresentedCredential } from '../platform/tenant.ts'
import type { SessionView } from './contract.ts'

export const SESSION_SECONDS = 12 * 3_600
/** How long a sign-in link can be used. */
const LINK_SECONDS = 3_600

interface Session {
  view: SessionView
  /** What the browser keeps. */
  sealed: string
}

/** Who is signed in with this session. Throws Failure 401 when its credential is not valid any more. */
export async function viewSession(system: System, { until, ...presented }: SealedCredential): Promise<SessionView> {
  const { organization, actor } = await authenticate(system, presented, null)
  if (actor.kind !== 'credential') throw new Error('A session is of a credential.')
  const { id, name, timezone } = organization
  return {
    api_key: actor.api_key,
    role: actor.role,
    environment: system.settings.environment,
    organization: { id, name, timezone },
    expires_at: new Date(until).toISOString(),
  }
}

/** Signs in with a credential. Throws Failure 401 unless it is valid. */
export async function signIn(system: System, { api_key, api_secret }: { api_key: string; api_secret: string }): Promise<Session> {
  const until = system.now.getTime() + SESSION_SECONDS * 1_000
  const credential = { api_key, api_secret, until, id: '' }
  const view = await viewSession(system, credential)
  return { view, sealed: await sealCredential(system.settings.sessionKeys, 'console-session', credential) }
}

const unusableLink = () =>
  new Failure('unauthenticated', 'session.link', 'The sign-in link was used already, or is too old. Sign in with a credential.')

/** Signs in with a link, which works once. Throws Failure 401. */
export async function signInWithLink(system: System, link: string): Promise<Session> {
  const opened = await openCredential(system.settings.sessionKeys, 'console-link', link, system.now)
  if (!opened) throw unusableLink()
  // It is used up for as long as it could be opened.
  const used = await system.env.COOLDOWNS.getByName(`console-link:${opened.id}`).acquire(LINK_SECONDS, system.now.getTime())
  if (!used.acquired) throw unusableLink()
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
