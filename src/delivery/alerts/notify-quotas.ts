import { sql } from 'drizzle-orm'
import { unitOf } from '../../accounts/plans/quotas.ts'
import {
  assertUnnotified,
  keepWarnings,
  markWarningsNotified,
  type QuotaWarning,
  unnotifiedWarnings,
} from '../../accounts/plans/reserve-quota.ts'
import type { System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { readRows } from '../../platform/db/statement.ts'
import { organizations } from '../../platform/tenant/tables.ts'
import { each } from '../../platform/work/pages.ts'
import { commitOwnEvents, ownEventStatements } from '../own-events.ts'

/** Warnings of one database that are dealt with at once; the next minute continues. */
const PAGE = 100
const STATEMENTS = 6

/**
 * Notifies organizations of the quotas of which they have used 80 %. Warnings of the control plane come into the events shards first. There, a
 * warning is marked in the commit of its event, so that it is reported once, whatever is repeated.
 */
export async function notifyQuotas(system: System): Promise<void> {
  await each([() => moveWarnings(system), () => notifyWarnings(system)], (step) => step())
}

async function moveWarnings({ db, settings }: System): Promise<void> {
  const control = db.$client
  const warnings = await unnotifiedWarnings(control, PAGE)
  if (warnings.length === 0) return
  const ids = JSON.stringify(warnings.map(({ organization_id }) => organization_id))
  const results = await readRows(
    control,
    sql<{
      id: string
      events_shard: number
    }>`select ${organizations.id}, ${organizations.events_shard} from ${organizations} where ${organizations.id} in (
      select value from json_each(${ids}))`,
  )
  const shards = new Map(results.map(({ id, events_shard }) => [id, events_shard]))
  await each([...Map.groupBy(warnings, ({ organization_id }) => shards.get(organization_id)!)], async ([shard, own]) => {
    const d1 = settings.events[shard]!
    await commit(d1, [keepWarnings(own)])
    await commit(control, [markWarningsNotified(own)])
  })
}

const notifyWarnings = (system: System): Promise<void> =>
  each([...system.settings.events.entries()], async ([shard, d1]) => {
    for (const warning of await unnotifiedWarnings(d1, PAGE)) {
      if (!system.budget.allows(STATEMENTS)) return
      await notify(system, shard, warning)
    }
  })

async function notify(system: System, shard: number, warning: QuotaWarning): Promise<void> {
  const { organization_id, quota, period, used, most, marked_at } = warning
  const event = ownEventStatements(organization_id, {
    event: 'quota.warning',
    occurred_at: new Date(marked_at).toISOString(),
    ...{ quota, period, used, limit: most, unit: unitOf(quota) },
  })
  const marks = [assertUnnotified(warning), markWarningsNotified([warning])]
  await commitOwnEvents(system, shard, event, marks, 'quota_warning.unnotified')
}
