import { type Micros, micros, money, percent, sum } from '../amounts.ts'
import { inPesos, isToItself, isTooLarge, netOf, populationOf, rateOf, signOf } from '../counting.ts'
import type { Direction } from '../shapes.ts'
import { IVA, taxesOf, taxSum } from '../taxes.ts'
import { type Document, monthOf, type World } from '../world.ts'

export const netPesos = (world: World, one: Document): Micros => inPesos(world, one, netOf(one)) * signOf(one)
export const netSum = (world: World, list: readonly Document[]): Micros => sum(list.map((one) => netPesos(world, one)))

const groupsBy = (world: World, keyOf: (one: Document) => string) =>
  [
    ...Map.groupBy(
      populationOf(world, null, ['I', 'E', 'N']).filter((one) => one.tipo_comprobante !== 'N' || one.direction === 'issued'),
      keyOf,
    ),
  ].sort(([a], [b]) => (a < b ? -1 : 1))

const trade = (list: readonly Document[], direction: Direction) =>
  list.filter((one) => one.direction === direction && one.tipo_comprobante !== 'N')
const payrollOf = (list: readonly Document[]) => list.filter((one) => one.direction === 'issued' && one.tipo_comprobante === 'N')

/** `fiscal-summary`: a row for each year. */
export const fiscalSummary = (world: World) =>
  groupsBy(world, ({ fecha }) => fecha.slice(0, 4)).map(([year, list]) => {
    const taxes = (direction: Direction, kind: 'traslado' | 'retencion', impuesto: string) =>
      money(sum(trade(list, direction).map((one) => inPesos(world, one, taxSum(taxesOf(one), kind, impuesto)) * signOf(one))))
    const wages = (of: (one: Document) => string | null) => money(sum(payrollOf(list).map((one) => inPesos(world, one, micros(of(one))))))
    return {
      ...{ year, ingresos: money(netSum(world, trade(list, 'issued'))), egresos: money(netSum(world, trade(list, 'received'))) },
      ...{ iva_trasladado: taxes('issued', 'traslado', IVA), iva_acreditable: taxes('received', 'traslado', IVA) },
      ...{ iva_retenido_por_clientes: taxes('issued', 'retencion', IVA), iva_retenido_a_terceros: taxes('received', 'retencion', IVA) },
      ...{ isr_retenido_por_clientes: taxes('issued', 'retencion', '001'), isr_retenido_a_terceros: taxes('received', 'retencion', '001') },
      ...{ nomina: wages(({ subtotal }) => subtotal), nomina_isr: wages(({ isr_retenido }) => isr_retenido) },
    }
  })

/** `revenue-expenses`: a row for each month. */
export const revenueExpenses = (world: World) =>
  groupsBy(world, ({ fecha }) => monthOf(fecha)).map(([month, list]) => {
    const of = (direction: Direction, tipo: string) =>
      netSum(
        world,
        trade(list, direction).filter((one) => one.tipo_comprobante === tipo),
      )
    const [revenue, notes, expenses, received] = [of('issued', 'I'), -of('issued', 'E'), of('received', 'I'), -of('received', 'E')]
    const goods = netSum(
      world,
      trade(list, 'received').filter(({ uso_cfdi }) => uso_cfdi === 'G01'),
    )
    const payroll = sum(payrollOf(list).map((one) => inPesos(world, one, micros(one.subtotal))))
    const [net_revenue, net_expenses] = [revenue - notes, expenses - received]
    return {
      ...{ month, revenue: money(revenue), credit_notes: money(notes), net_revenue: money(net_revenue) },
      ...{ expenses: money(expenses), credit_notes_received: money(received), net_expenses: money(net_expenses) },
      ...{ cost_of_goods: money(goods), payroll: money(payroll), gross_profit: money(net_revenue - goods) },
      gross_margin: net_revenue <= 0n ? null : percent(net_revenue - goods, net_revenue),
      operating_result: money(net_revenue - net_expenses - payroll),
    }
  })

/** The cancelled invoices of a direction. */
export const cancelledOf = (world: World, direction: Direction, tipos: readonly string[] = ['I']): Document[] =>
  world.documents.filter(
    (one) =>
      one.kind === 'cfdi' &&
      one.estatus === 'cancelado' &&
      one.direction === direction &&
      tipos.includes(one.tipo_comprobante ?? '') &&
      !isToItself(one),
  )
const totalPesos = (world: World, list: readonly Document[]): Micros =>
  sum(list.filter((one) => isKnown(world, one)).map((one) => inPesos(world, one, micros(one.total)) * signOf(one)))

const isKnown = (world: World, one: Document): boolean => rateOf(world, one) !== null && !isTooLarge(world, one)
/** How many of these have no known amount in MXN. */
export const withoutAmount = (world: World, list: readonly Document[]): number => list.filter((one) => !isKnown(world, one)).length
/** The total of what is known of cancelled documents; null when nothing is. */
export const lostPesos = (world: World, list: readonly Document[]): string | null =>
  list.length > 0 && list.length === withoutAmount(world, list) ? null : money(totalPesos(world, list))

/** `annual-comparison`: a row for each year and month in which something was issued, received or cancelled. */
export function annualComparison(world: World) {
  const documents = populationOf(world, null, ['I', 'E'])
  const inMonth = (list: readonly Document[], month: string, direction: Direction) =>
    list.filter((one) => monthOf(one.fecha) === month && one.direction === direction)
  const cancelled = (direction: Direction) => cancelledOf(world, direction)
  const all = [...documents, ...cancelled('issued'), ...cancelled('received')]
  return [...new Set(all.map(({ fecha }) => monthOf(fecha)))].sort().map((month) => {
    const [year = '', of = ''] = month.split('-')
    const before = `${Number(year) - 1}-${of}`
    const net = (at: string, direction: Direction) => netSum(world, inMonth(documents, at, direction))
    const change = (direction: Direction) => {
      const earlier = net(before, direction)
      return earlier <= 0n ? null : percent(net(month, direction) - earlier, earlier)
    }
    const lost = (direction: Direction) => inMonth(cancelled(direction), month, direction)
    return {
      ...{ year, month: of, issued: money(net(month, 'issued')), received: money(net(month, 'received')) },
      ...{ issued_count: inMonth(documents, month, 'issued').length, received_count: inMonth(documents, month, 'received').length },
      ...{ cancelled_issued: lostPesos(world, lost('issued')), cancelled_received: lostPesos(world, lost('received')) },
      ...{ cancelled_issued_count: lost('issued').length, cancelled_received_count: lost('received').length },
      cancelled_issued_without_amount: withoutAmount(world, lost('issued')),
      cancelled_received_without_amount: withoutAmount(world, lost('received')),
      ...{ issued_change_pct: change('issued'), received_change_pct: change('received') },
    }
  })
}
