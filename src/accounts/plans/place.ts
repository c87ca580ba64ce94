import { type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../platform/context.ts'
import type { Statement } from '../../platform/db/commit.ts'
import { assertThat, isGuardViolation } from '../../platform/db/guard.ts'
import { prepared } from '../../platform/db/statement.ts'
import { localDayOf } from '../../platform/time/calendar.ts'
import { codeOf, type Limits, limitReached, limitsOf, type Quota } from './quotas.ts'
import { warnStatements } from './warnings.ts'

type Subscriber = Pick<Ctx, 'db' | 'now'> & { organization: Pick<Ctx['organization'], 'id' | 'plan' | 'timezone'> }

/** What the organization's plan allows today. */
export const limitsNow = ({
  organization,
  now,
}: {
  organization: Pick<Ctx['organization'], 'plan' | 'timezone'>
  now: Date
}): Limits & { rule_ref: string } => limitsOf(organization.plan, localDayOf(now, organization.timezone))

/**
 * Makes a commit that takes one place of a quota. The statements that it is given belong into the batch, before those that take the place: a
 * guard refuses the batch when no place is free, and a warning is noted when 80 % are taken. `used` is a query for the number of places that
 * are taken. Throws Failure 409 with the code of the quota.
 */
export async function takePlace<T>(
  ctx: Subscriber,
  quota: Quota,
  used: SQL,
  commit: (place: readonly Statement[]) => Promise<T>,
): Promise<T> {
  const d1 = ctx.db.$client
  const limit = limitsNow(ctx)[quota]
  try {
    return await commit([
      assertThat(d1, sql`${limit} is null or (${used}) < ${limit}`, codeOf(quota)),
      ...warnStatements(d1, ctx, [[quota, sql`select 1 + (${used})`]]),
    ])
  } catch (error) {
    if (limit === null || !isGuardViolation(error, codeOf(quota))) throw error
    const [count = limit] = Object.values((await prepared(d1, used).first<Record<string, number>>()) ?? {})
    throw limitReached(ctx.organization.plan, quota, limit, count)
  }
}
