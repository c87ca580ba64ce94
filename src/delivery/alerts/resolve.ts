import { openAlerts, resolveStatement } from '../../platform/alerts/alerts.ts'
import type { System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { pageByPage } from '../../platform/work/pages.ts'
import { lastingConditions } from './alert-resolution-store.ts'

const PAGE = 200
const STATEMENTS = 3

/**
 * Resolves alerts whose causes have ended: a connection that is not invalid any more, or is unlinked, an organization that is not suspended. A
 * task, whose cursor is an events shard and the last alert.
 */
export const resolveAlerts = (system: System, cursor = ''): Promise<string | null> =>
  pageByPage(system, STATEMENTS, cursor, async (from) => {
    const [shard, after] = from === '' ? ([0, ''] as const) : (JSON.parse(from) as [number, string])
    const d1 = system.settings.events[shard]!
    const page = await openAlerts(d1, after, PAGE)
    const lasting = page.length === 0 ? new Set() : await lastingConditions(system.db.$client, page)
    const over = page.filter(({ alert_id }) => !lasting.has(alert_id))
    if (over.length > 0)
      await commit(d1, [
        resolveStatement(
          d1,
          over.map(({ organization_id, dedupe_key }) => [organization_id, dedupe_key] as const),
          new Date(),
        ),
      ])
    if (page.length === PAGE) return JSON.stringify([shard, page.at(-1)!.alert_id])
    return shard + 1 < system.settings.events.length ? JSON.stringify([shard + 1, '']) : null
  })
