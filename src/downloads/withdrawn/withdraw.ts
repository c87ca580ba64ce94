import type { System } from '../../platform/context.ts'
import { wakeRelay } from '../../platform/outbox/outbox.ts'
import { withdrawStatements } from './withdraw-store.ts'

/**
 * Withdraws the downloads of a run that have not begun and that nobody else wants, of these RFCs. The jobs of an RFC on which a worker
 * works now stay. Returns how many, and how many of them had been tried. A repetition withdraws nothing more. One call for each ledger.
 */
export async function withdrawJobs(
  system: System,
  { organization_id, run_id }: { organization_id: string; run_id: string },
  rfcs: readonly { shard: number; entity: number }[],
): Promise<{ withdrawn: number; tried: number }> {
  let [withdrawn, tried] = [0, 0]
  for (const [shard, own] of Map.groupBy(rfcs, (one) => one.shard)) {
    const ledger = system.settings.ledgers[shard]!
    const entities = own.map(({ entity }) => entity)
    const [deleted] = await ledger.batch<{ was_tried: 0 | 1 }>(
      withdrawStatements(ledger, { organization_id, run_id, entities, now: Date.now() }),
    )
    withdrawn += deleted!.results.length
    tried += deleted!.results.filter(({ was_tried }) => was_tried === 1).length
    if (deleted!.results.length > 0) await wakeRelay(system, shard)
  }
  return { withdrawn, tried }
}
