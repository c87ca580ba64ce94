import { checkLoginEntitlement } from '../accounts/billing/entitlements.ts'
import { LOGIN_KINDS, type LoginKind } from '../authority/port/login.ts'
import { withdrawOpenings } from '../documents/mailbox/requests/requests.ts'
import { change } from '../platform/audit/audit.ts'
import type { Ctx } from '../platform/context.ts'
import type { Statement } from '../platform/db/commit.ts'
import { canLogIn, type VersionedLogin } from '../taxpayers/login.ts'
import {
  assertConnectionUnchanged,
  type ConnectionRow,
  holds,
  isDraft,
  isInvalid,
  NO_LOGIN,
  refusedLogin,
  updateConnection,
  type WithReaches,
} from '../taxpayers/taxpayers.ts'
import { planActivation, resolveInvalid, startDownloads } from './activation.ts'
import { commitConnectionChange, getFiscalEntity, requireConnection } from './connections.ts'
import type { FiscalEntity, FiscalEntityChanges } from './contract.ts'
import { labelling, refuseTaken } from './labels.ts'
import { checkDataSources, loginsIn, storing, type Taken, verifyLogins } from './validation.ts'

/** What a request changes besides the logins that it brings. */
interface Submitted {
  /** The members that were sent. */
  changed: readonly string[]
  columns: Partial<Pick<WithReaches, 'data_source_keys' | 'name' | 'external_id' | 'metadata'>>
  /** What is erased, because null was sent. */
  withdrawn: readonly LoginKind[]
}

/**
 * Changes the members that were sent. A CIEC or e.firma that the tax authority accepts activates a draft, and a connection without a valid
 * one; a paused connection stays paused. Null erases the stored one, whatever is owed: an active connection that has no other becomes
 * invalid_ciec. Throws Failure 402 before the tax authority is asked, as checkLoginEntitlement; 404 fiscal_entity.not_found; 409
 * fiscal_entity.changed and fiscal_entity.external_id_taken; 422 fiscal_entity.metadata_keys, data_source.unknown or .inactive, fiscal_entity.ciec_rejected, fiscal_entity.efirma_rejected, and as loginsIn; 429
 * fiscal_entity.ciec_attempts; and Unavailable.
 */
export async function changeFiscalEntity(ctx: Ctx, fiscal_entity_id: string, changes: FiscalEntityChanges): Promise<FiscalEntity> {
  const { data_source_keys, name } = changes
  const read = await requireConnection(ctx, fiscal_entity_id)
  const keys = checkDataSources(ctx, data_source_keys)
  const logins = await loginsIn(ctx, read.rfc, changes)
  await refuseTaken(ctx, changes, fiscal_entity_id)
  if (logins.length > 0) await seatFor(ctx, read)
  const taken = await verifyLogins(ctx, logins, read)
  const submitted: Submitted = {
    changed: Object.keys(changes),
    columns: { ...(data_source_keys !== undefined && { data_source_keys: keys }), ...(name !== undefined && { name }) },
    withdrawn: LOGIN_KINDS.filter((kind) => changes[kind] === null),
  }
  if (submitted.changed.length > 0)
    await commitConnectionChange(async () => {
      const row = await requireConnection(ctx, fiscal_entity_id)
      const { columns, guards } = await labelling(ctx, row, changes)
      const labelled = { ...submitted, columns: { ...submitted.columns, ...columns } }
      await (taken.accepted.length > 0 ? commitLogins : commitColumns)(ctx, row, labelled, taken, guards)
    })
  return getFiscalEntity(ctx, fiscal_entity_id)
}

const needsLogin = ({ state }: ConnectionRow): boolean => state === 'draft' || state === 'invalid_ciec'

/** Checks the entitlement to store a login. A connection with a seat takes no other one, and a paused connection takes none. */
const seatFor = async (ctx: Ctx, row: ConnectionRow): Promise<Statement[]> =>
  checkLoginEntitlement(ctx, row.rfc, { isNew: isDraft(row), takesSeat: row.state === 'draft' })

const without = (kinds: readonly LoginKind[]): Partial<WithReaches> => Object.assign({}, ...kinds.map((kind) => NO_LOGIN[kind]))

/** The columns of a connection from which the organization withdraws logins. */
function withdrawing(ctx: Ctx, row: ConnectionRow, kinds: readonly LoginKind[]): Partial<WithReaches> {
  const erased = without(kinds)
  const left = LOGIN_KINDS.filter((kind) => !kinds.includes(kind))
  if (kinds.length === 0 || isDraft(row) || canLogIn(ctx, row, left)) return erased
  // What was refused is still stored, and why the connection is invalid.
  if (left.some((kind) => kind === refusedLogin(row))) return erased
  const invalid = { ...erased, invalid_reason: 'withdrawn' as const }
  return row.state === 'paused' ? { ...invalid, paused_from: 'invalid_ciec' } : { ...invalid, state: 'invalid_ciec' }
}

/** Logins about which the authority cannot be asked are stored, and leave the connection in its state. */
async function commitColumns(
  ctx: Ctx,
  row: ConnectionRow,
  { changed, columns, withdrawn }: Submitted,
  taken: Taken,
  guards: readonly Statement[],
): Promise<void> {
  const unverified = await storing(ctx, row.entity, row.fiscal_entity_id, taken, row.connection)
  const action = withdrawn.length > 0 ? `fiscal_entity.${withdrawn.at(-1)}_withdrawn` : 'fiscal_entity.updated'
  await change(ctx, { action, resource_id: row.fiscal_entity_id, changed }, [
    ...guards,
    assertConnectionUnchanged(ctx.db, row),
    updateConnection(ctx.db, row.connection, {
      ...{ ...columns, ...withdrawing(ctx, row, withdrawn), ...unverified.columns },
      updated_at: ctx.now,
    }),
    ...(withdrawn.length > 0 ? withdrawOpenings(ctx) : []),
  ])
}

/**
 * Stores a stored login again that the tax authority accepts now, as if it had been sent now: it activates a draft, and a connection without a
 * valid login. `guardsOf` returns guards of the same commit, or throws when the connection has changed. Throws Failure 402 as
 * checkLoginEntitlement.
 */
export const acceptStored = (
  ctx: Ctx,
  fiscal_entity_id: string,
  accepted: VersionedLogin,
  guardsOf: (row: ConnectionRow) => Statement[],
): Promise<void> =>
  commitConnectionChange(async () => {
    const row = await requireConnection(ctx, fiscal_entity_id)
    const submitted = { changed: ['status'], columns: {}, withdrawn: [] }
    await commitLogins(ctx, row, submitted, { accepted: [accepted], unasked: [] }, guardsOf(row))
  })

/** What an invalid connection holds besides its refused login. Others may have been refused with it meanwhile, so that it is to be verified. */
const keeping = (row: ConnectionRow, gone: readonly LoginKind[]): Partial<WithReaches> =>
  Object.assign(
    {},
    ...LOGIN_KINDS.filter((kind) => isInvalid(row) && holds(row, kind) && !gone.includes(kind)).map((kind) => ({
      [`${kind}_verify_at`]: row[`${kind}_verify_at`] ?? new Date(),
    })),
  )

/** What was refused goes when another login is accepted; what is stored besides, and was not sent, stays. */
async function commitLogins(
  ctx: Ctx,
  row: ConnectionRow,
  submitted: Submitted,
  taken: Taken,
  guards: readonly Statement[] = [],
): Promise<void> {
  const { connection, fiscal_entity_id, state, first_active_at } = row
  const activates = needsLogin(row)
  const seat = activates || isDraft(row) ? await seatFor(ctx, row) : []
  const active = activates ? await planActivation(ctx, fiscal_entity_id, first_active_at) : undefined
  const paused = state === 'paused' ? { paused_from: 'active' as const } : {}
  const { statements, columns, areOutstanding } = await storing(ctx, row.entity, fiscal_entity_id, taken, connection)
  const gone = [...new Set([...submitted.withdrawn, ...[refusedLogin(row) ?? []].flat()])]
  const kept = { ...without(gone), ...keeping(row, gone) }
  const changed = [...new Set([...submitted.changed, ...gone])]
  await change(ctx, { action: 'fiscal_entity.updated', resource_id: fiscal_entity_id, changed }, [
    ...seat,
    ...guards,
    assertConnectionUnchanged(ctx.db, row),
    ...statements,
    updateConnection(ctx.db, connection, {
      ...{ ...submitted.columns, ...kept, ...columns, ...active?.changes, ...paused },
      updated_at: ctx.now,
    }),
    ...(active?.planned.statements ?? []),
  ])
  if (isInvalid(row)) await resolveInvalid(ctx, row)
  // An active connection, too, may have had a login that could not be opened.
  await startDownloads(ctx, row, active?.planned.runs ?? [], areOutstanding)
}
