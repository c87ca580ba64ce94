import { Failure } from '../../failures.ts'
import type { Ctx, System } from '../../platform/context.ts'
import type { Actor, Connection } from '../../platform/tenant.ts'
import { digestOf, isApiKey, isSecret } from './key.ts'
import { type AuthenticatedRow, findAuthenticated } from './store.ts'

export interface Authentication {
  organization: Ctx['organization']
  actor: Actor
  connection: Connection | null
}

const unauthenticated = () =>
  new Failure(
    'unauthenticated',
    'credential.invalid',
    'The Authorization header is absent or malformed, or the credential is unknown, expired or revoked. ' +
      'Send Basic base64(api_key:api_secret), or the api_secret as a Bearer token.',
  )

const constantTimeEqual = (a: string, b: string): boolean => {
  const encoder = new TextEncoder()
  const [left, right] = [encoder.encode(a), encoder.encode(b)]
  return left.length === right.length && crypto.subtle.timingSafeEqual(left, right)
}

const connectionOf = (row: AuthenticatedRow): Connection | null => (row.connection === null ? null : (row as unknown as Connection))

/**
 * Authenticates a credential, and finds its organization's connection to the fiscal entity that the request names. `api_key` is null for a
 * Bearer token. A text that cannot be a secret of this environment costs no query. Nothing is cached, so a revoked credential fails on its
 * next request. Throws Failure 401 credential.invalid.
 */
export async function authenticate(
  system: System,
  presented: { api_key: string | null; api_secret: string } | undefined,
  fiscal_entity_id: string | null,
): Promise<Authentication> {
  const { environment, apiSecretKeys } = system.settings
  if (!presented || !isSecret(environment, presented.api_secret)) throw unauthenticated()
  if (presented.api_key !== null && !isApiKey(environment, presented.api_key)) throw unauthenticated()
  const digests = await Promise.all(apiSecretKeys.all.map((key) => digestOf(key, presented.api_secret)))
  const row = await findAuthenticated(system.db, digests, fiscal_entity_id)
  if (!row || (row.expires_at !== null && row.expires_at <= system.now.getTime())) throw unauthenticated()
  if (presented.api_key !== null && !constantTimeEqual(row.api_key, presented.api_key)) throw unauthenticated()
  const { organization_id: id, organization_name: name, timezone, plan, extractor_count } = row
  return {
    organization: { id, name, timezone, plan, extractor_count },
    actor: { kind: 'credential', api_key: row.api_key, role: row.role },
    connection: connectionOf(row),
  }
}
