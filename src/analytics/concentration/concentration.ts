import { sql } from 'drizzle-orm'
import type { Rules } from '../../authority/rules/dated.ts'
import { own } from '../../cfdi/population/aliases.ts'
import { parseSum } from '../../cfdi/population/population.ts'
import type { Ctx, System } from '../../platform/context.ts'
import { decimal, type Micros, sumAll } from '../../platform/money.ts'
import { type CursorScope, openCursor, paginate } from '../../platform/paging/cursor.ts'
import { addMonths, offsetText } from '../../platform/time/months.ts'
import { GENERIC_RFCS } from '../../taxpayers/rfc.ts'
import type { Basis, EntriesPage, WorstListing } from '../common/contract.ts'
import { isLeftOut, pageOfDocuments, pageOfLeftOut, percentOf, quotientText } from '../common/figures.ts'
import {
  aggregateOf,
  type Insight,
  inPesos,
  type Links,
  linksOf,
  openEntries,
  openInsight,
  parseUnrated,
  qualityLinks,
  ratesOf,
  type Unrated,
} from '../common/insight.ts'
import { directionNumber, nameOf, worstListings } from '../common/omitted.ts'
import type { Concentration, ConcentrationEntriesQuery, ConcentrationQuery, ConcentrationRow } from './contract.ts'
import { type CancelledRow, type CounterpartyRow, counterpartyStatements } from './store.ts'

/** The totals of a counterparty, as issuer or receiver, in a range. Amounts are micros of MXN, before taxes. */
interface Counterparty {
  rfc: string
  name: string | null
  total: Micros
  invoices: number
  cancelled: number
  first_issued_at: string | null
  last_issued_at: string | null
  /** By month, ascending. */
  months: { month: string; total: Micros; invoices: number }[]
}

interface Known {
  months: Map<string, { total: Micros; invoices: number }>
  /** issued_at, UUID and name. */
  name: string
  first: number
  last: number
  cancelled: number
  documents: number
}

const SCALE = 10_000
const HALF = 5_000

const timeOf = (order: number): string => {
  const offset = (order % SCALE) - HALF
  const seconds = Math.floor(order / SCALE)
  return `${new Date((seconds + offset * 60) * 1_000).toISOString().slice(0, 19)}${offsetText(offset)}`
}

function addMonth({ months }: Known, month: string, total: Micros, invoices: number): void {
  const known = months.get(month) ?? { total: 0n, invoices: 0 }
  months.set(month, { total: known.total + total, invoices: known.invoices + invoices })
}

/**
 * Adds up the rows of `counterpartyStatements`. Documents that state no exchange rate are converted at the published one; `dof_rate` is how
 * many these are. At most one D1 call.
 */
async function addUp(system: System, found: readonly unknown[][]): Promise<{ counterparties: Counterparty[]; dof_rate: number }> {
  const all = new Map<string, Known>()
  const of = (rfc: string): Known => {
    const known = all.get(rfc) ?? { months: new Map(), name: '', first: Number.POSITIVE_INFINITY, last: 0, cancelled: 0, documents: 0 }
    all.set(rfc, known)
    return known
  }
  const unrated: (Unrated & { rfc: string })[] = []
  for (const row of found.flat() as (CounterpartyRow | CancelledRow)[]) {
    const known = of(row.rfc)
    if ('cancelled' in row) known.cancelled += row.cancelled
    else {
      for (const one of parseUnrated(row.unrated)) unrated.push({ ...one, rfc: row.rfc })
      for (const line of row.months?.split(';') ?? []) {
        const [month = '', invoices, income = '0', credit = '0'] = line.split('=')
        addMonth(known, month, parseSum(income) - parseSum(credit), Number(invoices))
      }
      if (row.months !== null) known.documents++
      if (row.name !== null && row.name > known.name) known.name = row.name
      known.first = Math.min(known.first, row.first ?? known.first)
      known.last = Math.max(known.last, row.last ?? 0)
    }
  }
  const rates = await ratesOf(system, unrated)
  let dof_rate = 0
  for (const [n, { rfc, uuid, tipo, day, issued_at, utc_offset, name, net }] of unrated.entries()) {
    const [known, amount, order] = [of(rfc), inPesos(net, rates[n] ?? null), issued_at * SCALE + utc_offset + HALF]
    if (amount === null) continue
    const isInvoice = tipo === 'I'
    dof_rate++
    known.documents++
    addMonth(known, day.slice(0, 7), isInvoice ? amount : -amount, isInvoice ? 1 : 0)
    const named = `${issued_at}${uuid}${name}`
    if (name !== null && named > known.name) known.name = named
    if (isInvoice) [known.first, known.last] = [Math.min(known.first, order), Math.max(known.last, order)]
  }
  const counterparties = [...all].flatMap(([rfc, known]) => (known.documents === 0 ? [] : [counterpartyOf(rfc, known)]))
  return { counterparties: counterparties.sort(byTotal), dof_rate }
}

function counterpartyOf(rfc: string, { months, name, first, last, cancelled }: Known): Counterparty {
  const sorted = [...months].sort(([a], [b]) => (a < b ? -1 : 1)).map(([month, sums]) => ({ month, ...sums }))
  return {
    rfc,
    name: nameOf(name),
    total: sumAll(sorted.map(({ total }) => total)),
    invoices: sorted.reduce((sum, { invoices }) => sum + invoices, 0),
    cancelled,
    first_issued_at: last === 0 ? null : timeOf(first),
    last_issued_at: last === 0 ? null : timeOf(last),
    months: sorted,
  }
}

/** The largest total first, then by RFC. */
const byTotal = (a: Counterparty, b: Counterparty): number => (a.total === b.total ? (a.rfc < b.rfc ? -1 : 1) : a.total > b.total ? -1 : 1)

const WHOLE = 10_000n

/** The Herfindahl-Hirschman index of totals above zero, 0 to 10,000, rounded half up once. Null without any. */
export function hhiOf(totals: readonly Micros[]): number | null {
  const base = sumAll(totals)
  const index = quotientText(sumAll(totals.map((one) => one * one)) * WHOLE, base * base, 0)
  return index === null ? null : Number(index)
}

/** The counterparties that take part in shares, in their order. */
export const rankedOf = <T extends { rfc: string; total: Micros }>(counterparties: readonly T[], isGenericIncluded: boolean): T[] =>
  counterparties.filter(({ rfc, total }) => total > 0n && (isGenericIncluded || !GENERIC_RFCS.includes(rfc)))

/** How concentrated the totals are, the largest first. */
function sharesOf(totals: readonly Micros[], rules: Rules) {
  const base = sumAll(totals)
  const top = (count: number) => percentOf(sumAll(totals.slice(0, count)), base)
  const hhi = hhiOf(totals)
  const { moderate, high } = rules.get('concentration.levels')
  return {
    base,
    hhi,
    effective_n: hhi === null ? null : quotientText(WHOLE, BigInt(hhi), 2),
    ...{ top1_share: top(1), top3_share: top(3), top5_share: top(5), top10_share: top(10) },
    level: hhi === null ? null : hhi < moderate ? ('low' as const) : hhi <= high ? ('moderate' as const) : ('high' as const),
  }
}

const PATH = 'cfdi/concentration'

const BASIS: Omit<Basis, 'rules'> = {
  formulas: {
    total: 'Σ (subtotal − descuento) of I − Σ of E, in MXN',
    concentration_total: 'Σ total of the rows with a rank',
    share: 'total ÷ concentration_total',
    hhi: 'Σ total² × 10000 ÷ concentration_total², of the rows with a rank',
    effective_n: '10000 ÷ hhi',
    trend_pct:
      'total of the last months of the range ÷ that of as many months before − 1 (concentration.trend_months); null when the range has fewer months',
    cancelled_rate: 'cancelled I ÷ (invoice_count + cancelled I)',
  },
  notes: [
    'A credit note counts in its own month and for its own counterparty.',
    'Rows with a total of zero or less, and generic RFCs unless include_generic is true, take no part in shares.',
  ],
}

type Own = Pick<ConcentrationQuery, 'direction' | 'include_generic'>

const ownLinks = (insight: Insight, { direction, include_generic }: Own): Links =>
  linksOf(insight, PATH, { direction, ...(include_generic === 'true' ? { include_generic } : {}) })

/**
 * Returns how the net amounts of a direction are divided among counterparties: the header of the whole range, and a page of counterparties,
 * the largest first. At most five D1 calls beside authentication. Throws Failure 404, 422 range.invalid and 400 for a foreign cursor.
 */
export async function getConcentration(ctx: Ctx, query: ConcentrationQuery): Promise<Concentration> {
  const { limit, cursor, direction, include_generic } = query
  const insight = await openInsight(ctx, query)
  const { span, rules, ledger } = insight
  const scope: CursorScope = { list: PATH, filters: { ...query, fiscal_entity_id: ledger.fiscal_entity_id } }
  const after = (await openCursor(ctx, scope, cursor)) as readonly [total: string, rfc: string] | undefined
  const { found, envelope } = await aggregateOf(insight, counterpartyStatements(ledger, directionNumber(direction), span))
  const { counterparties, dof_rate } = await addUp(ctx, found)
  const ranked = rankedOf(counterparties, include_generic === 'true')
  const { base, ...shares } = sharesOf(
    ranked.map(({ total }) => total),
    rules,
  )
  const links = ownLinks(insight, query)
  const shown = counterparties.filter((one) => after === undefined || isAfter(one, after)).slice(0, limit + 1)
  const listed = await worstListings(
    ctx,
    shown.slice(0, limit).map(({ rfc }) => rfc),
  )
  const rowOf = rowsOf({
    ranked,
    base,
    listed,
    links,
    months: rules.get('concentration.trend_months'),
    from: span.first.slice(0, 7),
    to: span.last.slice(0, 7),
  })
  const page = await paginate(ctx, scope, limit, shown, ({ rfc, total }) => [total.toString(), rfc], rowOf)
  return {
    ...envelope(BASIS, rules, { dof_rate, drilldown: qualityLinks(links) }),
    direction,
    total: decimal(sumAll(counterparties.map(({ total }) => total))),
    concentration_total: decimal(base),
    counterparty_count: counterparties.length,
    ...shares,
    drilldown: { total: links.entries('total') },
    ...page,
  }
}

const isAfter = ({ total, rfc }: Counterparty, [than, last]: readonly [string, string]): boolean =>
  total === BigInt(than) ? rfc > last : total < BigInt(than)

/** Returns a page of the documents behind a figure. At most two D1 calls beside authentication. Throws Failure as `getConcentration` does. */
export async function getConcentrationEntries(ctx: Ctx, query: ConcentrationEntriesQuery): Promise<EntriesPage> {
  const insight = await openEntries(ctx, query)
  const { figure, direction, rfc } = query
  if (isLeftOut(figure)) return pageOfLeftOut(insight, PATH, { ...query, figure })
  const conditions = figure === 'invoice_count' ? [sql`${own.tipo_comprobante} = 'I'`] : []
  return pageOfDocuments(insight, PATH, query, {
    ...insight.span,
    direction: directionNumber(direction),
    counterparty: rfc,
    conditions,
  })
}

interface Whole {
  ranked: readonly Counterparty[]
  base: Micros
  listed: ReadonlyMap<string, WorstListing>
  links: Links
  /** How many months a trend compares, and the first and the last month of the range. */
  months: number
  from: string
  to: string
}

function rowsOf({ ranked, base, listed, links, months, from, to }: Whole): (one: Counterparty) => ConcentrationRow {
  const ranks = new Map<string, { rank: number; cumulative: Micros }>()
  let cumulative = 0n
  for (const [n, { rfc, total }] of ranked.entries()) {
    cumulative += total
    ranks.set(rfc, { rank: n + 1, cumulative })
  }
  return (one) => {
    const { rfc, name, total, invoices, cancelled, first_issued_at, last_issued_at } = one
    const rank = ranks.get(rfc)
    const since = (first: number, last: number) =>
      sumAll(one.months.filter(({ month }) => month > addMonths(to, -first) && month <= addMonths(to, -last)).map((some) => some.total))
    const [recent, before] = [since(months, 0), since(2 * months, months)]
    return {
      ...{ rank: rank?.rank ?? null, rfc, name, total: decimal(total), share: rank ? percentOf(total, base) : null },
      cumulative_share: rank ? percentOf(rank.cumulative, base) : null,
      ...{ invoice_count: invoices, first_issued_at, last_issued_at },
      active_months: one.months.filter((some) => some.invoices > 0).length,
      trend_pct: before > 0n && from <= addMonths(to, 1 - 2 * months) ? percentOf(recent - before, before) : null,
      cancelled_rate: percentOf(BigInt(cancelled), BigInt(invoices + cancelled)),
      blacklist: listed.get(rfc) ?? null,
      by_month: one.months.map((some) => ({ month: some.month, total: decimal(some.total) })),
      drilldown: {
        total: links.entries('total', { rfc }),
        invoice_count: links.entries('invoice_count', { rfc }),
        ...Object.fromEntries(one.months.map(({ month }) => [`by_month.${month}`, links.entries('total', { rfc, month })])),
      },
    }
  }
}
