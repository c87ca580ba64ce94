import { Failure } from '../../failures.ts'
import { changeEvents } from '../../platform/audit/audit.ts'
import { type Ctx, eventsOf } from '../../platform/context.ts'
import { retryOnConflict } from '../../platform/db/retry.ts'
import { requireConnector } from '../connector.ts'
import type { Backfill } from '../contract.ts'
import { wakeConnector } from '../due.ts'
import { assertBackfillUnchanged, forgetCopied, updateConnector } from '../store.ts'
import type { CheckPaid } from './connectors.ts'

/**
 * Begins to copy everything that the organization may read; returns the backfill that runs, if one does. Throws Failure 404
 * storage_connector.not_found, 402 billing.overdue, and 409 storage_connector.not_active unless the connector is active.
 */
export async function startBackfill(ctx: Ctx, connector_id: string, checkPaid: CheckPaid): Promise<Backfill> {
  const attempt = async () => {
    const stored = await requireConnector(ctx, connector_id)
    await checkPaid(ctx)
    if (stored.connector_status !== 'active')
      throw new Failure(
        'conflict',
        'storage_connector.not_active',
        'The storage connector is not active. Set connector_status to active first.',
      )
    const running = stored.backfill === null ? null : (JSON.parse(stored.backfill) as Backfill)
    if (running !== null && running.status !== 'completed') return running
    const backfill: Backfill = { status: 'queued', total: null, copied: 0, requested_at: ctx.now.toISOString(), completed_at: null }
    const db = eventsOf(ctx)
    const { connector } = stored
    await changeEvents(ctx, { action: 'storage_connector.backfill_requested', resource_id: connector_id }, [
      assertBackfillUnchanged(db.$client, stored),
      updateConnector(db, connector, { backfill: JSON.stringify(backfill), updated_at: ctx.now }),
      ...forgetCopied(db.$client, connector),
    ])
    await wakeConnector(ctx, { shard: ctx.organization.events_shard, connector })
    return backfill
  }
  return retryOnConflict(
    attempt,
    () => new Failure('contention', 'storage_connector.changed', 'Other requests keep changing this storage connector. Try again.'),
  )
}
