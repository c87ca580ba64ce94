import { admitResumption } from '../billing/entitlements.ts'
import { Failure } from '../failures.ts'
import { change } from '../platform/audit/audit.ts'
import type { Ctx } from '../platform/context.ts'
import { isGuardViolation } from '../platform/db/guard.ts'
import { type ConnectionRow, updateConnection } from '../taxpayers/taxpayers.ts'
import { activation, afterActivation, changedMeanwhile, linkedConnection, MAX_ATTEMPTS } from './connections.ts'

/** Suspends a connection of the organization, or resumes it. 404; 402 and 409 as resuming says. */
export async function setActive(ctx: Ctx, fiscal_entity_id: string, active: boolean): Promise<ConnectionRow> {
  for (let attempt = 1; ; attempt++) {
    const row = await linkedConnection(ctx, fiscal_entity_id)
    try {
      await (active ? resume(ctx, row) : suspend(ctx, row))
      return linkedConnection(ctx, fiscal_entity_id)
    } catch (error) {
      if (!isGuardViolation(error)) throw error
      if (attempt === MAX_ATTEMPTS) throw changedMeanwhile()
    }
  }
}

/** Never refused. What was suspended for another reason stays so when that is gone, because the organization wants it. */
async function suspend(ctx: Ctx, row: ConnectionRow): Promise<void> {
  if (row.state === 'paused' && (row.paused_by === 'customer' || row.paused_by === null)) return
  const paused_from = row.state === 'paused' ? row.paused_from : row.state
  await change(ctx, { action: 'fiscal_entity.suspended', resource_id: row.fiscal_entity_id, changed: ['status'] }, [
    updateConnection(ctx.db, row, { state: 'paused', paused_from, paused_by: 'customer', updated_at: ctx.now }),
  ])
}

/**
 * Returns a paused connection to the state that it was paused in, which is a reactivation when it was active: its extractors run.
 * 402 beyond the grace of an invoice or without a free seat; 409 for what only a CIEC makes active.
 */
async function resume(ctx: Ctx, row: ConnectionRow): Promise<void> {
  const { rfc, fiscal_entity_id, first_active_at } = row
  const state = row.paused_from ?? 'active'
  const seat = await admitResumption(ctx, rfc, row.state === 'paused' && state !== 'draft')
  if (row.state === 'active') return
  if (row.state !== 'paused')
    throw new Failure(
      'conflict',
      `fiscal_entity.${row.state}`,
      `The connection is ${row.state === 'draft' ? 'a draft' : 'without a valid CIEC'}. Give it a CIEC with PATCH /v1/fiscal-entities/{id}: that makes it active.`,
    )
  const active = state === 'active' ? await activation(ctx, fiscal_entity_id, first_active_at) : undefined
  await change(ctx, { action: 'fiscal_entity.resumed', resource_id: fiscal_entity_id, changed: ['status'] }, [
    ...seat,
    updateConnection(ctx.db, row, { state, ...active?.changes, ...RESUMED, updated_at: ctx.now }),
    ...(active?.planned.statements ?? []),
  ])
  if (active) await afterActivation(ctx, row, active.planned.runs)
}

const RESUMED = { paused_from: null, paused_by: null } as const
