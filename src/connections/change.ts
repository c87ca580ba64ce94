import { checkCiecEntitlement } from '../billing/entitlements.ts'
import { withdrawOpenings } from '../mailbox/requests/requests.ts'
import { change } from '../platform/audit/audit.ts'
import type { Ctx } from '../platform/context.ts'
import type { Statement } from '../platform/db/commit.ts'
import type { VersionedLogin } from '../taxpayers/login.ts'
import { assertConnectionUnchanged, type ConnectionRow, isDraft, NO_CIEC, updateConnection } from '../taxpayers/taxpayers.ts'
import { acceptance } from '../taxpayers/verification.ts'
import { planActivation, startDownloads } from './activation.ts'
import { commitConnectionChange, getFiscalEntity, requireConnection } from './connections.ts'
import type { FiscalEntity, FiscalEntityChanges } from './contract.ts'
import { checkDataSources, ciecColumns, verifyCiec } from './validation.ts'

type SubmittedColumns = Partial<Pick<ConnectionRow, 'data_source_keys' | 'name'>>

/**
 * Changes the members that were sent. A CIEC that the tax authority accepts activates a draft, and a connection with an invalid CIEC; a
 * paused connection stays paused. Null erases the stored CIEC, whatever is owed: an active connection becomes invalid_ciec. Throws Failure
 * 402 before the tax authority sees the CIEC, as checkCiecEntitlement; 404 fiscal_entity.not_found; 409 fiscal_entity.changed; 422
 * data_source.unknown and fiscal_entity.ciec_rejected; 429 fiscal_entity.ciec_attempts; and Unavailable.
 */
export async function changeFiscalEntity(ctx: Ctx, fiscal_entity_id: string, changes: FiscalEntityChanges): Promise<FiscalEntity> {
  const { ciec, data_source_keys, name } = changes
  const read = await requireConnection(ctx, fiscal_entity_id)
  const keys = checkDataSources(ctx, data_source_keys)
  if (typeof ciec === 'string') await seatFor(ctx, read)
  const accepted = typeof ciec === 'string' ? await verifyCiec(ctx, read.rfc, ciec, read) : undefined
  const submitted = { ...(data_source_keys !== undefined && { data_source_keys: keys }), ...(name !== undefined && { name }) }
  const changed = Object.keys(changes)
  if (changed.length > 0)
    await commitConnectionChange(async () => {
      const row = await requireConnection(ctx, fiscal_entity_id)
      await (accepted ? commitCiec(ctx, row, changed, submitted, accepted) : commitColumns(ctx, row, changed, submitted, ciec === null))
    })
  return getFiscalEntity(ctx, fiscal_entity_id)
}

const needsCiec = ({ state }: ConnectionRow): boolean => state === 'draft' || state === 'invalid_ciec'

/** Checks the entitlement to store a CIEC. A connection with a seat takes no other one, and a paused connection takes none. */
const seatFor = async (ctx: Ctx, row: ConnectionRow): Promise<Statement[]> =>
  checkCiecEntitlement(ctx, row.rfc, { isNew: isDraft(row), takesSeat: row.state === 'draft' })

/** The columns of a connection whose CIEC the organization withdraws. */
function withdrawn(row: ConnectionRow): Partial<ConnectionRow> {
  if (isDraft(row)) return NO_CIEC
  const erased = { ...NO_CIEC, invalid_reason: 'withdrawn' as const }
  return row.state === 'paused' ? { ...erased, paused_from: 'invalid_ciec' } : { ...erased, state: 'invalid_ciec' }
}

async function commitColumns(
  ctx: Ctx,
  row: ConnectionRow,
  changed: readonly string[],
  submitted: SubmittedColumns,
  withdraws: boolean,
): Promise<void> {
  const action = withdraws ? 'fiscal_entity.ciec_withdrawn' : 'fiscal_entity.updated'
  await change(ctx, { action, resource_id: row.fiscal_entity_id, changed }, [
    assertConnectionUnchanged(ctx.db, row),
    updateConnection(ctx.db, row.connection, { ...submitted, ...(withdraws && withdrawn(row)), updated_at: ctx.now }),
    ...(withdraws ? withdrawOpenings(ctx) : []),
  ])
}

async function commitCiec(
  ctx: Ctx,
  row: ConnectionRow,
  changed: readonly string[],
  submitted: SubmittedColumns,
  accepted: VersionedLogin,
): Promise<void> {
  const { connection, fiscal_entity_id, state, first_active_at } = row
  const activates = needsCiec(row)
  const seat = activates || isDraft(row) ? await seatFor(ctx, row) : []
  const active = activates ? await planActivation(ctx, fiscal_entity_id, first_active_at) : undefined
  const paused = state === 'paused' ? { paused_from: 'active' as const } : {}
  const { statements, isVerified, areOthersOutstanding } = await acceptance(ctx, row.entity, accepted, connection)
  const columns = await ciecColumns(ctx, fiscal_entity_id, accepted.login.ciec, isVerified)
  await change(ctx, { action: 'fiscal_entity.updated', resource_id: fiscal_entity_id, changed }, [
    ...seat,
    assertConnectionUnchanged(ctx.db, row),
    ...statements,
    updateConnection(ctx.db, connection, { ...submitted, ...columns, ...active?.changes, ...paused, updated_at: ctx.now }),
    ...(active?.planned.statements ?? []),
  ])
  // An active connection, too, may have had a CIEC that could not be opened.
  await startDownloads(ctx, row, active?.planned.runs ?? [], areOthersOutstanding || !isVerified)
}
