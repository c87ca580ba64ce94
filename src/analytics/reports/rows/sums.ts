import { decimal } from '../../../platform/money.ts'
import { DIRECTION_NAMES } from '../../../taxpayers/visibility/window.ts'
import type { WorstListing } from '../../common/contract.ts'
import { percentOf, quotientText } from '../../common/figures.ts'
import type { Cell, PartKind } from '../parts/month.ts'

/** A cell with the month of its documents. */
export type Of<Kind extends PartKind> = Cell<Kind> & { of: string }

type Sums = Of<'sums'>

export const addUp = <Name extends string>(cells: readonly Record<Name, string | number>[], name: Name): bigint => {
  let total = 0n
  for (const cell of cells) total += BigInt(cell[name])
  return total
}
export const count = <Name extends string>(cells: readonly Record<Name, string | number>[], name: Name): number =>
  Number(addUp(cells, name))

const isValid = ({ cancelled }: Sums): boolean => cancelled === 0
const trade = (cells: readonly Sums[], direction: number, tipo?: string): Sums[] =>
  cells.filter((one) => isValid(one) && one.direction === direction && (tipo === undefined ? one.tipo !== 'N' : one.tipo === tipo))

const groups = (cells: readonly Sums[], keyOf: (cell: Sums) => string): [string, Sums[]][] =>
  [...Map.groupBy(cells, keyOf)].sort(([a], [b]) => (a < b ? -1 : 1))

export const fiscalSummary = (cells: readonly Sums[]) =>
  groups(cells.filter(isValid), ({ of }) => of.slice(0, 4)).map(([year, list]) => {
    const [issued, received, wages] = [trade(list, 0), trade(list, 1), trade(list, 0, 'N')]
    return {
      ...{ year, ingresos: decimal(addUp(issued, 'net')), egresos: decimal(addUp(received, 'net')) },
      ...{ iva_trasladado: decimal(addUp(issued, 'iva')), iva_acreditable: decimal(addUp(received, 'iva')) },
      iva_retenido_por_clientes: decimal(addUp(issued, 'iva_retenido')),
      iva_retenido_a_terceros: decimal(addUp(received, 'iva_retenido')),
      isr_retenido_por_clientes: decimal(addUp(issued, 'isr_retenido')),
      isr_retenido_a_terceros: decimal(addUp(received, 'isr_retenido')),
      ...{ nomina: decimal(addUp(wages, 'net')), nomina_isr: decimal(addUp(wages, 'isr_retenido')) },
    }
  })

export const revenueExpenses = (cells: readonly Sums[]) =>
  groups(cells.filter(isValid), ({ of }) => of).map(([month, list]) => {
    const of = (direction: number, tipo: string) => addUp(trade(list, direction, tipo), 'net')
    const [revenue, notes, expenses, received] = [of(0, 'I'), -of(0, 'E'), of(1, 'I'), -of(1, 'E')]
    const [goods, payroll] = [addUp(trade(list, 1), 'goods'), of(0, 'N')]
    const [net_revenue, net_expenses] = [revenue - notes, expenses - received]
    return {
      ...{ month, revenue: decimal(revenue), credit_notes: decimal(notes), net_revenue: decimal(net_revenue) },
      ...{ expenses: decimal(expenses), credit_notes_received: decimal(received), net_expenses: decimal(net_expenses) },
      ...{ cost_of_goods: decimal(goods), payroll: decimal(payroll), gross_profit: decimal(net_revenue - goods) },
      gross_margin: net_revenue <= 0n ? null : percentOf(net_revenue - goods, net_revenue),
      operating_result: decimal(net_revenue - net_expenses - payroll),
    }
  })

/** The total of cancelled documents; null when no amount of any of them is known. */
const cancelledTotal = (cells: readonly Sums[]): string | null => {
  const documents = count(cells, 'n')
  return documents > 0 && documents === count(cells, 'without_amount') ? null : decimal(addUp(cells, 'total'))
}

export function annualComparison(cells: readonly Sums[]) {
  const months = new Map(
    groups(
      cells.filter(({ tipo, cancelled }) => tipo !== 'N' && (cancelled === 0 || tipo === 'I')),
      ({ of }) => of,
    ),
  )
  const net = (month: string, direction: number) => addUp(trade(months.get(month) ?? [], direction), 'net')
  return [...months].map(([at, list]) => {
    const [year = '', month = ''] = at.split('-')
    const before = `${Number(year) - 1}-${month}`
    const change = (direction: number): string | null => {
      const earlier = net(before, direction)
      return earlier <= 0n ? null : percentOf(net(at, direction) - earlier, earlier)
    }
    const lost = (direction: number) => list.filter((one) => !isValid(one) && one.direction === direction)
    return {
      ...{ year, month, issued: decimal(net(at, 0)), received: decimal(net(at, 1)) },
      ...{ issued_count: count(trade(list, 0), 'n'), received_count: count(trade(list, 1), 'n') },
      ...{ cancelled_issued: cancelledTotal(lost(0)), cancelled_received: cancelledTotal(lost(1)) },
      ...{ cancelled_issued_count: count(lost(0), 'n'), cancelled_received_count: count(lost(1), 'n') },
      cancelled_issued_without_amount: count(lost(0), 'without_amount'),
      cancelled_received_without_amount: count(lost(1), 'without_amount'),
      ...{ issued_change_pct: change(0), received_change_pct: change(1) },
    }
  })
}

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

const byKey = (a: string, b: string): number => (a < b ? -1 : 1)

export function counterpartyNetwork(cells: readonly Of<'documents'>[], listed: (rfc: string) => WorstListing) {
  const valid = cells.filter(({ cancelled }) => cancelled === 0)
  const lost = Map.groupBy(
    cells.filter(({ cancelled, tipo }) => cancelled === 1 && tipo === 'I'),
    ({ rfc }) => String(rfc),
  )
  const of = (list: readonly Of<'documents'>[], direction: number) => list.filter((one) => one.direction === direction)
  const totals = DIRECTION_NAMES.map((_, direction) => addUp(of(valid, direction), 'net')) as [bigint, bigint]
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
  DIRECTION_NAMES.flatMap((direction, n) => {
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
  DIRECTION_NAMES.flatMap((direction, n) =>
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
