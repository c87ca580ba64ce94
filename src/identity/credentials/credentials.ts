import { Failure, invalid, notFound } from '../../failures.ts'
import { takePlace } from '../../plans/place.ts'
import { change } from '../../platform/audit/audit.ts'
import type { Ctx, System } from '../../platform/context.ts'
import { openCursor, paginate } from '../../platform/paging/cursor.ts'
import type { Role } from '../../platform/tenant.ts'
import type { Credential, CredentialDraft, CredentialQuery, NewCredential } from './contract.ts'
import { digestOf, type KeyPair, newKeyPair } from './key.ts'
import { type CredentialRow, credentialsUsed, findCredential, insertCredential, listCredentialRows } from './store.ts'

export { credentialsUsed, insertCredential, revokeMemberCredentials, setCredentialRole } from './store.ts'

const view = ({ api_key, name, role, created_at, expires_at }: CredentialRow): Credential => ({
  api_key,
  name,
  role,
  created_at: created_at.toISOString(),
  expires_at: expires_at?.toISOString() ?? null,
})

/** Creates a key pair and the row to store for it. Only the pair has the secret. */
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

/** Whether the caller's credential has the role owner. */
export const isOwner = ({ actor }: Ctx): boolean => actor.kind === 'credential' && actor.role === 'owner'

/** Throws Failure 403 credential.owner_only when the credential is an owner's and the caller is not an owner. */
export function requireOwnerFor(ctx: Ctx, role: Role): void {
  if (role === 'owner' && !isOwner(ctx))
    throw new Failure('forbidden', 'credential.owner_only', 'Only an owner can create or revoke credentials with the role owner.')
}

/**
 * Creates a credential. The secret is in this answer and is not stored. Throws Failure 403 credential.owner_only, 409
 * credential.plan_limit and 422 credential.expired.
 */
export async function createCredential(ctx: Ctx, draft: CredentialDraft): Promise<NewCredential> {
  requireOwnerFor(ctx, draft.role)
  const expires_at = draft.expires_at === null ? null : new Date(draft.expires_at)
  if (expires_at && expires_at <= ctx.now) throw invalid('credential.expired', [{ path: 'expires_at', message: 'Must be in the future.' }])
  const { row, shown } = await mintCredential(ctx, ctx.organization.id, { name: draft.name, role: draft.role, member_id: null, expires_at })
  await takePlace(ctx, 'credentials', credentialsUsed(ctx.organization.id), (guard) =>
    change(ctx, { action: 'credential.created', resource_id: row.api_key, changed: ['name', 'role', 'expires_at'] }, [
      guard,
      insertCredential(ctx.db, row),
    ]),
  )
  return shown
}

/** Lists the credentials that are not revoked, oldest first. */
export async function listCredentials(ctx: Ctx, query: CredentialQuery) {
  const scope = { list: 'credentials', filters: query }
  const [created_at, api_key] = (await openCursor(ctx, scope, query.cursor)) ?? []
  const after = created_at === undefined ? undefined : { created_at: new Date(Number(created_at)), api_key: String(api_key) }
  const rows = await listCredentialRows(ctx.db, ctx.organization.id, after, query.limit + 1)
  return paginate(ctx, scope, query.limit, rows, (row) => [row.created_at.getTime(), row.api_key], view)
}

/** Returns a credential that is not revoked. Throws Failure 404 credential.not_found. */
export async function requireCredential({ db, organization }: Ctx, api_key: string): Promise<CredentialRow> {
  const row = await findCredential(db, organization.id, api_key)
  if (!row) throw notFound('credential')
  return row
}
