import { balanceOn, type OpenRow, partOf } from '../../cfdi/cash/balance-on.ts'
import type { Micros } from '../../cfdi/money.ts'
import { sumOf } from '../../cfdi/population/sums.ts'
import { type Fragment, raw, sql } from '../../platform/db/fragment.ts'
import type { DirectionNumber } from '../../visibility/scoped-ledger.ts'
import { ivaOf, type Outcome } from '../common/measured.ts'

/** IVA of invoices that are alike: without any payment yet, or paid at once in a month; or one invoice that is to be computed (`odd`). */
export interface PendingRow {
  direction: DirectionNumber
  month: string
  /** The month in which they were paid; null when they are not. */
  settled: string | null
  iva: string
  odd: string | null
}

/** Adds up what `openInvoices` selects. */
export const pendingGroups = (open: Fragment, direction: DirectionNumber, today: string): Fragment => sql`
  select ${raw(String(direction))} as direction, substr(day, 1, 7) as month, iif(is_whole, settled, null) as settled,
    ${sumOf('iif(is_whole, iva, 0)')} as iva,
    iif(is_whole, null, json_object('uuid', uuid, 'issued_at', issued_at, 'day', day, 'applied', applied, 'source', source)) as odd
  from (select *, substr(applied->>'$[0][0]', 1, 7) as settled, not is_odd and (applied = '[]'
      or (json_array_length(applied) = 1 and applied->>'$[0][2]' = 'P'
        and applied->>'$[0][0]' <= ${today} and (applied->>'$[0][1]') + 5000 > total + 0)) as is_whole
    from (${open}))
  group by 2, 3, iif(is_whole, '', uuid)`

/** The IVA that an invoice’s balance has at the end of a day, in micros of MXN; null when its rate is not known. */
export function pendingOn(row: OpenRow, day: string, outcomeOf: (row: ReturnType<typeof partOf>) => Outcome): Micros | null {
  const balance = balanceOn(row, day)
  if (balance === 0n) return 0n
  const measured = outcomeOf(partOf(row, balance))
  return typeof measured === 'string' ? null : ivaOf(measured)
}
