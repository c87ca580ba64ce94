import { creditsOfOthers } from '../../cfdi/cash/events.ts'
import { paidParts } from '../../cfdi/open/paid-parts.ts'
import type { Days } from '../../cfdi/population/population.ts'
import { parseSum, sumOf } from '../../cfdi/population/sums.ts'
import { type Fragment, join, raw, sql } from '../../platform/db/fragment.ts'
import type { DirectionNumber, Partition } from '../../visibility/scoped-ledger.ts'
import type { EntriesPage } from './contract.ts'
import { type EntryPosition, type EntryRow, pageOfEntries } from './entries.ts'
import type { Insight } from './insight.ts'
import type { Unmatched } from './omitted.ts'

/** Rows of both directions, grouped by document and what it applies to, in the order of entries. Null without any. */
export function pairs(
  columns: Fragment,
  sides: readonly Fragment[],
  condition: Fragment,
  after: EntryPosition | undefined,
  take: number,
): Fragment | null {
  if (sides.length === 0) return null
  const later = after ? sql`and (issued_at, uuid, applies_to) < (${after[0]}, ${after[1]}, ${after[2]})` : raw('')
  return sql`select uuid, applies_to, issued_at, ${columns} from (${join(sides, ' union all ')}) where ${condition} ${later}
    group by issued_at, uuid, applies_to order by issued_at desc, uuid desc, applies_to desc limit ${raw(String(take))}`
}

/** Counts the credit notes that name an invoice of other parties, now or at the end of a past day. */
export function othersNotes(partition: Partition, direction: DirectionNumber, days: Days, past: string | null): Fragment | null {
  const notes = creditsOfOthers(partition, direction, days, past)
  return notes && sql`select count(*) as n from (${notes})`
}

/**
 * Returns a page of the paid parts of the range that could not be matched with an invoice, or of these and the credit notes that name an
 * invoice of other parties, now or at the end of a past day, in the currency that they state.
 */
export function pageOfUnreconciled(
  insight: Insight,
  path: string,
  query: { limit: number; cursor?: string | undefined; figure: Unmatched },
  past: string | null,
): Promise<EntriesPage> {
  const { span } = insight
  const isOthers = query.figure === 'other_parties'
  const columns = raw('uuid, applies_to, issued_at, amount')
  const sidesOf = (partition: Partition, direction: DirectionNumber): Fragment[] => {
    const parts = paidParts(partition, direction, span, past)
    const notes = isOthers ? creditsOfOthers(partition, direction, span, past) : null
    const where = isOthers ? "reason = 'other_parties'" : "reason is not null and reason <> 'not_counted'"
    return [parts && sql`select ${columns} from (${parts}) where ${raw(where)}`, notes && sql`select ${columns} from (${notes})`].flatMap(
      (one) => one ?? [],
    )
  }
  const select = (partition: Partition, after: EntryPosition | undefined, take: number): Fragment | null =>
    pairs(
      sql`${sumOf('amount')} as amount`,
      span.directions.flatMap((direction) => sidesOf(partition, direction)),
      raw('1'),
      after,
      take,
    )
  return pageOfEntries<EntryRow & { amount: string }>(insight, path, query, select, (rows) => rows.map(({ amount }) => parseSum(amount)))
}
