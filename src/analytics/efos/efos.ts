import { type SQL, sql } from 'drizzle-orm'
import { addBusinessDays, deadlineBasisOf } from '../../authority/port/business-days.ts'
import { byDay } from '../../authority/rules/by-day.ts'
import type { Rules } from '../../authority/rules/dated.ts'
import { own } from '../../cfdi/population/aliases.ts'
import { SITUACIONES } from '../../lists/catalog.ts'
import { listedOf } from '../../lists/listed/counterparties.ts'
import { listedAs } from '../../lists/listed/listed.ts'
import { publishedOn } from '../../lists/listing-status.ts'
import { listedAmong } from '../../lists/listings/listed-among.ts'
import type { Listing } from '../../lists/listings/listing.ts'
import type { Ctx } from '../../platform/context.ts'
import { inlined, quoted } from '../../platform/db/statement.ts'
import { decimal, times } from '../../platform/money.ts'
import { type CursorScope, openCursor, paginate } from '../../platform/paging/cursor.ts'
import { addMonths } from '../../platform/time/months.ts'
import { pastDay } from '../../platform/time/past-day.ts'
import { type Basis, UNMATCHED } from '../common/contract.ts'
import { countDofRates } from '../common/dof-rates.ts'
import { percentOf, sumAll } from '../common/figures.ts'
import { aggregateOf, assertBegun, type Insight, openInsight } from '../common/insight.ts'
import { type Links, linksOf, qualityLinks } from '../common/links.ts'
import { directionNumber } from '../common/names.ts'
import { unmatchedStatements } from '../common/omitted.ts'
import { EFOS_FIGURES, type EfosExposure, type EfosQuery, type EfosRow } from './contract.ts'
import { type Exposure, exposuresOf, type FoundRows } from './exposure.ts'
import { detailStatements, type EfosReading, ivaStatements, type ListedOn, openStatements, totalStatements } from './store.ts'

export const PATH = 'analytics/efos-exposure'
export const SOURCE = 'sat_69b'
/** How many months there are by default: those of which the authority can still ask. */
const MONTHS = 120

const BASIS: Omit<Basis, 'rules'> = {
  formulas: {
    amount: 'Σ (subtotal − descuento) of I − Σ of E, in MXN',
    iva_acreditado: 'IVA of the cash events, up to as_of, of the documents of the range',
    isr_effect: 'Σ isr.company of each year × amount of purchases of the year, when the RFC is a company’s',
    paid_amount: 'Σ total of I − Σ of E, in MXN, − unpaid_amount',
    unpaid_amount: 'Σ balances as of as_of, at the rate of each invoice',
    before_listing_amount: 'amount of documents before the first publication of the first step; after_listing_amount is the rest',
    correction_deadline: 'definitivo_dof_at + efos.correction_business_days business days',
    active_amount: 'Σ amount of presunto and definitivo',
    share_of_purchases: 'active_amount ÷ total_purchases; share_of_sales: of customers, ÷ total_sales',
  },
  notes: [
    'Documents count as they did at the end of as_of; cash events, and the counts of data_quality, as they do now.',
    'With direction=issued the figures are of customers: iva_acreditado is the IVA that was collected from them.',
    'A correction_deadline whose deadline_basis is estimated can be earlier than the true one.',
  ],
}

/** Opens the range: the last ten years by default, up to the day of `as_of`. Throws Failure 422 range.invalid and as_of.future. */
export async function openEfos(ctx: Ctx, query: Omit<EfosQuery, 'limit' | 'cursor'>): Promise<{ insight: Insight; reading: EfosReading }> {
  const past = pastDay(ctx, query.as_of)
  const opened = await openInsight(ctx, query)
  const from = query.from ?? addMonths(opened.span.to.slice(0, 7), 1 - MONTHS)
  const day = past ?? opened.today
  const { first, last } = opened.span
  const direction = directionNumber(query.direction)
  const span = { ...opened.span, from, first: query.from === undefined ? `${from}-01` : first, last: last < day ? last : day }
  assertBegun({ span }, query.as_of)
  // Only what is deducted can be lost: a sale to a listed customer has no such effect.
  const isDeducted = direction === 1 && [...opened.ledger.rfc].length === 12
  const rates = isDeducted ? byDay(opened.rules, inlined(sql`${own.fecha}`), span, (on) => quoted(on.get('isr.company')), 'year') : null
  return {
    insight: { ...opened, rules: opened.rules.on(day), span },
    reading: {
      first: span.first,
      last: span.last,
      direction,
      day,
      past,
      isDeducted,
      isr: rates === null || rates.startsWith("'") ? null : sql.raw(rates),
    },
  }
}

/** The listings of article 69-B among some RFCs as of a day, with the first day of each. One call to the control database. */
export async function listedOn(
  { db, organization }: Ctx,
  rfcs: readonly string[],
  day: string,
): Promise<{ listings: Map<string, Listing>; days: ListedOn }> {
  const { listings } = await listedAmong({ db, organization_id: organization.id }, rfcs, day, [SOURCE])
  const found = new Map([...listings].flatMap(([rfc, [one]]) => (one?.situacion ? [[rfc, one] as const] : [])))
  return { listings: found, days: [...found].map(([rfc, { history }]) => [rfc, (history[0] && publishedOn(history[0])) ?? '']) }
}

/** What reads all counterparties, and the listed ones. */
function statementsOf(
  insight: Insight,
  reading: EfosReading,
  days: ListedOn,
): { statements: SQL[]; parse: (found: unknown[][]) => FoundRows } {
  const { ledger } = insight
  const details = days.length === 0 ? [] : [detailStatements, openStatements, ivaStatements].map((read) => read(ledger, reading, days))
  const lists = [totalStatements(ledger, reading), unmatchedStatements(insight), ...details]
  const parse = (found: unknown[][]): FoundRows => {
    const left = [...found]
    const [total = [], unmatched = [], detail = [], open = [], iva = []] = lists.map((list) => left.splice(0, list.length).flat())
    return { total, unmatched, detail, open, iva } as FoundRows
  }
  return { statements: lists.flat(), parse }
}

/**
 * Returns what was invoiced with counterparties on the list of article 69-B as of a day: the header, and a page of counterparties, the largest
 * amount first. At most six D1 calls beside authentication. Throws Failure 404, 422 range.invalid and as_of.future, 400 for a foreign cursor.
 */
export async function getEfosExposure(ctx: Ctx, query: EfosQuery): Promise<EfosExposure> {
  const { limit, cursor, direction } = query
  const { insight, reading } = await openEfos(ctx, query)
  const { ledger, rules } = insight
  const scope: CursorScope = { list: PATH, filters: { ...query, fiscal_entity_id: ledger.fiscal_entity_id } }
  const after = (await openCursor(ctx, scope, cursor)) as readonly [amount: string, rfc: string] | undefined
  const { listings, days } = await listedOn(ctx, listedAs(await listedOf(ctx), [SOURCE]), reading.day)
  const reads = statementsOf(insight, reading, days)
  const { found, envelope, counts } = await aggregateOf(insight, reads.statements)
  const isrOn = (day: string | null) => (reading.isDeducted ? rules.in('year', day ?? reading.last).get('isr.company') : '0')
  const { total, omitted, exposures } = await exposuresOf(ctx, reads.parse(found), isrOn)
  // What counted on a past day is not what counts now.
  const dof_rate = reading.past === null ? omitted.dof_rate : await countDofRates(insight, counts.missing_rate)
  const effectOf = (some: readonly Exposure[]): string | null => {
    if (!reading.isDeducted) return null
    const rates = Map.groupBy(
      some.flatMap(({ taxed }) => [...taxed]),
      ([rate]) => rate,
    )
    return decimal(sumAll([...rates].map(([rate, list]) => times(sumAll(list.map(([, amount]) => amount)), rate))))
  }
  const shown = exposures.filter(({ amount, rfc }) => {
    if (after === undefined) return true
    return amount === BigInt(after[0]) ? rfc > after[1] : amount < BigInt(after[0])
  })
  const links = efosLinks(insight, query)
  const row = (one: Exposure): EfosRow => ({
    ...rowOf(one, listings.get(one.rfc)!, rules),
    isr_effect: effectOf([one]),
    drilldown: Object.fromEntries(EFOS_FIGURES.map((figure) => [figure, links.entries(figure, { rfc: one.rfc })])),
  })
  const page = await paginate(ctx, scope, limit, shown.slice(0, limit + 1), ({ amount, rfc }) => [amount.toString(), rfc], row)
  const amountOf = (some: readonly Exposure[]) => sumAll(some.map(({ amount }) => amount))
  const active = amountOf(exposures.filter(({ rfc }) => listings.get(rfc)!.is_active))
  return {
    ...envelope(BASIS, rules, { ...omitted, dof_rate, drilldown: qualityLinks(links, UNMATCHED) }),
    as_of: reading.day,
    direction,
    by_situacion: SITUACIONES.map((situacion) => {
      const some = exposures.filter(({ rfc }) => listings.get(rfc)!.situacion === situacion)
      return {
        ...{ situacion, counterparty_count: some.length, invoice_count: some.reduce((sum, { invoices }) => sum + invoices, 0) },
        ...{
          amount: decimal(amountOf(some)),
          iva_acreditado: decimal(sumAll(some.map(({ iva }) => iva))),
          isr_effect: effectOf(some),
        },
      }
    }),
    active_amount: decimal(active),
    ...wholeOf(direction, decimal(total), percentOf(active, total)),
    drilldown: Object.fromEntries(
      ['active_amount', direction === 'received' ? 'total_purchases' : 'total_sales'].map((figure) => [figure, links.entries(figure)]),
    ),
    ...page,
  }
}

const wholeOf = (direction: EfosQuery['direction'], total: string, share: string | null) =>
  direction === 'received'
    ? { total_purchases: total, share_of_purchases: share, total_sales: null, share_of_sales: null }
    : { total_purchases: null, share_of_purchases: null, total_sales: total, share_of_sales: share }

const efosLinks = (insight: Insight, { direction, as_of }: Pick<EfosQuery, 'direction' | 'as_of'>): Links =>
  linksOf(insight, PATH, { direction, ...(as_of === undefined ? {} : { as_of }) })

function rowOf(exposure: Exposure, listing: Listing, rules: Rules): Omit<EfosRow, 'isr_effect' | 'drilldown'> {
  const { rfc, name, invoices, amount, before, after, iva, paid, unpaid } = exposure
  const { situacion, history, is_active } = listing
  const step = (...names: (string | null)[]) => history.findLast((one) => names.includes(one.situacion))
  const [definitive, resolved] = [step('definitivo')?.dof_at ?? null, step('desvirtuado', 'sentencia_favorable')]
  const deadline =
    situacion === 'definitivo' && definitive !== null
      ? addBusinessDays(definitive, rules.on(definitive).get('efos.correction_business_days'))
      : null
  return {
    ...{ rfc, name: name ?? listing.name, situacion: situacion!, presunto_dof_at: step('presunto')?.dof_at ?? null },
    ...{ definitivo_dof_at: definitive, resolved_at: resolved?.dof_at ?? resolved?.sat_at ?? null },
    ...{ invoice_count: invoices, amount: decimal(amount), iva_acreditado: decimal(iva) },
    ...{ paid_amount: decimal(paid), unpaid_amount: decimal(unpaid) },
    ...{ before_listing_amount: decimal(before), after_listing_amount: decimal(after) },
    correction_deadline: deadline,
    deadline_basis: deadline === null ? null : deadlineBasisOf(definitive!, deadline),
    is_active,
  }
}
