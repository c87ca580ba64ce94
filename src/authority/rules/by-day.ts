import type { Day } from '../../platform/time/calendar.ts'
import type { Rules, Unit } from './dated.ts'

/** The earliest day of documents, for ranges that have no first day. */
export const ANY_DAY: Day = '1990-01-01'

/**
 * Returns the SQL of `make` under the rules of the day in `column`, which is one of `days` and may be followed by a time. Where none of the
 * rules that it reads changes on these days, the SQL is that of `make` alone. With a unit, the rules are those of the month or year of the
 * day.
 */
export function byDay(
  rules: Rules,
  column: string,
  days: { first: Day; last: Day },
  make: (rules: Rules) => string,
  unit: Unit = 'day',
): string {
  const made = rules.partsOf(days, unit).map((part) => ({ from: part.from, text: make(part.rules) }))
  const parts = made.filter(({ text }, n) => n === 0 || text !== made[n - 1]!.text)
  if (parts.length === 1) return parts[0]!.text
  const cases = parts.slice(1).map(({ from }, n) => `when ${column} < '${from}' then ${parts[n]!.text}`)
  return `(case ${cases.join(' ')} else ${parts.at(-1)!.text} end)`
}

/** The days until an invoice without due date is due, as SQL over the column with its day, for invoices of any age up to a day. */
export const daysUntilDue =
  (rules: Rules, last: Day) =>
  (column: string): string =>
    byDay(rules, column, { first: ANY_DAY, last }, (on) => String(on.get('financing.default_terms_days')))
