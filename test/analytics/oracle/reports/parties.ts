import { money, percent, ratio, sum } from '../amounts.ts'
import { openInvoices, punctuality } from '../balances.ts'
import { populationOf } from '../counting.ts'
import { worstAt } from '../lists.ts'
import type { Direction } from '../shapes.ts'
import { compare, type Document, dayOf, daysBetween, monthOf, nameOf, type World } from '../world.ts'
import { cancelledOf, lostPesos, netSum, withoutAmount } from './sums.ts'

/** `counterparty-network`: a row for each counterparty, the largest sum of both directions first. */
export function counterpartyNetwork(world: World) {
  const documents = populationOf(world, null, ['I', 'E'])
  const of = (list: readonly Document[], direction: Direction) => list.filter((one) => one.direction === direction)
  const lost = [...cancelledOf(world, 'issued'), ...cancelledOf(world, 'received')]
  const totals = { issued: netSum(world, of(documents, 'issued')), received: netSum(world, of(documents, 'received')) }
  return [...Map.groupBy(documents, ({ counterparty }) => counterparty.rfc)]
    .map(([rfc, list]) => ({ rfc, list, issued: netSum(world, of(list, 'issued')), received: netSum(world, of(list, 'received')) }))
    .sort((a, b) => compare([-(a.issued + a.received), a.rfc], [-(b.issued + b.received), b.rfc]))
    .map(({ rfc, list, issued, received }) => {
      const days = list.map(({ fecha }) => dayOf(fecha)).sort()
      const [isCustomer, isSupplier] = [of(list, 'issued').length > 0, of(list, 'received').length > 0]
      const count = (tipo: string) => list.filter(({ tipo_comprobante }) => tipo_comprobante === tipo).length
      return {
        ...{ rfc, name: nameOf(list, rfc), relation: isCustomer && isSupplier ? 'both' : isCustomer ? 'customer' : 'supplier' },
        ...{ issued: money(issued), received: money(received) },
        ...{ issued_share: percent(issued, totals.issued), received_share: percent(received, totals.received) },
        ...{ invoice_count: count('I'), credit_note_count: count('E') },
        cancelled_count: lost.filter(({ counterparty }) => counterparty.rfc === rfc).length,
        ...{ first_day: days[0]!, last_day: days.at(-1)!, active_months: new Set(days.map(monthOf)).size },
        blacklist: worstAt(world, rfc, world.today),
      }
    })
}

const REASONS = ['01', '02', '03', '04', 'unknown']

/** `cancellations`: a row for each direction and reason. */
export const cancellations = (world: World) =>
  (['issued', 'received'] as const).flatMap((direction) => {
    const all = cancelledOf(world, direction, ['I', 'E'])
    return REASONS.flatMap((reason) => {
      const list = all.filter(({ cancellation_reason }) => (cancellation_reason ?? 'unknown') === reason)
      if (list.length === 0) return []
      const dated = list.filter(({ cancelled_at }) => cancelled_at !== null)
      const lags = dated.map((one) => daysBetween(dayOf(one.fecha), dayOf(one.cancelled_at!)))
      return [
        {
          ...{ direction, reason, count: list.length, amount: lostPesos(world, list), without_amount: withoutAmount(world, list) },
          share: percent(BigInt(list.length), BigInt(all.length)),
          lag_days: lags.length === 0 ? null : ratio(BigInt(lags.reduce((a, b) => a + b, 0)), BigInt(lags.length), 2),
          after_month_close: dated.filter((one) => monthOf(one.cancelled_at!) > monthOf(one.fecha)).length,
        },
      ]
    })
  })

/** `payment-behavior`: a row for each direction and counterparty with PPD invoices, the largest paid amount first. */
export const paymentBehavior = (world: World) =>
  (['issued', 'received'] as const).flatMap((direction) => {
    const invoices = populationOf(world, null, ['I']).filter((one) => one.direction === direction && one.metodo_pago === 'PPD')
    const open = openInvoices(world, direction, world.today).filter(({ pesos }) => pesos !== null)
    return [...Map.groupBy(invoices, ({ counterparty }) => counterparty.rfc)]
      .map(([rfc, list]) => ({ rfc, list, ...punctuality(world, list, { after: null, to: world.today }) }))
      .sort((a, b) => compare([-a.paid, a.rfc], [-b.paid, b.rfc]))
      .map(({ rfc, list, paid, weighted, onTime, count, invoicesPaid }) => {
        const owed = open.filter(({ invoice }) => invoice.counterparty.rfc === rfc)
        return {
          ...{ direction, rfc, name: nameOf(list, rfc), paid: money(paid), payment_count: count, invoice_count: list.length },
          weighted_days_to_pay: weighted === null ? null : ratio(weighted, 100n, 2),
          on_time_rate: percent(onTime, paid),
          average_installments: invoicesPaid === 0 ? null : ratio(BigInt(count), BigInt(invoicesPaid), 2),
          outstanding: money(sum(owed.map(({ pesos }) => pesos!))),
          overdue: money(sum(owed.filter(({ due }) => due < world.today).map(({ pesos }) => pesos!))),
        }
      })
  })
