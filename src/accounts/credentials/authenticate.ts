import { isWithin } from '../../platform/addresses.ts'
import type { Ctx, System } from '../../platform/context.ts'
import { Failure } from '../../platform/failures.ts'
import { log } from '../../platform/log.ts'
import type { Actor, Connection, PresentedCredential } from '../../platform/tenant/tenant.ts'
import { digestOf, faultOf } from './key.ts'
import { type AuthenticatedRow, findAuthenticated, markUsed } from './store.ts'

export interface Authentication {
  organization: Ctx['organization']
  actor: Actor
  connection: Connection | null
  /** Whether this day's use of the credential is to be noted with `noteUse`. */
  isFirstUse: boolean
}

const unauthenticated = (reason: string) =>
  new Failure(
    'unauthenticated',
    'credential.invalid',
    `${reason} Send Basic base64(api_key:api_secret), or the api_secret as a Bearer token.`,
  )

const endedSession = () =>
  new Failure(
    'unauthenticated',
    'session.ended',
    'The session has ended: somebody signed out, or the credential was revoked or got another role. Sign in again.',
  )

/** The same failure for an unknown secret and for one of another api_key. */
const unknown = () => unauthenticated('The credential is unknown: nothing has this api_secret, or it belongs to another api_key.')

/** The failure for a credential that is not valid any more, when its secret is right. */
function ended({ revoked_at, expires_at }: AuthenticatedRow): Failure {
  const [what, at] = revoked_at === null ? ['expired', expires_at!] : ['was revoked', revoked_at]
  const when = new Date(at).toISOString()
  return new Failure(
    'unauthenticated',
    'credential.invalid',
    `The credential is right, but it ${what} at ${when}. An owner or admin of the organization makes another one with POST /v1/credentials.`,
  )
}

/** The failure for a secret that a roll has replaced, after the overlap. */
const replaced = (until: number) =>
  unauthenticated(
    `The credential has another secret since it was rolled, and this one was valid until ${new Date(until).toISOString()}. Use the one that the roll answered.`,
  )

const elsewhere = (address: string) =>
  new Failure(
    'forbidden',
    'credential.address',
    address === ''
      ? 'The credential may only be used from some addresses, and the address of this request is not known.'
      : `The credential may not be used from ${address}. \`allowed_addresses\` in GET /v1/credentials says from where.`,
  )

const parsed = <T>(json: string | null): T | null => (json === null ? null : (JSON.parse(json) as T))

const utcDay = ({ now }: System): string => now.toISOString().slice(0, 10)

const constantTimeEqual = (a: string, b: string): boolean => {
  const encoder = new TextEncoder()
  const [left, right] = [encoder.encode(a), encoder.encode(b)]
  return left.length === right.length && crypto.subtle.timingSafeEqual(left, right)
}

/**
 * Authenticates a credential, and finds its organization's connection to the fiscal entity that the request names. `api_key` is null for a
 * Bearer token. A text that cannot be a secret of this environment costs no query. Nothing is cached, so a revoked credential fails on its
 * next request, and so does a session that has ended. Throws Failure 401 credential.invalid or session.ended, and 403 credential.address.
 */
export async function authenticate(
  system: System,
  presented: PresentedCredential | undefined,
  fiscal_entity_id: string | null,
): Promise<Authentication> {
  const { environment, apiSecretKeys } = system.settings
  if (!presented) throw unauthenticated('The Authorization header is absent or malformed.')
  const { api_key, api_secret, session_id } = presented
  const isSession = session_id !== undefined && api_key !== null
  if (!isSession) {
    const fault = faultOf(environment, presented)
    if (fault !== null) throw unauthenticated(fault)
  }
  const by = isSession
    ? { session_id, api_key, now: system.now }
    : { digests: await Promise.all(apiSecretKeys.all.map((key) => digestOf(key, api_secret))) }
  const row = await findAuthenticated(system.db, by, fiscal_entity_id)
  if (!row && isSession) throw endedSession()
  if (!row || (api_key !== null && !constantTimeEqual(row.api_key, api_key))) throw unknown()
  const now = system.now.getTime()
  if (row.revoked_at !== null || (row.expires_at !== null && row.expires_at <= now)) throw ended(row)
  if (row.secret_until !== null && row.secret_until <= now) throw replaced(row.secret_until)
  const allowed = parsed<string[]>(row.allowed_addresses)
  if (allowed && !isWithin(system.address, allowed)) throw elsewhere(system.address)
  const bound_to = parsed<string[]>(row.fiscal_entity_ids)
  const { organization_id: id, organization_name: name, timezone, plan, extractor_count, events_shard } = row
  const email_confirmed_at = row.email_confirmed_at === null ? null : new Date(row.email_confirmed_at)
  return {
    organization: { id, name, timezone, plan, extractor_count, events_shard, email_confirmed_at, ...(bound_to && { bound_to }) },
    actor: { kind: 'credential', api_key: row.api_key, role: row.role, scopes: parsed<string[]>(row.scopes) },
    connection: row.connection === null ? null : row,
    isFirstUse: row.last_used_on === null || row.last_used_on < utcDay(system),
  }
}

/** Notes that the caller's credential was used today. A failure is logged, because the next request notes it as well. */
export async function noteUse(ctx: Ctx): Promise<void> {
  const { db, organization, actor } = ctx
  if (actor.kind !== 'credential') return
  try {
    await markUsed(db, organization.id, actor.api_key, utcDay(ctx))
  } catch (error) {
    log.error(ctx, 'The day of a credential’s use could not be noted. Its next request notes it.', {}, error)
  }
}
