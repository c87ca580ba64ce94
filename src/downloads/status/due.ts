import type { System } from '../../platform/context.ts'
import { sendHints } from '../../platform/queues/send.ts'

/** Names a partition of a ledger. */
export interface PartitionHint {
  shard: number
  entity: number
}

/** Asks the queue to resolve the doubts of partitions. The sweep finds those whose messages are lost. */
export const wakeDoubts = (system: System, hints: readonly PartitionHint[]): Promise<void> =>
  sendHints(
    system,
    system.env.DOWNLOADS,
    hints.map(({ shard, entity }) => ({ body: { shard, partition: entity } })),
  )
