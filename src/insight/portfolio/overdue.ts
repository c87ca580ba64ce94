import { type Micros, times } from '../../cfdi/money.ts'
import { parseSum } from '../../cfdi/population/sums.ts'
import { dayOfEpoch, epochDayOf } from '../../platform/time/calendar.ts'
import type { OpenRow } from './store.ts'
import { daysUntilDue } from './terms.ts'

/** Balances of open invoices in micros of MXN, and how many these are. */
export interface Overdue {
  open: Micros
  overdue: Micros
  invoices: number
}

type Other = [left: string | number, currency: string, rate: string | null]
export const othersOf = ({ others }: OpenRow): Other[] => JSON.parse(`[${others ?? ''}]`) as Other[]

/** The rates that open invoices do not state, as `ratesAt` is asked for them. */
export const ratesWanted = (rows: readonly OpenRow[]): { currency: string; day: string }[] =>
  rows.flatMap((row) => othersOf(row).flatMap(([, currency, rate]) => (isStated(rate) ? [] : [{ currency, day: row.day }])))

const isStated = (rate: string | null): rate is string => Number(rate) > 0

/** Adds up what is open and what is overdue on a day. `rates` answer `ratesWanted`. */
export function overdueOf(rows: readonly OpenRow[], rates: readonly (string | null)[], today: string, defaultDays: number): Overdue {
  const sums: Overdue = { open: 0n, overdue: 0n, invoices: 0 }
  let at = 0
  for (const row of rows) {
    let left = parseSum(row.left)
    sums.invoices += row.invoices
    for (const [amount, , stated] of othersOf(row)) {
      const rate = isStated(stated) ? stated : (rates[at++] ?? null)
      if (rate === null) sums.invoices--
      else left += times(BigInt(amount), rate)
    }
    const due = dayOfEpoch(epochDayOf(row.day) + (daysUntilDue(row.condiciones) ?? defaultDays))
    sums.open += left
    if (due < today) sums.overdue += left
  }
  return sums
}
