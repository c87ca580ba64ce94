import { type SQL, sql } from 'drizzle-orm'
import { creditsOfOthers } from '../../cfdi/cash/events.ts'
import { measurePaidPart, ratesOfPaidPart } from '../../cfdi/open/measure-paid-part.ts'
import { paidParts } from '../../cfdi/open/paid-parts.ts'
import type { Days } from '../../cfdi/population/population.ts'
import { parseSum, sumOf } from '../../cfdi/population/sums.ts'
import { inPesos } from '../../platform/money.ts'
import type { DirectionNumber, Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import type { EntriesPage } from './contract.ts'
import { type EntryPosition, type EntryRow, pageOfEntries } from './entries.ts'
import type { Insight } from './insight.ts'
import type { Unmatched } from './omitted.ts'
import { ratesFor } from './rates-for.ts'

/** Rows of both directions, grouped by document and what it applies to, in the order of entries. Null without any. */
export function pairs(columns: SQL, sides: readonly SQL[], condition: SQL, after: EntryPosition | undefined, take: number): SQL | null {
  if (sides.length === 0) return null
  const later = after ? sql`and (issued_at, uuid, applies_to) < (${after[0]}, ${after[1]}, ${after[2]})` : sql``
  return sql`select uuid, applies_to, issued_at, ${columns} from (${sql.join([...sides], sql` union all `)}) where ${condition} ${later}
    group by issued_at, uuid, applies_to order by issued_at desc, uuid desc, applies_to desc limit ${sql.raw(String(take))}`
}

/** A pair, with how many of its parts are certainly not reconciled, and those that are measured first. */
type UnreconciledRow = EntryRow & { amount: string; plain: number; odds: string | null }

/** Counts the credit notes that name an invoice of other parties, now or at the end of a past day. */
export function othersNotes(partition: Partition, direction: DirectionNumber, days: Days, past: string | null): SQL | null {
  const notes = creditsOfOthers(partition, direction, days, past)
  return notes && sql`select count(*) as n from (${notes})`
}

/**
 * Returns a page of the paid parts of the range that could not be matched with an invoice, or of these and the credit notes that name an
 * invoice of other parties, now or at the end of a past day, in the currency that they state. With `isRated`, those in a currency whose
 * exchange rate of the payment is not known are among the former.
 */
export function pageOfUnreconciled(
  insight: Insight,
  path: string,
  query: { limit: number; cursor?: string | undefined; figure: Unmatched },
  past: string | null,
  isRated = false,
): Promise<EntriesPage> {
  const { span } = insight
  const isOthers = query.figure === 'other_parties'
  const sidesOf = (partition: Partition, direction: DirectionNumber): SQL[] => {
    const parts = paidParts(partition, direction, span, past)
    const notes = isOthers ? creditsOfOthers(partition, direction, span, past) : null
    const unrated = isRated ? sql` or (reason is null and odd is not null and not ${sql.raw(inPesos('currency'))})` : sql``
    const where = isOthers ? sql`reason = 'other_parties'` : sql`reason <> 'not_counted'${unrated}`
    return [
      parts && sql`select uuid, applies_to, issued_at, amount, iif(reason is null, odd, null) as odd from (${parts}) where ${where}`,
      notes && sql`select uuid, applies_to, issued_at, amount, null as odd from (${notes})`,
    ].flatMap((one) => one ?? [])
  }
  const select = (partition: Partition, after: EntryPosition | undefined, take: number): SQL | null =>
    pairs(
      sql`${sumOf('iif(odd is null, amount, null)')} as amount, count(iif(odd is null, 1, null)) as plain,
        json_group_array(odd) filter (where odd is not null) as odds`,
      span.directions.flatMap((direction) => sidesOf(partition, direction)),
      sql`1`,
      after,
      take,
    )
  return pageOfEntries<UnreconciledRow>(insight, path, query, select, async (rows) => {
    const parsed = rows.map((row) => ({ ...row, odds: JSON.parse(row.odds ?? '[]') as string[] }))
    const rateOfDay = await ratesFor(insight.ctx, (want) => {
      for (const { odds } of parsed) for (const odd of odds) ratesOfPaidPart(odd).forEach(want)
    })
    return parsed.map(({ amount, plain, odds }) => {
      const unpaid = odds.filter((odd) => measurePaidPart(odd, rateOfDay).paid === null)
      const sum = unpaid.reduce((all, odd) => all + BigInt((JSON.parse(odd) as [string | number])[0]), parseSum(amount))
      return plain + unpaid.length === 0 ? null : sum
    })
  })
}
