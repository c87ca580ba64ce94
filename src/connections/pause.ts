import { checkResumeEntitlement } from '../accounts/billing/entitlements.ts'
import { takesCiecs } from '../authority/port/login.ts'
import { withdrawOpenings } from '../documents/mailbox/requests/requests.ts'
import { change } from '../platform/audit/audit.ts'
import type { Ctx } from '../platform/context.ts'
import { Failure } from '../platform/failures.ts'
import { assertConnectionUnchanged, type ConnectionRow, updateConnection, type WithReaches } from '../taxpayers/taxpayers.ts'
import { verifyStored } from '../taxpayers/verification.ts'
import { planActivation, startDownloads } from './activation.ts'
import { commitConnectionChange, requireConnection } from './connections.ts'

/**
 * Pauses or resumes a connection of the organization, and returns it. Throws Failure 404 fiscal_entity.not_found, and as `resume` and
 * `verifyResumed` do.
 */
export async function setActive(ctx: Ctx, fiscal_entity_id: string, active: boolean): Promise<ConnectionRow> {
  const areOthersOutstanding = active && (await verifyResumed(ctx, await requireConnection(ctx, fiscal_entity_id)))
  return commitConnectionChange(async () => {
    const row = await requireConnection(ctx, fiscal_entity_id)
    await (active ? resume(ctx, row, areOthersOutstanding) : pause(ctx, row))
    return requireConnection(ctx, fiscal_entity_id)
  })
}

/**
 * Asks the tax authority about the CIEC and e.firma of a connection that would become active again, once it is entitled to be. When none is
 * left, the connection resumes as invalid_ciec. Returns whether logins of the RFC are to be verified. Throws Unavailable, so that the
 * connection stays paused.
 */
async function verifyResumed(ctx: Ctx, row: WithReaches): Promise<boolean> {
  if (row.state !== 'paused' || row.paused_from !== 'active') return false
  await checkResumeEntitlement(ctx, row.rfc, true)
  return verifyStored(ctx, row)
}

/** Never refused. A connection that a suspension paused stays paused when the suspension ends, because the customer wants it. */
async function pause(ctx: Ctx, row: ConnectionRow): Promise<void> {
  if (row.state === 'paused' && (row.paused_by === 'customer' || row.paused_by === null)) return
  const paused_from = row.state === 'paused' ? row.paused_from : row.state
  await change(ctx, { action: 'fiscal_entity.suspended', resource_id: row.fiscal_entity_id, changed: ['status'] }, [
    assertConnectionUnchanged(ctx.db, row),
    updateConnection(ctx.db, row.connection, { state: 'paused', paused_from, paused_by: 'customer', updated_at: ctx.now }),
    ...withdrawOpenings(ctx),
  ])
}

/**
 * Returns a paused connection to the state in which it was paused. When that was active, the connection is reactivated and its extractors
 * run. Throws Failure 402 as checkResumeEntitlement; 409 fiscal_entity.draft and fiscal_entity.invalid_ciec, because only a CIEC
 * or an e.firma activates such a connection.
 */
async function resume(ctx: Ctx, row: ConnectionRow, areOthersOutstanding: boolean): Promise<void> {
  const { connection, rfc, fiscal_entity_id, first_active_at } = row
  const state = row.paused_from ?? 'active'
  const seat = await checkResumeEntitlement(ctx, rfc, row.state === 'paused' && state !== 'draft')
  if (row.state === 'active') return
  if (row.state !== 'paused')
    throw new Failure(
      'conflict',
      `fiscal_entity.${row.state}`,
      `The connection ${row.state === 'draft' ? 'is a draft' : 'has no valid CIEC or e.firma'}. Send ${takesCiecs(ctx.settings) ? 'a CIEC or an e.firma' : 'an e.firma'} with PATCH /v1/fiscal-entities/${fiscal_entity_id} to activate it.`,
    )
  const active = state === 'active' ? await planActivation(ctx, fiscal_entity_id, first_active_at) : undefined
  const resumed = { state, ...active?.changes, paused_from: null, paused_by: null, updated_at: ctx.now }
  await change(ctx, { action: 'fiscal_entity.resumed', resource_id: fiscal_entity_id, changed: ['status'] }, [
    ...seat,
    assertConnectionUnchanged(ctx.db, row),
    updateConnection(ctx.db, connection, resumed),
    ...(active?.planned.statements ?? []),
  ])
  if (active || areOthersOutstanding) await startDownloads(ctx, row, active?.planned.runs ?? [], areOthersOutstanding)
}
