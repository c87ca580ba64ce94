import type { System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { each } from '../../platform/each.ts'
import { pageByPage, START } from '../../platform/pages.ts'
import { sendHints } from '../../platform/queues/send.ts'
import { isUnlisted, orderManifest } from './manifest.ts'
import { reviewPage } from './review.ts'
import { activeConnectors, findIdle } from './store.ts'

const CONNECTORS = 1_000
const PAGES = 20

const wake = (system: System, shard: number, connectors: readonly number[]): Promise<void> =>
  sendHints(
    system,
    system.env.STORAGE,
    connectors.map((connector) => ({ body: { shard, connector } })),
  )

/** Wakes the connectors on which nobody works although something is due, or that are to be planned or cleaned up. */
export const sweepConnectors = (system: System): Promise<void> =>
  each([...system.settings.events.entries()], async ([shard, d1]) => {
    let after = 0
    for (let page = 0; page < PAGES; page++) {
      const found = await findIdle(d1, Date.now(), after, CONNECTORS)
      await wake(system, shard, found)
      if (found.length < CONNECTORS) return
      after = found.at(-1)!
    }
  })

/**
 * Marks what active connectors have to copy although no event has told of it: a resumed connection, a window that opened. Has the copies since
 * the last manifest listed in one of this day. A task, whose place is a shard, a connector, and a connection of its organization.
 */
export const reviewConnectors = (system: System, place = START): Promise<string> => {
  const { events, ledgers } = system.settings
  return pageByPage(system, 7 + 2 * ledgers.length, place, async (from) => {
    const [shard = 0, before = 0, after = ''] = from.split('.')
    const d1 = events[Number(shard)]!
    const [row] = await activeConnectors(d1, Number(before), 1)
    if (!row) return Number(shard) + 1 < events.length ? `${Number(shard) + 1}` : ''
    const next = await reviewPage(system, d1, row, after)
    if (next !== '') return `${shard}.${before}.${next}`
    if (isUnlisted(row)) {
      await commit(d1, [orderManifest(d1, row, system.now.toISOString().slice(0, 10))])
      await wake(system, Number(shard), [row.connector])
    }
    return `${shard}.${row.connector}`
  })
}
