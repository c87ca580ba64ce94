import { type SQL, sql } from 'drizzle-orm'
import { assertThat } from '../platform/db/guard.ts'
import { prepared } from '../platform/db/statement.ts'
import { localDayOf } from '../platform/time/calendar.ts'
import { type Limits, limitsOf, type Quota } from './quotas.ts'
import type { quotaWarnings } from './tables.ts'

export type QuotaWarning = typeof quotaWarnings.$inferSelect

/** The part of a quota from which its organization is warned. */
const WARNED = 0.8

interface Warned {
  now: Date
  organization: { id: string; plan: string; timezone: string }
}

/** A repetition, and what is older than the row, change nothing. */
const KEEP = sql`on conflict (organization_id, quota) do update set
  period = excluded.period, used = excluded.used, most = excluded.most, marked_at = excluded.marked_at, told = 0
  where excluded.marked_at >= quota_warnings.marked_at and (excluded.period, excluded.most) <> (quota_warnings.period, quota_warnings.most)`

/**
 * The statements that note, in the commit that takes places of these quotas, of which of them 80 % or more is used. `used` are queries for the
 * numbers once the commit is made. A quota without limit is never noted.
 */
export function warnStatements(
  d1: D1Database,
  { organization, now }: Warned,
  used: readonly (readonly [Quota, SQL])[],
): D1PreparedStatement[] {
  const day = localDayOf(now, organization.timezone)
  const limits: Limits = limitsOf(organization.plan, day)
  const rows = used.flatMap(([quota, count]) => {
    const most = limits[quota]
    const period = quota.endsWith('_per_day') ? day : day.slice(0, 7)
    return most === null
      ? []
      : [sql`select ${quota} as quota, ${period} as period, (${count}) as used, ${most} as most, ${Math.ceil(most * WARNED)} as enough`]
  })
  if (rows.length === 0) return []
  return [
    prepared(
      d1,
      sql`insert into quota_warnings (organization_id, quota, period, used, most, marked_at)
        select ${organization.id}, quota, period, used, most, ${now.getTime()} from (${sql.join([...rows], sql.raw(' union all '))}) where used >= enough ${KEEP}`,
    ),
  ]
}

/** What a database has left to tell. */
export const untoldWarnings = async (d1: D1Database, limit: number): Promise<QuotaWarning[]> =>
  (
    await prepared(
      d1,
      sql`select * from quota_warnings indexed by quota_warnings_untold where told = 0 order by organization_id, quota limit ${limit}`,
    ).all<QuotaWarning>()
  ).results

/** The statement that keeps warnings of the control plane in the events shard of their organizations. */
export const keepWarnings = (d1: D1Database, warnings: readonly QuotaWarning[]): D1PreparedStatement =>
  prepared(
    d1,
    sql`insert into quota_warnings (organization_id, quota, period, used, most, marked_at)
      select value->>0, value->>1, value->>2, value->>3, value->>4, value->>5 from json_each(${jsonOf(warnings)}) where true ${KEEP}`,
  )

const jsonOf = (warnings: readonly QuotaWarning[]): string =>
  JSON.stringify(
    warnings.map(({ organization_id, quota, period, used, most, marked_at }) => [
      ...[organization_id, quota, period, used, most, marked_at],
    ]),
  )

const SAME = sql`(organization_id, quota, period, most) in (select value->>0, value->>1, value->>2, value->>4 from`

/** The statement that notes that warnings are told. One that was replaced meanwhile is still to be told. */
export const markWarningsTold = (d1: D1Database, warnings: readonly QuotaWarning[]): D1PreparedStatement =>
  prepared(d1, sql`update quota_warnings set told = 1 where ${SAME} json_each(${jsonOf(warnings)}))`)

/** The statement that refuses its batch when a warning is told already, or was replaced, by the name `quota_warning.untold`. */
export const assertUntold = (d1: D1Database, warning: QuotaWarning) =>
  assertThat(
    d1,
    sql`exists (select 1 from quota_warnings where told = 0 and ${SAME} json_each(${jsonOf([warning])})))`,
    'quota_warning.untold',
  )
