import { changeEvents } from '../../platform/audit/audit.ts'
import { type Ctx, eventsOf } from '../../platform/context.ts'
import { retryOnConflict } from '../../platform/db/retry.ts'
import { Failure } from '../../platform/failures.ts'
import { requireConnector } from '../connector.ts'
import type { Backfill } from '../contract.ts'
import { wakeConnector } from '../due.ts'
import { assertBackfillUnchanged, forgetCopied, updateConnector } from '../store.ts'
import { type CheckPaid, newBackfill } from './connectors.ts'

/** After a backfill, another one waits a second for each ten documents that were copied: a minute at least, a day at most. */
const [DOCUMENTS_PER_SECOND, SHORTEST_WAIT, LONGEST_WAIT] = [10, 60, 86_400]

/** Seconds until another backfill may begin after one that is completed; not above 0 when it may. */
function waitAfter({ copied, completed_at }: Backfill): number {
  const seconds = Math.min(Math.max(copied / DOCUMENTS_PER_SECOND, SHORTEST_WAIT), LONGEST_WAIT)
  return Math.ceil((Date.parse(completed_at!) - Date.now()) / 1_000 + seconds)
}

/**
 * Begins to copy everything that the organization may read; returns the backfill that runs, if one does. Throws Failure 404
 * storage_connector.not_found, 402 billing.overdue, 409 storage_connector.not_active unless the connector is active, and 429
 * storage_connector.cooldown soon after the last one.
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
    const last = stored.backfill === null ? null : (JSON.parse(stored.backfill) as Backfill)
    if (last !== null && last.status !== 'completed') return last
    const retry_after_seconds = last ? waitAfter(last) : 0
    if (retry_after_seconds > 0)
      throw new Failure(
        'too_many_requests',
        'storage_connector.cooldown',
        `The last backfill copied ${last!.copied} documents. Another one can begin in ${retry_after_seconds} s.`,
        { retry_after_seconds },
      )
    const backfill = newBackfill(ctx.now)
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
