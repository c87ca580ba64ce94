import { type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../platform/context.ts'
import type { Statement } from '../../platform/db/commit.ts'
import { assertThat, isGuardViolation } from '../../platform/db/guard.ts'
import { bare, readFirst, readRows } from '../../platform/db/statement.ts'
import { localDayOf } from '../../platform/time/calendar.ts'
import { codeOf, type Limits, limitReached, limitsOf, type Quota } from './quotas.ts'
import { quotaWarnings as kept } from './tables.ts'

export type QuotaWarning = typeof kept.$inferSelect

/** The part of a quota from which its organization is warned. */
const WARNED = 0.8

interface Warned {
  now: Date
  organization: { id: string; plan: string; timezone: string }
}

/** A repetition or an older warning changes nothing. */
const KEEP = sql`on conflict ${[kept.organization_id, kept.quota].map(bare)} do update set
    ${bare(kept.period)} = excluded.${bare(kept.period)}, ${bare(kept.used)} = excluded.${bare(kept.used)},
    ${bare(kept.most)} = excluded.${bare(kept.most)}, ${bare(kept.marked_at)} = excluded.${bare(kept.marked_at)}, ${bare(kept.notified)} = 0
  where excluded.${bare(kept.marked_at)} >= ${kept.marked_at}
    and (excluded.${bare(kept.period)}, excluded.${bare(kept.most)}) <> ${[kept.period, kept.most]}`
const COLUMNS = [kept.organization_id, kept.quota, kept.period, kept.used, kept.most, kept.marked_at].map(bare)

/**
 * The statements that note which of these quotas are used to 80 % or more, for the commit that takes units of them. `used` are queries for
 * the numbers after the commit. A quota without limit is never noted.
 */
export function warnStatements({ organization, now }: Warned, used: readonly (readonly [Quota, SQL])[]): SQL[] {
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
    sql`insert into ${kept} ${COLUMNS}
        select ${organization.id}, quota, period, used, most, ${now.getTime()} from (${sql.join(rows, sql` union all `)})
        where used >= enough ${KEEP}`,
  ]
}

/** The warnings of a database to report. */
export const unnotifiedWarnings = (d1: D1Database, limit: number): Promise<QuotaWarning[]> =>
  readRows<QuotaWarning>(
    d1,
    sql`select * from ${kept} indexed by quota_warnings_unnotified where ${kept.notified} = 0
        order by ${kept.organization_id}, ${kept.quota} limit ${limit}`,
  )

/** The statement that keeps warnings of the control plane in the events shard of their organizations. */
export const keepWarnings = (warnings: readonly QuotaWarning[]): SQL =>
  sql`insert into ${kept} ${COLUMNS}
      select value->>0, value->>1, value->>2, value->>3, value->>4, value->>5 from json_each(${jsonOf(warnings)}) where true ${KEEP}`

const jsonOf = (warnings: readonly QuotaWarning[]): string =>
  JSON.stringify(
    warnings.map(({ organization_id, quota, period, used, most, marked_at }) => [
      ...[organization_id, quota, period, used, most, marked_at],
    ]),
  )

const isAmong = (warnings: readonly QuotaWarning[]): SQL =>
  sql`${[kept.organization_id, kept.quota, kept.period, kept.most]} in (
    select value->>0, value->>1, value->>2, value->>4 from json_each(${jsonOf(warnings)}))`

/** The statement that marks warnings as reported. One that was replaced since is still to be reported. */
export const markWarningsNotified = (warnings: readonly QuotaWarning[]): SQL =>
  sql`update ${kept} set ${bare(kept.notified)} = 1 where ${isAmong(warnings)}`

/** The guard `quota_warning.unnotified`, which refuses its batch when a warning was reported already, or replaced. */
export const assertUnnotified = (warning: QuotaWarning) =>
  assertThat(sql`exists (select 1 from ${kept} where ${kept.notified} = 0 and ${isAmong([warning])})`, 'quota_warning.unnotified')

type Subscriber = Pick<Ctx, 'db' | 'now'> & { organization: Pick<Ctx['organization'], 'id' | 'plan' | 'timezone'> }

/** The limits of the organization's plan today. */
export const limitsNow = ({
  organization,
  now,
}: {
  organization: Pick<Ctx['organization'], 'plan' | 'timezone'>
  now: Date
}): Limits & { rule_ref: string } => limitsOf(organization.plan, localDayOf(now, organization.timezone))

/**
 * Makes a commit that reserves one unit of a quota. `commit` puts the given statements into its batch before those that reserve the unit: a
 * guard refuses the batch when no unit is free, and a warning is noted when 80 % are taken. `used` is a query for the number of taken
 * units. Throws Failure 409 with the code of the quota.
 */
export async function reserveQuota<T>(
  ctx: Subscriber,
  quota: Quota,
  used: SQL,
  commit: (reserved: readonly Statement[]) => Promise<T>,
): Promise<T> {
  const d1 = ctx.db.$client
  const limit = limitsNow(ctx)[quota]
  try {
    return await commit([
      assertThat(sql`${limit} is null or (${used}) < ${limit}`, codeOf(quota)),
      ...warnStatements(ctx, [[quota, sql`select 1 + (${used})`]]),
    ])
  } catch (error) {
    if (limit === null || !isGuardViolation(error, codeOf(quota))) throw error
    const [count = limit] = Object.values((await readFirst(d1, used as SQL<Record<string, number>>)) ?? {})
    throw limitReached(ctx.organization.plan, quota, limit, count)
  }
}
