import { type SQL, sql } from 'drizzle-orm'
import { exactBalance, openInvoices, rateWanted } from '../../cfdi/open/applications.ts'
import { exactPaidPart, ratesOfPaidPart } from '../../cfdi/open/exact-paid-part.ts'
import { paidParts } from '../../cfdi/open/paid-parts.ts'
import { own } from '../../cfdi/population/aliases.ts'
import { parseSum, sumOf } from '../../cfdi/population/population.ts'
import type { Ctx } from '../../platform/context.ts'
import { decimal, inPesos, type Micros, sumAll, times } from '../../platform/money.ts'
import { WHOLE } from '../../platform/paging/cursor.ts'
import type { DirectionNumber, Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import { type Basis, type EntriesPage, UNMATCHED } from '../common/contract.ts'
import {
  type EntryPosition,
  type EntryRow,
  isLeftOut,
  newestOf,
  pageOfDocuments,
  pageOfEntries,
  pageOfLeftOut,
  percentOf,
} from '../common/figures.ts'
import { IS_UNRATED, type Links, linksOf, qualityLinks } from '../common/insight.ts'
import { isUnmatched, pageOfUnreconciled, pairs, ratesFor } from '../common/omitted.ts'
import { type FxEntriesQuery, type FxExposure, type FxQuery, type FxRow, ROW_FIGURES, TOTALS } from './contract.ts'
import { type FxAsOf, openFx, ownNet, readFx } from './reading.ts'
import { IS_FOREIGN } from './store.ts'

const PATH = 'analytics/fx-exposure'

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
    ...WHOLE,
  }
}

const inMxn = (amount: Micros | null): string | null => (amount === null ? null : decimal(amount))

const drilldownOf = (links: Links, currency: string) =>
  Object.fromEntries(ROW_FIGURES.map((figure) => [figure, links.entries(figure, { currency })]))

type Asked = FxEntriesQuery & { as_of: string }

/** Returns a page of the documents behind a figure. At most four D1 calls with authentication. Throws Failure as `getFxExposure` does. */
export async function getFxEntries(ctx: Ctx, query: FxEntriesQuery): Promise<EntriesPage> {
  const opened = await openFx(ctx, query)
  const { insight, at, days } = opened
  const { figure } = query
  const asked = { ...query, as_of: at.day }
  if (isLeftOut(figure)) return pageOfLeftOut(insight, PATH, { ...asked, figure })
  const until = { ...insight, span: { ...insight.span, ...days } }
  if (isUnmatched(figure)) return pageOfUnreconciled(until, PATH, { ...asked, figure }, null, true)
  if (figure === 'issued_amount' || figure === 'received_amount') return pageOfInvoiced(opened, asked, figure === 'issued_amount' ? 0 : 1)
  const side = IN_MXN[figure]
  if (side !== undefined) {
    const conditions = figure.startsWith('total') ? [] : ofCurrency(asked)
    return pageOfDocuments(insight, PATH, asked, { ...days, direction: side, past: at.past, conditions })
  }
  return figure === 'realized_gain_loss' ? pageOfRealized(opened, asked) : pageOfOpen(opened, asked, figure as OpenFigure)
}

/** The direction of the figures that are net amounts in MXN. */
const IN_MXN: Partial<Record<string, DirectionNumber>> = { issued_mxn: 0, total_sales: 0, received_mxn: 1, total_purchases: 1 }

const ofCurrency = ({ currency }: Asked): SQL[] => [IS_FOREIGN, ...(currency === undefined ? [] : [sql`${own.currency} = ${currency}`])]

function pageOfInvoiced({ insight, at, days }: FxAsOf, query: Asked, direction: DirectionNumber): Promise<EntriesPage> {
  const conditions = [sql`${own.version} is not null and (${own.net_mxn} is not null or ${IS_UNRATED})`, ...ofCurrency(query)]
  const population = { ...days, direction, types: ['I', 'E'] as const, past: at.past, conditions }
  const columns = sql`${own.tipo_comprobante} as tipo, ${own.subtotal}, ${own.descuento}`
  return pageOfEntries<EntryRow & { tipo: string; subtotal: string | null; descuento: string | null }>(
    insight,
    PATH,
    query,
    (partition, after, take) => newestOf(partition, columns, population, after, take),
    (rows) => rows.map(({ tipo, subtotal, descuento }) => ownNet([tipo, subtotal, descuento])),
  )
}

type OpenFigure = 'open_receivable' | 'open_payable' | 'booked_mxn'

interface OpenEntry extends EntryRow {
  direction: DirectionNumber
  balance: string | null
  pesos: string | null
  exactRow: string | null
}

function pageOfOpen({ insight, at }: FxAsOf, query: Asked, figure: OpenFigure): Promise<EntriesPage> {
  const directions = figure === 'booked_mxn' ? ([0, 1] as const) : figure === 'open_receivable' ? ([0] as const) : ([1] as const)
  const select = (partition: Partition, after: EntryPosition | undefined, take: number): SQL | null => {
    const sides = directions.flatMap((direction) => {
      const open = openInvoices(partition, direction, at, ofCurrency(query))
      return open ? [sql`select uuid, issued_at, ${sql.raw(String(direction))} as direction, balance, pesos, exactRow from (${open})`] : []
    })
    if (sides.length === 0) return null
    return sql`select uuid, issued_at, direction, cast(balance as text) as balance, cast(pesos as text) as pesos, exactRow from (${sql.join([...sides], sql` union all `)})
      ${after ? sql`where (issued_at, uuid) < (${after[0]}, ${after[1]})` : sql``} order by issued_at desc, uuid desc limit ${sql.raw(String(take))}`
  }
  return pageOfEntries<OpenEntry>(insight, PATH, query, select, async (rows) => {
    const rateOfDay = await ratesFor(insight.ctx, (want) => {
      for (const { exactRow } of rows) if (exactRow !== null) want(rateWanted(exactRow))
    })
    return rows.map(({ direction, balance, pesos, exactRow }): Micros | null => {
      const wanted = exactRow === null ? null : rateWanted(exactRow)
      const exact =
        exactRow === null
          ? { balance: BigInt(balance!), pesos: BigInt(pesos!) }
          : exactBalance(exactRow, wanted && rateOfDay(wanted.currency, wanted.day))
      if (exact === null) return null
      if (figure !== 'booked_mxn') return exact.balance
      return exact.pesos === null ? null : direction === 0 ? exact.pesos : -exact.pesos
    })
  })
}

interface RealizedEntry extends EntryRow {
  direction: DirectionNumber
  booked: string
  paid: string
  exactRows: string | null
}

function pageOfRealized({ insight, days }: FxAsOf, query: Asked): Promise<EntriesPage> {
  const select = (partition: Partition, after: EntryPosition | undefined, take: number): SQL | null => {
    const sides = ([0, 1] as const).flatMap((direction) => {
      const parts = paidParts(partition, direction, days, null, true)
      return parts ? [sql`select *, ${sql.raw(String(direction))} as direction from (${parts})`] : []
    })
    const columns = sql`max(direction) as direction, ${sumOf('booked')} as booked, ${sumOf('paid')} as paid,
      json_group_array(exactRow) filter (where exactRow is not null) as exactRows`
    const isMeant = query.currency === undefined ? sql.raw(`not ${inPesos('currency')}`) : sql`currency = ${query.currency}`
    return pairs(columns, sides, sql`reason is null and ${isMeant}`, after, take)
  }
  return pageOfEntries<RealizedEntry>(insight, PATH, query, select, async (rows) => {
    const parsed = rows.map((row) => ({ ...row, exactRows: JSON.parse(row.exactRows ?? '[]') as string[] }))
    const rateOfDay = await ratesFor(insight.ctx, (want) => {
      for (const { exactRows } of parsed) for (const exactRow of exactRows) ratesOfPaidPart(exactRow).forEach(want)
    })
    return parsed.map(({ direction, booked, paid, exactRows }) => {
      let gain = parseSum(paid) - parseSum(booked)
      for (const exactRow of exactRows) {
        const exact = exactPaidPart(exactRow, rateOfDay)
        if (exact.paid !== null && exact.booked !== null) gain += exact.paid - exact.booked
      }
      return direction === 0 ? gain : -gain
    })
  })
}
