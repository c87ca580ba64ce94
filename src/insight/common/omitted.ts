import { accruedEvents, cashEvents, creditsOfOthers } from '../../cfdi/cash/events.ts'
import type { Measurable } from '../../cfdi/cash/measure.ts'
import type { Micros } from '../../cfdi/money.ts'
import type { Days } from '../../cfdi/population/population.ts'
import { type Fragment, raw, sql } from '../../platform/db/fragment.ts'
import type { DirectionNumber, Partition } from '../../visibility/scoped-ledger.ts'
import type { Outcome } from './measured.ts'

/** What data_quality counts of a surface on a cash basis, to be listed. */
export const OMITTED = ['missing_rate', 'dof_rate', 'not_counted', 'unreconciled_payments', 'other_parties'] as const
export type Omitted = (typeof OMITTED)[number]

export const isOmitted = (figure: string): figure is Omitted => (OMITTED as readonly string[]).includes(figure)

/** Whole amounts in the currency of the document or payment. Those whose exchange rate decides whether they belong are odd. */
const whole = (events: Fragment | null, where: string): Fragment | null =>
  events &&
  sql`select uuid, applies_to, issued_at, cast(source->>0 as text) as amount, reason is null as is_odd,
    json_object('tipo', tipo, 'day', day, 'source', source) as as_json from (${events}) where ${raw(where)}`

/** The rows behind a count, for `listEntries` with `measureOmitted`. */
export function omittedRows(figure: Omitted, partition: Partition, direction: DirectionNumber, days: Days): Fragment[] {
  const notes = figure === 'other_parties' ? creditsOfOthers(partition, direction, days) : null
  const rows =
    figure === 'unreconciled_payments' || figure === 'other_parties'
      ? whole(
          cashEvents(partition, direction, days),
          figure === 'other_parties'
            ? "reason = 'other_parties'"
            : "tipo = 'P' and reason is not 'not_counted' and (reason is not null or is_odd)",
        )
      : whole(accruedEvents(partition, direction, days), figure === 'not_counted' ? "reason = 'not_counted'" : 'is_odd and reason is null')
  return [rows, notes && sql`select *, 0 as is_odd, null as as_json from (${notes})`].flatMap((one) => one ?? [])
}

/** The whole amount of a row that belongs to a count when it is measured; null when it does not. */
export function omittedAmount(figure: Omitted, { source }: Measurable, outcome: Outcome): Micros | null {
  const isMeant = figure === 'dof_rate' ? typeof outcome === 'object' && outcome.dof : outcome === 'missing_rate'
  return isMeant ? BigInt((JSON.parse(source) as [string | number])[0]) : null
}

/** The documents that state another currency and no exchange rate, to be counted by `dof`; and the credit notes that name others' invoices. */
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
