import type { Ctx } from '../context.ts'
import { invalid } from '../failures.ts'
import { centralDayOf } from './months.ts'

/**
 * The day of `as_of` when it is over: then the state at its end is asked for. Null for today in central Mexico and without a day, when
 * stored data says it. `path` is where the request has it. Throws Failure 422 as_of.future.
 */
export function pastDay({ now }: Pick<Ctx, 'now'>, as_of: string | undefined, path = 'as_of'): string | null {
  const today = centralDayOf(now.getTime())
  if (as_of !== undefined && as_of > today) throw invalid('as_of.future', [{ path, message: `Must not be after ${today}, today.` }])
  return as_of === undefined || as_of === today ? null : as_of
}
