import { type Change, change } from '../../platform/audit/audit.ts'
import type { Ctx, System } from '../../platform/context.ts'
import type { Statement } from '../../platform/db/commit.ts'
import { isGuardViolation } from '../../platform/db/guard.ts'
import { Failure, invalid, notFound } from '../../platform/failures.ts'
import { openCursor, paginate } from '../../platform/paging/cursor.ts'
import type { Role } from '../../platform/tenant/tenant.ts'
import { shortenSessionsOf } from '../console/store.ts'
import { reserveQuota } from '../plans/reserve-quota.ts'
import type { Credential, CredentialDraft, CredentialQuery, CredentialRoll, NewCredential } from './contract.ts'
import { digestOf, newKeyPair, newToken } from './key.ts'
import { beyond, limitsOf } from './limits.ts'
import {
  assertMaker,
  type CredentialLimits,
  type CredentialRow,
  credentialsUsed,
  findCredential,
  insertCredential,
  listCredentialRows,
  replaceSecret,
} from './store.ts'

export { credentialsUsed, insertCredential, revokeMemberCredentials, setCredentialRole } from './store.ts'

const view = ({ digest: _, previous_digest: __, organization_id: ___, revoked_at: ____, ...row }: CredentialRow): Credential => ({
  ...row,
  ...{ created_at: row.created_at.toISOString(), expires_at: row.expires_at?.toISOString() ?? null },
  overlap_until: row.overlap_until?.toISOString() ?? null,
})

/** Creates a key pair and the row to store for it. Only the pair has the secret. */
export async function mintCredential(
  { settings, now }: System,
  organization_id: string,
  draft: Pick<CredentialRow, 'name' | 'role' | 'member_id' | 'created_by' | 'expires_at'> & CredentialLimits,
): Promise<{ pair: ReturnType<typeof newKeyPair>; row: CredentialRow; shown: NewCredential }> {
  const pair = newKeyPair(settings.environment)
  const digest = await digestOf(settings.apiSecretKeys.current, pair.api_secret)
  const unused = { previous_digest: null, overlap_until: null, last_used_on: null, revoked_at: null }
  const row = { digest, api_key: pair.api_key, organization_id, ...draft, created_at: now, ...unused }
  return { pair, row, shown: { ...view(row), api_secret: pair.api_secret } }
}

/** Whether the caller's credential has the role owner. */
export const isOwner = ({ actor }: Ctx): boolean => actor.kind === 'credential' && actor.role === 'owner'

/** Throws Failure 403 credential.owner_only when the credential is an owner's and the caller is not an owner. */
export function requireOwnerFor(ctx: Ctx, role: Role): void {
  if (role === 'owner' && !isOwner(ctx))
    throw new Failure('forbidden', 'credential.owner_only', 'Only an owner can create or revoke credentials with the role owner.')
}

const makerChanged = () =>
  new Failure(
    'contention',
    'credential.changed',
    'The credential of this request was revoked or got another role in the meantime. Try again.',
  )

/** The stored credential of the caller. Throws Failure 409 credential.changed when it was revoked after it was authenticated. */
export async function requireMaker({ db, organization, actor }: Ctx): Promise<CredentialRow> {
  const row = actor.kind === 'credential' ? await findCredential(db, organization.id, actor.api_key) : undefined
  if (!row) throw makerChanged()
  return row
}

/**
 * Commits a change with which a credential makes another one, or invites a person. Throws Failure 409 credential.changed when it was
 * revoked or got another role after it was authenticated, so that nothing outlives the removal of a member.
 */
export async function changeAsMaker(ctx: Ctx, what: Change, statements: readonly Statement[]): Promise<void> {
  const { organization, actor } = ctx
  if (actor.kind !== 'credential') throw makerChanged()
  try {
    await change(ctx, what, [assertMaker(organization.id, actor), ...statements])
  } catch (error) {
    throw isGuardViolation(error, 'credential.maker') ? makerChanged() : error
  }
}

/** The expiry of a new credential. Throws Failure 422 credential.expired, and credential.outlives_maker when it is after its maker's. */
function expiryOf({ now }: Ctx, maker: CredentialRow, wanted: string | null | undefined): Date | null {
  if (wanted === undefined) return maker.expires_at
  const expires_at = wanted === null ? null : new Date(wanted)
  if (expires_at && expires_at <= now) throw invalid('credential.expired', [{ path: 'expires_at', message: 'Must be in the future.' }])
  if (maker.expires_at && (expires_at === null || expires_at > maker.expires_at))
    throw invalid('credential.outlives_maker', [
      { path: 'expires_at', message: `Must not be after ${maker.expires_at.toISOString()}, when the credential of this request expires.` },
    ])
  return expires_at
}

/**
 * Creates a credential, which may do no more and lives no longer than the caller's. The secret is in this answer and is not stored. Throws
 * Failure 403 credential.owner_only, 409 credential.changed and credential.plan_limit, and 422 credential.expired,
 * credential.outlives_maker, and as `limitsOf` does.
 */
export async function createCredential(ctx: Ctx, draft: CredentialDraft): Promise<NewCredential> {
  const { name, role } = draft
  requireOwnerFor(ctx, role)
  const maker = await requireMaker(ctx)
  const expires_at = expiryOf(ctx, maker, draft.expires_at)
  const limits = await limitsOf(ctx, maker, draft)
  const made = { name, role, member_id: maker.member_id, created_by: maker.api_key, expires_at, ...limits }
  const { row, shown } = await mintCredential(ctx, ctx.organization.id, made)
  const what = { action: 'credential.created', resource_id: row.api_key, changed: Object.keys(draft) }
  await reserveQuota(ctx, 'credentials', credentialsUsed(ctx.organization.id), (reserved) =>
    changeAsMaker(ctx, what, [...reserved, insertCredential(ctx.db, row)]),
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

const HOUR = 3_600_000

/**
 * Gives a credential another secret, which is in this answer and is not stored. The one from before stays valid for some hours; while an
 * earlier one still is, that one does, and not the secret that is replaced: whoever lost the answer of a roll can roll again. Sessions that
 * began with the credential end with the secret. Throws Failure 403 credential.owner_only and credential.exceeds_maker, 404
 * credential.not_found, and 409 credential.changed.
 */
export async function rollCredential(ctx: Ctx, api_key: string, { overlap_hours }: CredentialRoll): Promise<NewCredential> {
  const { db, settings, now } = ctx
  const [row, maker] = await Promise.all([requireCredential(ctx, api_key), requireMaker(ctx)])
  requireOwnerFor(ctx, row.role)
  const isLonger = maker.expires_at !== null && (row.expires_at === null || row.expires_at > maker.expires_at)
  if (isLonger || beyond(maker, row).length > 0)
    throw new Failure(
      'forbidden',
      'credential.exceeds_maker',
      'The credential may do more, or lives longer, than the one of this request, which would have its powers with its secret.',
    )
  const isRolled = row.overlap_until !== null && row.overlap_until > now
  const until = Math.min(now.getTime() + overlap_hours * HOUR, isRolled ? row.overlap_until!.getTime() : Number.POSITIVE_INFINITY)
  const api_secret = newToken(settings.environment, 'secret')
  const next = {
    digest: await digestOf(settings.apiSecretKeys.current, api_secret),
    previous_digest: overlap_hours === 0 ? null : isRolled ? row.previous_digest : row.digest,
    overlap_until: overlap_hours === 0 ? null : new Date(until),
  }
  try {
    await changeAsMaker(ctx, { action: 'credential.rolled', resource_id: api_key, changed: ['api_secret'] }, [
      ...replaceSecret(db, row, next),
      shortenSessionsOf(api_key, new Date(until)),
    ])
  } catch (error) {
    throw isGuardViolation(error, 'credential.secret') ? rolledMeanwhile() : error
  }
  return { ...view({ ...row, ...next }), api_secret }
}

const rolledMeanwhile = () =>
  new Failure('contention', 'credential.changed', 'The credential was rolled or revoked in the meantime. Try again.')
