import { sql } from 'drizzle-orm'
import { own } from '../../cfdi/population/aliases.ts'
import type { Ctx } from '../../platform/context.ts'
import { decimal, type Micros } from '../../platform/money.ts'
import { type CursorScope, openCursor, paginate } from '../../platform/paging/cursor.ts'
import { addMonths } from '../../platform/time/months.ts'
import type { Basis, EntriesPage, WorstListing } from '../common/contract.ts'
import { pageOfDocuments } from '../common/document-entries.ts'
import { percentOf, sumAll } from '../common/figures.ts'
import { aggregateOf, type Insight, openEntries, openInsight } from '../common/insight.ts'
import { isLeftOut, pageOfLeftOut } from '../common/left-out.ts'
import { type Links, linksOf, qualityLinks } from '../common/links.ts'
import { worstListings } from '../common/listed.ts'
import { directionNumber } from '../common/names.ts'
import type { Concentration, ConcentrationEntriesQuery, ConcentrationQuery, ConcentrationRow } from './contract.ts'
import { addUp, type Counterparty } from './counterparties.ts'
import { rankedOf, sharesOf } from './shares.ts'
import { counterpartyStatements } from './store.ts'

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
  const places = new Map<string, { rank: number; cumulative: Micros }>()
  let cumulative = 0n
  for (const [n, { rfc, total }] of ranked.entries()) {
    cumulative += total
    places.set(rfc, { rank: n + 1, cumulative })
  }
  return (one) => {
    const { rfc, name, total, invoices, cancelled, first_issued_at, last_issued_at } = one
    const place = places.get(rfc)
    const since = (first: number, last: number) =>
      sumAll(one.months.filter(({ month }) => month > addMonths(to, -first) && month <= addMonths(to, -last)).map((some) => some.total))
    const [recent, before] = [since(months, 0), since(2 * months, months)]
    return {
      ...{ rank: place?.rank ?? null, rfc, name, total: decimal(total), share: place ? percentOf(total, base) : null },
      cumulative_share: place ? percentOf(place.cumulative, base) : null,
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
