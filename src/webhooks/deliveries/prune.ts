import type { System } from '../../platform/context.ts'
import { pageByPage, START } from '../../platform/pages.ts'
import { pruneStatements } from './prune-store.ts'

const KEPT_MS = 90 * 86_400_000
const PAGE = 2_000

/** Deletes events and their deliveries 90 days after the event (decisions.md 9). A task. */
export function pruneEvents(system: System, place = START): Promise<string> {
  const d1 = system.db.$client
  const before = system.now.getTime() - KEPT_MS
  return pageByPage(system, 2, place, async () => {
    const results = await d1.batch(pruneStatements(d1, before, PAGE))
    return results.every(({ meta }) => meta.changes < PAGE) ? '' : START
  })
}
