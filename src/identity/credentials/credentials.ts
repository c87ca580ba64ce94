import { Failure, invalid, notFound } from '../../failures.ts'
import { change } from '../../platform/audit/audit.ts'
import type { Ctx, System } from '../../platform/context.ts'
import { isGuardViolation } from '../../platform/db/guard.ts'
import { openCursor, pageOf } from '../../platform/paging/cursor.ts'
import type { Actor, Connection, Role } from '../../platform/tenant.ts'
import type { Credential, CredentialDraft, CredentialQuery, NewCredential } from './contract.ts'
import { digestOf, isApiKey, isInvitationToken, isSecret, type KeyPair, newInvitationToken, newKeyPair } from './key.ts'
import {
  type Authenticated,
  assertRevocable,
  authenticated,
  type CredentialRow,
  findCredential,
  insertCredential,
  listCredentials,
  revoke,
  withdrawInvitationsOf,
} from './store.ts'

const view = ({ api_key, name, role, created_at, expires_at }: CredentialRow): Credential => ({
  api_key,
  name,
  role,
  created_at: created_at.toISOString(),
  expires_at: expires_at?.toISOString() ?? null,
})

/** A new pair and the row that is kept of it: the secret is in the pair only. */
export async function mintCredential(
  { settings, now }: System,
  organization_id: string,
  draft: { name: string; role: Role; member_id: string | null; expires_at: Date | null },
): Promise<{ pair: KeyPair; row: CredentialRow; shown: NewCredential }> {
  const pair = newKeyPair(settings.environment)
  const digest = await digestOf(settings.apiSecretKeys.current, pair.api_secret)
  const row = { digest, api_key: pair.api_key, organization_id, ...draft, created_at: now, revoked_at: null }
  return { pair, row, shown: { ...view(row), api_secret: pair.api_secret } }
}

const refuseOwnerWork = ({ actor }: Ctx, role: Role): void => {
  if (role === 'owner' && (actor.kind !== 'credential' || actor.role !== 'owner'))
    throw new Failure('forbidden', 'credential.owner_only', 'Only an owner creates or revokes credentials of owners.')
}

/** Creates a credential. Only an owner makes one for an owner. The secret is in this answer and nowhere else. */
export async function createCredential(ctx: Ctx, draft: CredentialDraft): Promise<NewCredential> {
  refuseOwnerWork(ctx, draft.role)
  const expires_at = draft.expires_at === null ? null : new Date(draft.expires_at)
  if (expires_at && expires_at <= ctx.now) throw invalid('credential.expired', [{ path: 'expires_at', message: 'Must be in the future.' }])
  const { row, shown } = await mintCredential(ctx, ctx.organization.id, { name: draft.name, role: draft.role, member_id: null, expires_at })
  await change(ctx, { action: 'credential.created', resource_id: row.api_key, changed: ['name', 'role', 'expires_at'] }, [
    insertCredential(ctx.db, row),
  ])
  return shown
}

/** The credentials that are not revoked, oldest first. */
export async function listOfCredentials(ctx: Ctx, query: CredentialQuery) {
  const scope = { list: 'credentials', filters: query }
  const [created_at, api_key] = (await openCursor(ctx, scope, query.cursor)) ?? []
  const after = created_at === undefined ? undefined : { created_at: new Date(Number(created_at)), api_key: String(api_key) }
  const rows = await listCredentials(ctx.db, ctx.organization.id, after, query.limit + 1)
  return pageOf(ctx, scope, query.limit, rows, (row) => [row.created_at.getTime(), row.api_key], view)
}

/** Revokes a credential at once: the next request with it fails. 409 for the last one of an owner. */
export async function revokeCredential(ctx: Ctx, api_key: string): Promise<void> {
  const row = await findCredential(ctx.db, ctx.organization.id, api_key)
  if (!row) throw notFound('credential')
  refuseOwnerWork(ctx, row.role)
  const { db, organization, now } = ctx
  try {
    await change(ctx, { action: 'credential.revoked', resource_id: api_key }, [
      assertRevocable(db, organization.id, api_key, now),
      revoke(db, organization.id, api_key, now),
      withdrawInvitationsOf(db, organization.id, api_key),
    ])
  } catch (error) {
    if (!isGuardViolation(error)) throw error
    if (!(await findCredential(db, organization.id, api_key))) throw notFound('credential')
    throw new Failure(
      'conflict',
      'credential.last_owner',
      'No credential of an owner would be left for as long as this one is good. Create another one first.',
    )
  }
}

export { giveRole, insertCredential, revokeAll } from './store.ts'

/** A new invitation token, and what is kept of it. */
export async function mintInvitationToken({ settings }: System): Promise<{ token: string; digest: string }> {
  const token = newInvitationToken(settings.environment)
  return { token, digest: await digestOf(settings.apiSecretKeys.current, token) }
}

/** What may be kept of an invitation token; nothing of a text that cannot be one. */
export const digestsOfToken = async ({ settings }: System, token: string): Promise<string[]> =>
  isInvitationToken(settings.environment, token) ? Promise.all(settings.apiSecretKeys.all.map((key) => digestOf(key, token))) : []

export interface Presented {
  api_key: string | null
  api_secret: string
}

export interface Authentication {
  organization: Ctx['organization']
  actor: Actor
  connection: Connection | null
}

const unauthenticated = () =>
  new Failure('unauthenticated', 'credential.invalid', 'The Authorization header is absent, malformed, expired or revoked.')

const constantTimeEqual = (a: string, b: string): boolean => {
  const encoder = new TextEncoder()
  const [left, right] = [encoder.encode(a), encoder.encode(b)]
  return left.length === right.length && crypto.subtle.timingSafeEqual(left, right)
}

const connectionOf = (row: Authenticated): Connection | null => (row.connection === null ? null : (row as unknown as Connection))

/**
 * Finds out who presents a credential, and their connection to the fiscal entity that the request names. A text that cannot be a
 * secret of this environment is refused without a query; nothing is cached, so a revoked key fails on its next request.
 */
export async function authenticate(
  system: System,
  presented: Presented | undefined,
  fiscal_entity_id: string | null,
): Promise<Authentication> {
  const { environment, apiSecretKeys } = system.settings
  if (!presented || !isSecret(environment, presented.api_secret)) throw unauthenticated()
  if (presented.api_key !== null && !isApiKey(environment, presented.api_key)) throw unauthenticated()
  const digests = await Promise.all(apiSecretKeys.all.map((key) => digestOf(key, presented.api_secret)))
  const row = await authenticated(system.db, digests, fiscal_entity_id)
  if (!row || (row.expires_at !== null && row.expires_at <= system.now.getTime())) throw unauthenticated()
  if (presented.api_key !== null && !constantTimeEqual(row.api_key, presented.api_key)) throw unauthenticated()
  const { organization_id: id, organization_name: name, timezone, plan, extractor_count } = row
  return {
    organization: { id, name, timezone, plan, extractor_count },
    actor: { kind: 'credential', api_key: row.api_key, role: row.role },
    connection: connectionOf(row),
  }
}
