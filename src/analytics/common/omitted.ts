import { type SQL, sql } from 'drizzle-orm'
import { accruedEvents, creditsOfOthers, paidByComplement } from '../../cfdi/cash/events.ts'
import type { Measurable } from '../../cfdi/cash/measure.ts'
import type { Days } from '../../cfdi/population/population.ts'
import type { Micros } from '../../platform/money.ts'
import { type DirectionNumber, type Partition, partitionsToRead } from '../../taxpayers/visibility/scoped-ledger.ts'
import { type EntriesPage, UNMATCHED } from './contract.ts'
import type { Insight } from './insight.ts'
import { measurer, type Outcome } from './measured.ts'
import { pageOfPairs } from './pairs.ts'

export type Unmatched = (typeof UNMATCHED)[number]

export const isUnmatched = (figure: string): figure is Unmatched => (UNMATCHED as readonly string[]).includes(figure)

/**
 * The rows behind a count, for `pageOfPairs`: whole amounts in the currency of the payment or credit note. Those whose exchange rate decides
 * whether they belong are odd.
 */
export function unmatchedRows(figure: Unmatched, partition: Partition, direction: DirectionNumber, days: Days): SQL[] {
  const isOthers = figure === 'other_parties'
  const events = paidByComplement(partition, direction, days)
  const where = isOthers ? sql`reason = 'other_parties'` : sql`reason is not 'not_counted' and (reason is not null or is_odd)`
  const notes = isOthers ? creditsOfOthers(partition, direction, days) : null
  return [
    events &&
      sql`select uuid, applies_to, issued_at, cast(source->>0 as text) as amount, reason is null as is_odd,
        json_object('tipo', tipo, 'day', day, 'source', source) as as_json from (${events}) where ${where}`,
    notes && sql`select *, 0 as is_odd, null as as_json from (${notes})`,
  ].flatMap((one) => one ?? [])
}

/** The amount of a paid part that is no cash event because its rate is not known; null when it is one. */
export const unmatchedAmount = ({ source }: Measurable, outcome: Outcome): Micros | null =>
  outcome === 'missing_rate' ? BigInt((JSON.parse(source) as [string | number])[0]) : null

/** Invoices and credit notes that state another currency and no exchange rate, and how many credit notes name others' invoices. */
export const omissions = (partition: Partition, direction: DirectionNumber, days: Days): { unpriced: SQL | null; notes: SQL | null } => {
  const accrued = accruedEvents(partition, direction, days)
  const notes = creditsOfOthers(partition, direction, days)
  return {
    unpriced: accrued && sql`select tipo, day, source from (${accrued}) where is_odd and reason is null`,
    notes: notes && sql`select count(*) as n from (${notes})`,
  }
}

/** How much a surface cannot match with an invoice. `odds` is a JSON list of pairs whose exchange rate decides it, with their `Measurable`. */
export interface UnmatchedRow {
  unreconciled: number
  other_parties: number
  odds: string
}

const PAIR = sql`uuid || applies_to`

/** The statements that count what the surfaces on payments leave out in the range, for `unmatchedOf`. */
export const unmatchedStatements = ({ ledger, span }: Pick<Insight, 'ledger' | 'span'>): SQL[] =>
  partitionsToRead(ledger).flatMap((partition) =>
    span.directions.flatMap((direction) => {
      const events = paidByComplement(partition, direction, span)
      const notes = creditsOfOthers(partition, direction, span)
      return [
        events &&
          sql`select count(distinct iif(reason is null, null, ${PAIR})) as unreconciled,
            count(distinct iif(reason = 'other_parties', ${PAIR}, null)) as other_parties,
            json_group_array(json_array(${PAIR}, json_object('tipo', tipo, 'day', day, 'source', source))) filter (where reason is null) as odds
          from (${events}) where reason is not 'not_counted' and (reason is not null or paid is null)`,
        notes && sql`select 0 as unreconciled, count(*) as other_parties, '[]' as odds from (${notes})`,
      ].flatMap((one) => one ?? [])
    }),
  )

export const oddsOf = (rows: readonly UnmatchedRow[]): [pair: string, event: Measurable][] =>
  rows.flatMap(({ odds }) => JSON.parse(odds) as [string, Measurable][])

/** Adds up what these statements counted. */
export function unmatchedOf(rows: readonly UnmatchedRow[], outcomeOf: (event: Measurable) => Outcome) {
  const unrated = new Set(oddsOf(rows).flatMap(([pair, event]) => (outcomeOf(event) === 'missing_rate' ? [pair] : [])))
  const sum = (name: 'unreconciled' | 'other_parties') => rows.reduce((all, row) => all + row[name], 0)
  return { unreconciled_payments: sum('unreconciled') + unrated.size, other_parties: sum('other_parties') }
}

/** Returns a page of what one of these counts is of, in the currency that the documents state. */
export const pageOfUnmatched = (
  insight: Insight,
  path: string,
  query: { limit: number; cursor?: string | undefined; figure: Unmatched },
): Promise<EntriesPage> =>
  pageOfPairs<Measurable>(
    insight,
    path,
    query,
    (partition) => insight.span.directions.flatMap((direction) => unmatchedRows(query.figure, partition, direction, insight.span)),
    async (odds) => {
      const { outcomeOf } = await measurer(insight.ctx, odds)
      return (odd) => unmatchedAmount(odd, outcomeOf(odd))
    },
    true,
  )
