import { type Micros, money, percent, quotient, sum, times } from '../amounts.ts'
import type { FxRow } from '../analytics-shapes.ts'
import { openInvoices } from '../balances.ts'
import { movementsOf } from '../cash.ts'
import { countedAt, inPesos, isToItself, isTooLarge, netOf, rateOf, signOf } from '../counting.ts'
import type { Day, Direction } from '../shapes.ts'
import { newTally } from '../tally.ts'
import { type Document, dayOf, type Range, type World, within } from '../world.ts'

export interface FxQuery extends Range {
  as_of?: Day
}

const isForeign = ({ currency }: Document): boolean => currency !== null && currency !== 'MXN' && currency !== 'XXX'

/** GET /v1/analytics/fx-exposure: a row for each currency, the currencies without a rate, and the entries of `<figure>|<currency>`. */
export function fxOf(world: World, query: FxQuery) {
  const { as_of: asOf = world.today } = query
  const tally = newTally()
  const counted = countedAt(world, asOf)
  const documents = world.documents.filter(
    (one) =>
      counted.has(one.uuid) &&
      ['I', 'E'].includes(one.tipo_comprobante ?? '') &&
      one.has_xml &&
      !isToItself(one) &&
      !isTooLarge(world, one) &&
      dayOf(one.fecha) <= asOf &&
      within(query, dayOf(one.fecha)),
  )
  const open = (['issued', 'received'] as const)
    .flatMap((direction) => openInvoices(world, direction, asOf))
    .filter(({ invoice }) => isForeign(invoice))
  const pesosOf = (direction: Direction, currency: string | null) =>
    sum(
      documents
        .filter((one) => one.direction === direction && rateOf(world, one) !== null && (currency === null || one.currency === currency))
        .map((one) => inPesos(world, one, netOf(one)) * signOf(one)),
    )
  const currencies = [
    ...new Set([...documents.filter(isForeign).map(({ currency }) => currency!), ...open.map(({ invoice }) => invoice.currency!)]),
  ].sort()
  for (const one of documents.filter(isForeign)) tally.add(`${one.direction}_amount|${one.currency}`, one.uuid, netOf(one) * signOf(one))
  for (const one of documents.filter((one) => rateOf(world, one) !== null)) {
    const net = inPesos(world, one, netOf(one)) * signOf(one)
    if (isForeign(one)) tally.add(`${one.direction}_mxn|${one.currency}`, one.uuid, net)
    tally.add(one.direction === 'issued' ? 'total_sales' : 'total_purchases', one.uuid, net)
  }
  for (const { invoice, balance, pesos } of open) {
    const isIssued = invoice.direction === 'issued'
    tally.add(`${isIssued ? 'open_receivable' : 'open_payable'}|${invoice.currency}`, invoice.uuid, balance)
    tally.add(`booked_mxn|${invoice.currency}`, invoice.uuid, (pesos ?? 0n) * (isIssued ? 1n : -1n))
  }
  addRealized(world, query, asOf, tally)
  const missing_rates: string[] = []
  const rows = currencies.map((currency): Omit<FxRow, 'drilldown'> => {
    const of = (figure: string): Micros => tally.sum(`${figure}|${currency}`)
    const rate = world.rates(currency, asOf)
    if (rate === null) missing_rates.push(currency)
    const net = of('open_receivable') - of('open_payable')
    const current = rate === null ? null : times(net, rate.rate)
    const plus = (share: bigint) => money(quotient(current! * share, 100n))
    return {
      ...{ currency, issued_amount: money(of('issued_amount')), received_amount: money(of('received_amount')) },
      ...{ issued_mxn: money(of('issued_mxn')), received_mxn: money(of('received_mxn')) },
      share_of_sales: percent(pesosOf('issued', currency), pesosOf('issued', null)),
      share_of_purchases: percent(pesosOf('received', currency), pesosOf('received', null)),
      ...{ open_receivable: money(of('open_receivable')), open_payable: money(of('open_payable')), net_open: money(net) },
      ...{ booked_mxn: money(of('booked_mxn')), current_rate: rate?.rate ?? null, rate_date: rate?.date ?? null },
      ...{ rate_source: rate?.source ?? null, current_mxn: current === null ? null : money(current) },
      unrealized_gain_loss: current === null ? null : money(current - of('booked_mxn')),
      realized_gain_loss: money(of('realized_gain_loss')),
      sensitivity: current === null ? null : { plus_1pct: plus(1n), plus_5pct: plus(5n), plus_10pct: plus(10n) },
    }
  })
  const header = { missing_rates, total_sales: money(pesosOf('issued', null)), total_purchases: money(pesosOf('received', null)) }
  return { rows, header, tally }
}

/** What payments of the range brought more in MXN than their invoices were booked with. */
function addRealized(world: World, range: Range, asOf: Day, tally: ReturnType<typeof newTally>): void {
  for (const { uuid, applies_to, source, document, day, paid, own, direction } of movementsOf(world).events) {
    if (source !== 'pago' || !isForeign(document) || !within(range, day) || day > asOf || rateOf(world, document) === null) continue
    const difference = paid - inPesos(world, document, own)
    tally.add(`realized_gain_loss|${document.currency}`, uuid, direction === 'issued' ? difference : -difference, applies_to)
  }
}
