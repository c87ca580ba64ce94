import { accruedEvents, cashEvents, creditsOfOthers } from '../../cfdi/cash/events.ts'
import type { Measurable } from '../../cfdi/cash/measure.ts'
import type { Micros } from '../../cfdi/money.ts'
import type { Days } from '../../cfdi/population/population.ts'
import { type Fragment, raw, sql } from '../../platform/db/fragment.ts'
import type { DirectionNumber, Partition } from '../../visibility/scoped-ledger.ts'
import { LEFT_OUT } from './contract.ts'
import type { Outcome } from './measured.ts'

/** What data_quality counts of payments on a cash basis, to be listed. */
export const UNMATCHED = ['unreconciled_payments', 'other_parties'] as const
export type Unmatched = (typeof UNMATCHED)[number]
export const OMITTED = [...LEFT_OUT, ...UNMATCHED] as const

export const isUnmatched = (figure: string): figure is Unmatched => (UNMATCHED as readonly string[]).includes(figure)

/**
 * The rows behind a count, for `pageOfPairs`: whole amounts in the currency of the payment or credit note. Those whose exchange rate decides
 * whether they belong are odd.
 */
export function unmatchedRows(figure: Unmatched, partition: Partition, direction: DirectionNumber, days: Days): Fragment[] {
  const isOthers = figure === 'other_parties'
  const events = cashEvents(partition, direction, days)
  const where = isOthers ? "reason = 'other_parties'" : "tipo = 'P' and reason is not 'not_counted' and (reason is not null or is_odd)"
  const notes = isOthers ? creditsOfOthers(partition, direction, days) : null
  return [
    events &&
      sql`select uuid, applies_to, issued_at, cast(source->>0 as text) as amount, reason is null as is_odd,
        json_object('tipo', tipo, 'day', day, 'source', source) as as_json from (${events}) where ${raw(where)}`,
    notes && sql`select *, 0 as is_odd, null as as_json from (${notes})`,
  ].flatMap((one) => one ?? [])
}

/** The amount of a paid part that is no cash event because its rate is not known; null when it is one. */
export const unmatchedAmount = ({ source }: Measurable, outcome: Outcome): Micros | null =>
  outcome === 'missing_rate' ? BigInt((JSON.parse(source) as [string | number])[0]) : null

/** Invoices and credit notes that state another currency and no exchange rate, and how many credit notes name others' invoices. */
export const omissions = (
  partition: Partition,
  direction: DirectionNumber,
  days: Days,
): { unpriced: Fragment | null; notes: Fragment | null } => {
  const accrued = accruedEvents(partition, direction, days)
  const notes = creditsOfOthers(partition, direction, days)
  return {
    unpriced: accrued && sql`select tipo, day, source from (${accrued}) where is_odd and reason is null`,
    notes: notes && sql`select count(*) as n from (${notes})`,
  }
}
