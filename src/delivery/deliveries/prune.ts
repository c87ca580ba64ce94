import type { System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { readColumn } from '../../platform/db/statement.ts'
import { pageByPage } from '../../platform/work/pages.ts'
import { findForgotten, forgetStatements, organizationsAfter } from './delivery-store.ts'

const DAY_MS = 86_400_000
/** How long events are kept. */
export const KEPT_DAYS = 90
/** How long an event without a change is kept, and how long after that it is looked for. Remaining ones then go with all others. */
export const UNCHANGED_DAYS = 14
const LOOKED_FOR_DAYS = 14
const ORGANIZATIONS = 500
const EVENTS = 500

/**
 * Deletes events with their deliveries: after 90 days, and after 14 days those of downloads that brought an organization nothing, unless a
 * delivery is pending, failed or lost. A task, whose cursor is an events shard and the last organization.
 */
export function pruneEvents(system: System, cursor = ''): Promise<string | null> {
  const { events } = system.settings
  const before = (days: number) => system.now.getTime() - days * DAY_MS
  const ages = { all: before(KEPT_DAYS), unchanged: before(UNCHANGED_DAYS), since: before(UNCHANGED_DAYS + LOOKED_FOR_DAYS) }
  return pageByPage(system, 4, cursor, async (from) => {
    const [shard, after = ''] = from.split('.')
    const d1 = events[Number(shard)]!
    const organizations = await readColumn(d1, organizationsAfter(after, ORGANIZATIONS))
    const forgotten = organizations.length === 0 ? [] : await findForgotten(d1, organizations, ages, EVENTS)
    if (forgotten.length > 0) await commit(d1, forgetStatements(forgotten))
    if (forgotten.length === EVENTS) return from
    if (organizations.length === ORGANIZATIONS) return `${Number(shard)}.${organizations.at(-1)}`
    return Number(shard) + 1 < events.length ? `${Number(shard) + 1}` : null
  })
}
