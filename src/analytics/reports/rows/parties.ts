import { decimal } from '../../../platform/money.ts'
import type { WorstListing } from '../../common/contract.ts'
import { percentOf, quotientText } from '../../common/figures.ts'
import { addUp, cancelledTotal, count, type Of } from './sums.ts'

/** Digits of issued_at and a UUID before a name. */
const POSITION = 10 + 36

/** The name on the newest document of these cells. */
export function nameOf(cells: readonly { newest: string | number }[]): string | null {
  const newest = cells
    .map((one) => String(one.newest))
    .sort()
    .at(-1)
  return newest ? newest.slice(POSITION) : null
}

const DIRECTIONS = ['issued', 'received'] as const
const byKey = (a: string, b: string): number => (a < b ? -1 : 1)

export function counterpartyNetwork(cells: readonly Of<'documents'>[], listed: (rfc: string) => WorstListing) {
  const valid = cells.filter(({ cancelled }) => cancelled === 0)
  const lost = Map.groupBy(
    cells.filter(({ cancelled, tipo }) => cancelled === 1 && tipo === 'I'),
    ({ rfc }) => String(rfc),
  )
  const of = (list: readonly Of<'documents'>[], direction: number) => list.filter((one) => one.direction === direction)
  const totals = DIRECTIONS.map((_, direction) => addUp(of(valid, direction), 'net')) as [bigint, bigint]
  return [...Map.groupBy(valid, ({ rfc }) => String(rfc))]
    .map(([rfc, list]) => ({ rfc, list, issued: addUp(of(list, 0), 'net'), received: addUp(of(list, 1), 'net') }))
    .sort((a, b) => {
      const more = b.issued + b.received - (a.issued + a.received)
      return more === 0n ? byKey(a.rfc, b.rfc) : more > 0n ? 1 : -1
    })
    .map(({ rfc, list, issued, received }) => {
      const [isCustomer, isSupplier] = [of(list, 0).length > 0, of(list, 1).length > 0]
      const tipo = (one: string) => list.filter((cell) => cell.tipo === one)
      return {
        ...{
          rfc,
          name: nameOf(list),
          relation: isCustomer && isSupplier ? ('both' as const) : isCustomer ? ('customer' as const) : ('supplier' as const),
        },
        ...{ issued: decimal(issued), received: decimal(received) },
        ...{ issued_share: percentOf(issued, totals[0]), received_share: percentOf(received, totals[1]) },
        ...{ invoice_count: count(tipo('I'), 'n'), credit_note_count: count(tipo('E'), 'n') },
        cancelled_count: count(lost.get(rfc) ?? [], 'n'),
        first_day: list.map(({ first }) => String(first)).sort()[0]!,
        last_day: list
          .map(({ last }) => String(last))
          .sort()
          .at(-1)!,
        active_months: new Set(list.map((cell) => cell.of)).size,
        blacklist: listed(rfc),
      }
    })
}

const REASONS = ['01', '02', '03', '04', 'unknown'] as const

export const cancellations = (cells: readonly Of<'sums'>[]) =>
  DIRECTIONS.flatMap((direction, n) => {
    const all = cells.filter((one) => one.cancelled === 1 && one.direction === n)
    return REASONS.flatMap((reason) => {
      const list = all.filter((one) => one.reason === reason)
      if (list.length === 0) return []
      const [found, dated] = [count(list, 'n'), addUp(list, 'dated')]
      return [
        {
          ...{ direction, reason, count: found, amount: cancelledTotal(list), without_amount: count(list, 'without_amount') },
          share: percentOf(BigInt(found), addUp(all, 'n')),
          lag_days: quotientText(addUp(list, 'lag'), dated, 2),
          after_month_close: count(list, 'after'),
        },
      ]
    })
  })

export const paymentBehavior = (cells: readonly Of<'payments'>[], today: string) =>
  DIRECTIONS.flatMap((direction, n) =>
    [
      ...Map.groupBy(
        cells.filter((one) => one.direction === n),
        ({ rfc }) => String(rfc),
      ),
    ]
      .map(([rfc, list]) => ({ rfc, list, paid: addUp(list, 'paid') }))
      .sort((a, b) => (a.paid === b.paid ? byKey(a.rfc, b.rfc) : a.paid > b.paid ? -1 : 1))
      .map(({ rfc, list, paid }) => {
        const open = list
          .flatMap((cell) => JSON.parse(String(cell.open)) as [due: string, amount: string, from?: string][])
          .flatMap(([due, amount, from = '']) => (from > today ? [] : [{ due, amount }]))
        return {
          ...{ direction, rfc, name: nameOf(list), paid: decimal(paid), payment_count: count(list, 'count') },
          ...{ invoice_count: count(list, 'invoices'), weighted_days_to_pay: quotientText(addUp(list, 'weighted'), paid, 2) },
          on_time_rate: percentOf(addUp(list, 'on_time'), paid),
          average_installments: quotientText(addUp(list, 'count'), addUp(list, 'invoices_paid'), 2),
          outstanding: decimal(addUp(open, 'amount')),
          overdue: decimal(
            addUp(
              open.filter(({ due }) => due < today),
              'amount',
            ),
          ),
        }
      }),
  )
