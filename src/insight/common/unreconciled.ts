import { paidParts } from '../../cfdi/open/paid-parts.ts'
import { parseSum, sumOf } from '../../cfdi/population/sums.ts'
import { type Fragment, raw, sql } from '../../platform/db/fragment.ts'
import type { Partition } from '../../visibility/scoped-ledger.ts'
import type { EntriesPage } from './contract.ts'
import { type EntryPosition, type EntryRow, pageOfEntries } from './entries.ts'
import type { Insight } from './insight.ts'

/** Rows of both directions, grouped by document and what it applies to, in the order of entries. Null without any. */
export function pairs(
  columns: Fragment,
  sides: readonly Fragment[],
  condition: Fragment,
  after: EntryPosition | undefined,
  take: number,
): Fragment | null {
  const [one, other] = sides
  if (!one) return null
  const later = after ? sql`and (issued_at, uuid, applies_to) < (${after[0]}, ${after[1]}, ${after[2]})` : raw('')
  return sql`select uuid, applies_to, issued_at, ${columns} from (${other ? sql`${one} union all ${other}` : one}) where ${condition} ${later}
    group by issued_at, uuid, applies_to order by issued_at desc, uuid desc, applies_to desc limit ${raw(String(take))}`
}

/**
 * Returns a page of the paid parts of the range that could not be matched with an invoice, now or at the end of a past day, in the currency
 * that they state.
 */
export function pageOfUnreconciled(
  insight: Insight,
  path: string,
  query: { limit: number; cursor?: string | undefined },
  past: string | null,
): Promise<EntriesPage> {
  const select = (partition: Partition, after: EntryPosition | undefined, take: number): Fragment | null => {
    const sides = insight.span.directions.flatMap((direction) => paidParts(partition, direction, insight.span, past) ?? [])
    return pairs(sql`${sumOf('amount')} as amount`, sides, raw("reason is not null and reason <> 'not_counted'"), after, take)
  }
  return pageOfEntries<EntryRow & { amount: string }>(insight, path, query, select, (rows) => rows.map(({ amount }) => parseSum(amount)))
}
