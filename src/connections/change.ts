import { checkCiecEntitlement } from '../billing/entitlements.ts'
import { change } from '../platform/audit/audit.ts'
import type { Ctx } from '../platform/context.ts'
import type { Statement } from '../platform/db/commit.ts'
import { assertConnectionUnchanged, type ConnectionRow, updateConnection } from '../taxpayers/taxpayers.ts'
import { planActivation, startDownloads } from './activation.ts'
import { commitConnectionChange, getFiscalEntity, requireConnection } from './connections.ts'
import type { FiscalEntity, FiscalEntityChanges } from './contract.ts'
import { checkDataSources, ciecColumns, verifyCiec } from './validation.ts'

type SubmittedColumns = Partial<Pick<ConnectionRow, 'ciec' | 'ciec_accepted_at' | 'data_source_keys' | 'name'>>

/**
 * Changes the members that were sent. A CIEC that the tax authority accepts activates a draft, and a connection with an invalid CIEC; a
 * paused connection stays paused. Throws Failure 402 before the tax authority sees the CIEC, as checkCiecEntitlement; 404
 * fiscal_entity.not_found; 409 fiscal_entity.changed; and 422 data_source.unknown and fiscal_entity.ciec_rejected.
 */
export async function changeFiscalEntity(ctx: Ctx, fiscal_entity_id: string, changes: FiscalEntityChanges): Promise<FiscalEntity> {
  const { ciec, data_source_keys, name } = changes
  const read = await requireConnection(ctx, fiscal_entity_id)
  const keys = checkDataSources(ctx, data_source_keys)
  if (ciec !== undefined) {
    await seatFor(ctx, read)
    await verifyCiec(ctx, read.rfc, ciec)
  }
  const submitted = {
    ...(ciec !== undefined && (await ciecColumns(ctx, fiscal_entity_id, ciec))),
    ...(data_source_keys !== undefined && { data_source_keys: keys }),
    ...(name !== undefined && { name }),
  }
  const changed = Object.keys(changes)
  if (changed.length > 0)
    await commitConnectionChange(async () => commitColumns(ctx, await requireConnection(ctx, fiscal_entity_id), changed, submitted))
  return getFiscalEntity(ctx, fiscal_entity_id)
}

const needsCiec = ({ state }: ConnectionRow): boolean => state === 'draft' || state === 'invalid_ciec'

/** A CIEC makes a draft, also a paused one, a connection that counts against the trial. */
const isDraft = ({ state, paused_from }: ConnectionRow): boolean => state === 'draft' || (state === 'paused' && paused_from === 'draft')

/** Checks the entitlement to store a CIEC. A connection with a seat takes no other one, and a paused connection takes none. */
const seatFor = async (ctx: Ctx, row: ConnectionRow): Promise<Statement[]> =>
  checkCiecEntitlement(ctx, row.rfc, { isNew: isDraft(row), takesSeat: row.state === 'draft' })

async function commitColumns(ctx: Ctx, row: ConnectionRow, changed: readonly string[], submitted: SubmittedColumns): Promise<void> {
  const { connection, fiscal_entity_id, state, first_active_at } = row
  const hasCiec = submitted.ciec !== undefined
  const activates = hasCiec && needsCiec(row)
  const seat = activates || (hasCiec && isDraft(row)) ? await seatFor(ctx, row) : []
  const active = activates ? await planActivation(ctx, fiscal_entity_id, first_active_at) : undefined
  const paused = hasCiec && state === 'paused' ? { paused_from: 'active' as const } : {}
  await change(ctx, { action: 'fiscal_entity.updated', resource_id: fiscal_entity_id, changed }, [
    ...seat,
    assertConnectionUnchanged(ctx.db, row),
    updateConnection(ctx.db, connection, { ...submitted, ...active?.changes, ...paused, updated_at: ctx.now }),
    ...(active?.planned.statements ?? []),
  ])
  // An active connection, too, may have had a CIEC that could not be opened.
  if (hasCiec && state !== 'paused') await startDownloads(ctx, row, active?.planned.runs ?? [])
}
