import type { System } from '../../platform/context.ts'
import { sendHints } from '../../platform/queues/send.ts'

/** Sends exports to the queue. The messages are hints: the rows are committed, and the sweep sends them again. */
export const wakeExports = (system: System, ids: readonly string[]): Promise<void> =>
  sendHints(
    system,
    system.env.EXPORTS,
    ids.map((export_id) => ({ body: { export_id } })),
  )
