import { measureOpen, rateWanted } from '../../cfdi/open/measure-open.ts'
import { parseSum } from '../../cfdi/population/sums.ts'
import type { Micros } from '../../platform/money.ts'
import type { OverdueRow } from './store.ts'

/** Balances of open invoices in micros of MXN, and how many these are. */
export interface Overdue {
  open: Micros
  overdue: Micros
  invoices: number
}

const oddOf = (rows: readonly OverdueRow[]): { due: string; odd: string; wanted: { currency: string; day: string } | null }[] =>
  rows.flatMap(({ odd }) =>
    (JSON.parse(`[${odd ?? ''}]`) as [string, unknown][]).map(([due, list]) => {
      const text = JSON.stringify(list)
      return { due, odd: text, wanted: rateWanted(text) }
    }),
  )

/** The rates that open invoices do not state, as `ratesAt` is asked for them. */
export const ratesWanted = (rows: readonly OverdueRow[]): { currency: string; day: string }[] =>
  oddOf(rows).flatMap(({ wanted }) => wanted ?? [])

/** Adds up what is open, and what is overdue on a day. `rates` answer `ratesWanted`. Invoices without any rate are left out. */
export function overdueOf(rows: readonly OverdueRow[], rates: readonly (string | null)[], today: string): Overdue {
  const sums: Overdue = { open: 0n, overdue: 0n, invoices: 0 }
  for (const { invoices, open, overdue } of rows) {
    sums.invoices += invoices
    sums.open += parseSum(open)
    sums.overdue += parseSum(overdue)
  }
  let at = 0
  for (const { due, odd, wanted } of oddOf(rows)) {
    const pesos = measureOpen(odd, wanted === null ? null : (rates[at++] ?? null))?.pesos ?? null
    if (pesos === null) continue
    sums.invoices++
    sums.open += pesos
    if (due < today) sums.overdue += pesos
  }
  return sums
}
