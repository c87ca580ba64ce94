import type { Ctx } from '../../platform/context.ts'
import { decimal, type Micros, times } from '../../platform/money.ts'
import { type Basis, UNMATCHED } from '../common/contract.ts'
import { percentOf, sumAll } from '../common/figures.ts'
import { type Links, linksOf, qualityLinks } from '../common/links.ts'
import { type FxExposure, type FxQuery, type FxRow, ROW_FIGURES, TOTALS } from './contract.ts'
import { openFx, readFx } from './reading.ts'

export const PATH = 'analytics/fx-exposure'

const BASIS: Omit<Basis, 'rules'> = {
  formulas: {
    issued_amount: 'Σ (subtotal − descuento) of issued I − Σ of E, in the currency; received_amount likewise',
    issued_mxn: 'issued_amount in MXN at the rates of the documents; received_mxn likewise',
    total_sales: 'Σ (subtotal − descuento) of issued I − Σ of E, of all currencies in MXN; total_purchases likewise',
    share_of_sales: 'issued_mxn ÷ total_sales; share_of_purchases: received_mxn ÷ total_purchases',
    net_open: 'open_receivable − open_payable: balances of PPD invoices as of the day',
    booked_mxn: 'Σ balance × exchange rate of the invoice, payables negative',
    current_mxn: 'net_open × current_rate',
    unrealized_gain_loss: 'current_mxn − booked_mxn',
    realized_gain_loss: 'Σ paid × (exchange rate of the payment − that of the invoice) of complements with fecha_pago in the range',
    sensitivity: 'current_mxn × 0.01, 0.05 and 0.10 (fx.sensitivity)',
  },
  notes: [
    'A rate applies from the day after its publication in the Diario Oficial (CFF 20).',
    'Invoices and balances count as they did at the end of as_of; payments, and the counts of data_quality, as they do now.',
  ],
}

/**
 * Returns, by currency, what was invoiced in a range, what is open as of a day, and what exchange rates gained. At most six D1 calls with
 * authentication. Throws Failure 404, 422 range.invalid and as_of.future.
 */
export async function getFxExposure(ctx: Ctx, query: FxQuery): Promise<FxExposure> {
  const opened = await openFx(ctx, query)
  const { insight, at } = opened
  const { rules } = insight
  const { positions, rateOf, dof_rate, unreconciled, otherParties, envelope } = await readFx(opened)
  const links = linksOf(insight, PATH, { as_of: at.day })
  const all = [...positions.values()]
  const whole = ([0, 1] as const).map((direction) => sumAll(all.map(({ pesos }) => pesos[direction])))
  const currencies = [...positions.keys()].filter((currency) => currency !== 'MXN' && positions.get(currency)!.isShown).sort()
  const parts = rules.get('fx.sensitivity')
  const data = currencies.map((currency): FxRow => {
    const { own, pesos, open, booked, realized } = positions.get(currency)!
    const rate = rateOf(currency)
    const net = open[0] - open[1]
    const current = rate && times(net, rate.rate)
    const plus = (n: number): string => decimal(times(current!, parts[n] ?? '0'))
    return {
      ...{ currency, issued_amount: decimal(own[0]), received_amount: decimal(own[1]) },
      ...{ issued_mxn: decimal(pesos[0]), received_mxn: decimal(pesos[1]) },
      ...{ share_of_sales: percentOf(pesos[0], whole[0]!), share_of_purchases: percentOf(pesos[1], whole[1]!) },
      ...{ open_receivable: decimal(open[0]), open_payable: decimal(open[1]), net_open: decimal(net), booked_mxn: decimal(booked) },
      ...{ current_rate: rate?.rate ?? null, rate_date: rate?.date ?? null, rate_source: rate?.source ?? null },
      ...{ current_mxn: inMxn(current), unrealized_gain_loss: inMxn(current === null ? null : current - booked) },
      realized_gain_loss: decimal(realized),
      sensitivity: current === null ? null : { plus_1pct: plus(0), plus_5pct: plus(1), plus_10pct: plus(2) },
      drilldown: drilldownOf(links, currency),
    }
  })
  return {
    ...envelope(BASIS, rules, {
      ...{ dof_rate, unreconciled_payments: unreconciled, other_parties: otherParties },
      drilldown: qualityLinks(links, UNMATCHED),
    }),
    as_of: at.day,
    ...{ total_sales: decimal(whole[0]!), total_purchases: decimal(whole[1]!) },
    drilldown: Object.fromEntries(TOTALS.map((figure) => [figure, links.entries(figure)])),
    missing_rates: currencies.filter((currency) => rateOf(currency) === null),
    data,
  }
}

const inMxn = (amount: Micros | null): string | null => (amount === null ? null : decimal(amount))

const drilldownOf = (links: Links, currency: string) =>
  Object.fromEntries(ROW_FIGURES.map((figure) => [figure, links.entries(figure, { currency })]))
