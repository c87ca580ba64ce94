import { type SQL, sql } from 'drizzle-orm'
import { addBusinessDays, deadlineBasisOf } from '../../authority/port/business-days.ts'
import { byDay } from '../../authority/rules/by-day.ts'
import type { Rules } from '../../authority/rules/dated.ts'
import type { ExactEvent } from '../../cfdi/cash/exact-amounts.ts'
import { exactBalance, rateWanted } from '../../cfdi/open/applications.ts'
import { own } from '../../cfdi/population/aliases.ts'
import { parseSum } from '../../cfdi/population/population.ts'
import { publishedOn, SITUACIONES } from '../../lists/catalog.ts'
import { listedOf } from '../../lists/listed/counterparties.ts'
import { listedAs } from '../../lists/listed/listed.ts'
import { type Listing, listedAmong } from '../../lists/listings/listing.ts'
import type { Ctx, System } from '../../platform/context.ts'
import { inlined, quoted, readAll } from '../../platform/db/statement.ts'
import { decimal, type Micros, sumAll, times } from '../../platform/money.ts'
import { type CursorScope, openCursor, paginate } from '../../platform/paging/cursor.ts'
import { addMonths } from '../../platform/time/months.ts'
import { pastDay } from '../../platform/time/past-day.ts'
import { partitionsToRead } from '../../taxpayers/visibility/scoped-ledger.ts'
import { type Basis, type EntriesPage, UNMATCHED } from '../common/contract.ts'
import {
  type AmountRow,
  amountsOfDocuments,
  documentsAfter,
  type EntryRow,
  isLeftOut,
  pageOfDocuments,
  pageOfEntries,
  pageOfLeftOut,
  percentOf,
} from '../common/figures.ts'
import {
  aggregateOf,
  assertBegun,
  countDofRates,
  type Insight,
  inPesos,
  type Links,
  linksOf,
  openInsight,
  parseUnrated,
  qualityLinks,
  type Unrated,
} from '../common/insight.ts'
import {
  directionNumber,
  exactAmountsReader,
  exactRowsOf,
  isUnmatched,
  ivaOf,
  nameOf,
  pageOfUnmatched,
  type UnmatchedRow,
  unmatchedOf,
  unmatchedStatements,
} from '../common/omitted.ts'
import { EFOS_FIGURES, EFOS_TOTALS, type EfosEntriesQuery, type EfosExposure, type EfosQuery, type EfosRow } from './contract.ts'
import {
  type DetailRow,
  detailStatements,
  type EfosReading,
  EXACT_EVENT,
  eventsOf,
  type IvaRow,
  ivaStatements,
  type ListedOn,
  type OpenSum,
  openOf,
  openStatements,
  type TotalRow,
  totalStatements,
} from './store.ts'

/** The totals of a counterparty, as issuer or receiver, in micros of MXN. */
interface Exposure {
  rfc: string
  name: string | null
  invoices: number
  amount: Micros
  before: Micros
  after: Micros
  iva: Micros
  paid: Micros
  unpaid: Micros
  /** The amount by the rate of ISR of the years of its documents, as decimal text. */
  taxed: Map<string, Micros>
}

/** The rows of the statements of the same names. */
interface FoundRows {
  total: TotalRow[]
  detail: DetailRow[]
  open: OpenSum[]
  iva: IvaRow[]
  unmatched: UnmatchedRow[]
}

const listOf = (text: string | null): unknown[] => JSON.parse(`[${text ?? ''}]`) as unknown[]
const NOTHING: Omit<Exposure, 'rfc' | 'taxed'> = {
  name: null,
  invoices: 0,
  amount: 0n,
  before: 0n,
  after: 0n,
  iva: 0n,
  paid: 0n,
  unpaid: 0n,
}

/**
 * Adds up the rows of all counterparties (`total`), and of the listed ones. Documents that state no exchange rate are converted at the
 * published one; `omitted` counts these, and whatever matches no invoice. `isrOn` is the rate of ISR of the year of a day. At most one D1
 * call.
 */
async function exposuresOf(
  system: System,
  { total: rows, unmatched, detail, open, iva }: FoundRows,
  isrOn: (day: string | null) => string,
) {
  const all = rows.flatMap((row) => parseUnrated(row.unrated))
  const unrated = detail.flatMap((row) => parseUnrated(row.unrated).map((one) => ({ ...one, rfc: row.rfc, is_before: row.is_before })))
  const balances = open.flatMap(({ rfc, exactRow }) => listOf(exactRow).map((one) => ({ rfc, exactRow: JSON.stringify(one) })))
  const events = iva.flatMap(({ rfc, exactRow }) => (listOf(exactRow) as ExactEvent[]).map((one) => ({ rfc, ...one })))
  const { outcomeOf, rateOfDay } = await exactAmountsReader(
    system,
    [...events, ...exactRowsOf(unmatched).map(([, event]) => event)],
    [...all, ...balances.flatMap(({ exactRow }) => rateWanted(exactRow) ?? [])],
  )

  const found = new Map<string, Exposure & { documents: number; named: string }>()
  const of = (rfc: string) => {
    const known = found.get(rfc) ?? { rfc, ...NOTHING, taxed: new Map(), documents: 0, named: '' }
    found.set(rfc, known)
    return known
  }
  const add = (one: Exposure, amount: Micros, isr: string): void => {
    one.amount += amount
    one.taxed.set(isr, (one.taxed.get(isr) ?? 0n) + amount)
  }
  for (const { rfc, is_before, isr_rate, income, credit, total_income, total_credit, invoices, documents, name } of detail) {
    const one = of(rfc)
    const amount = parseSum(income) - parseSum(credit)
    add(one, amount, isr_rate ?? isrOn(null))
    one[is_before === 1 ? 'before' : 'after'] += amount
    one.paid += parseSum(total_income) - parseSum(total_credit)
    one.invoices += invoices
    one.documents += documents
    if (name !== null && name > one.named) one.named = name
  }
  const inMxn = ({ tipo, day, currency, net, total: own }: Unrated): { amount: Micros; whole: Micros } | null => {
    const rate = rateOfDay(currency, day)
    const [amount, whole] = [inPesos(net, rate), inPesos(own, rate)]
    return amount === null || whole === null ? null : tipo === 'E' ? { amount: -amount, whole: -whole } : { amount, whole }
  }
  for (const document of unrated) {
    const { rfc, is_before, tipo, issued_at, uuid, name, day } = document
    const pesos = inMxn(document)
    if (pesos === null) continue
    const one = of(rfc)
    one.documents++
    add(one, pesos.amount, isrOn(day))
    if (tipo === 'I') one.invoices++
    if (name !== null && `${issued_at}${uuid}${name}` > one.named) one.named = `${issued_at}${uuid}${name}`
    one[is_before === 1 ? 'before' : 'after'] += pesos.amount
    one.paid += pesos.whole
  }
  const converted = all.flatMap((document) => inMxn(document) ?? [])
  for (const { rfc, pesos } of open) of(rfc).unpaid += parseSum(pesos)
  for (const { rfc, exactRow } of balances) of(rfc).unpaid += openPesos(exactRow, rateOfDay) ?? 0n
  for (const { rfc, iva_16, iva_8, iva_otras } of iva) of(rfc).iva += parseSum(iva_16) + parseSum(iva_8) + parseSum(iva_otras)
  for (const event of events) {
    const outcome = outcomeOf(event)
    if (typeof outcome !== 'string') of(event.rfc).iva += ivaOf(outcome)
  }
  return {
    total: sumAll([...rows.map(({ income, credit }) => parseSum(income) - parseSum(credit)), ...converted.map(({ amount }) => amount)]),
    omitted: { dof_rate: converted.length, ...unmatchedOf(unmatched, outcomeOf) },
    exposures: [...found.values()]
      .filter(({ documents }) => documents > 0)
      .map((one) => ({ ...one, name: nameOf(one.named), paid: one.paid - one.unpaid }))
      .sort((a, b) => (a.amount === b.amount ? (a.rfc < b.rfc ? -1 : 1) : a.amount > b.amount ? -1 : 1)),
  }
}

/** The balance of an open invoice in MXN; null when it is not open, or has no rate. */
function openPesos(exactRow: string, rateOfDay: (currency: string, day: string) => string | null): Micros | null {
  const wanted = rateWanted(exactRow)
  return exactBalance(exactRow, wanted && rateOfDay(wanted.currency, wanted.day))?.pesos ?? null
}

const PATH = 'analytics/efos-exposure'
const SOURCE = 'sat_69b'
/** The number of months by default: the authority can still ask about these. */
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
async function openEfos(ctx: Ctx, query: Omit<EfosQuery, 'limit' | 'cursor'>): Promise<{ insight: Insight; reading: EfosReading }> {
  const past = pastDay(ctx, query.as_of)
  const opened = await openInsight(ctx, query)
  const from = query.from ?? addMonths(opened.span.to.slice(0, 7), 1 - MONTHS)
  const day = past ?? opened.today
  const { first, last } = opened.span
  const direction = directionNumber(query.direction)
  const span = { ...opened.span, from, first: query.from === undefined ? `${from}-01` : first, last: last < day ? last : day }
  assertBegun({ span }, query.as_of)
  // Only a deduction can be lost: a sale to a listed customer has no such effect.
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
async function listedOn(
  { db, organization }: Ctx,
  rfcs: readonly string[],
  day: string,
): Promise<{ listings: Map<string, Listing>; days: ListedOn }> {
  const { listings } = await listedAmong({ db, organization_id: organization.id }, rfcs, day, [SOURCE])
  const found = new Map([...listings].flatMap(([rfc, [one]]) => (one?.situacion ? [[rfc, one] as const] : [])))
  return { listings: found, days: [...found].map(([rfc, { history }]) => [rfc, (history[0] && publishedOn(history[0])) ?? '']) }
}

/** The statements for all counterparties, and for the listed ones. */
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
  // Other documents counted on a past day than count now.
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

const NONE: EntriesPage = { data: [], has_more: false, next_cursor: null }
const dayBefore = (day: string): string => new Date(Date.parse(`${day}T00:00:00Z`) - 1).toISOString().slice(0, 10)

/** Returns a page of the documents behind a figure. At most four D1 calls beside authentication. Throws Failure as `getEfosExposure` does. */
export async function getEfosEntries(ctx: Ctx, query: EfosEntriesQuery): Promise<EntriesPage> {
  const { insight, reading } = await openEfos(ctx, query)
  const { figure, rfc = '' } = query
  if (isLeftOut(figure)) return pageOfLeftOut(insight, PATH, { ...query, figure })
  if (isUnmatched(figure)) return pageOfUnmatched(insight, PATH, { ...query, figure })
  const { first, last, direction, past } = reading
  const isTotal = (EFOS_TOTALS as readonly string[]).includes(figure)
  if (isTotal && figure !== 'active_amount')
    return figure === (direction === 0 ? 'total_sales' : 'total_purchases')
      ? pageOfDocuments(insight, PATH, query, { first, last, direction, past })
      : NONE
  if (isTotal) {
    const { listings } = await listedOn(ctx, listedAs(await listedOf(ctx), [SOURCE]), reading.day)
    const active = [...listings].flatMap(([one, { is_active }]) => (is_active ? [one] : []))
    return pageOfDocuments(insight, PATH, query, { first, last, direction, past, counterparty: active })
  }
  const { days } = await listedOn(ctx, [rfc], reading.day)
  const [listed] = days
  if (listed === undefined) return NONE
  const population = { first, last, direction, past, counterparty: rfc, conditions: [] }
  if (figure === 'iva_acreditado') return pageOfIva(insight, query, reading, rfc)
  if (figure === 'paid_amount' || figure === 'unpaid_amount') {
    return pageOfEntries<AmountRow>(insight, PATH, query, documentsAfter({ ...population }, 'total'), async (rows) => {
      const totals = await amountsOfDocuments(ctx, rows, 'total')
      const open = await balancesOf(
        insight,
        reading,
        rfc,
        rows.map(({ uuid }) => uuid),
      )
      return rows.map(({ uuid }, n) => {
        const [total, balance] = [totals[n] ?? null, open.get(uuid) ?? 0n]
        if (total === null) return null
        return figure === 'paid_amount' ? total - balance : balance === 0n ? null : balance
      })
    })
  }
  const [, since] = listed
  const invoices = figure === 'invoice_count' ? [sql`${own.tipo_comprobante} = 'I'`] : []
  if (figure === 'before_listing_amount' && since === '') return NONE
  const cut =
    figure === 'before_listing_amount'
      ? { last: dayBefore(since) < last ? dayBefore(since) : last }
      : figure === 'after_listing_amount'
        ? { first: since > first ? since : first }
        : {}
  return pageOfDocuments(insight, PATH, query, { ...population, conditions: invoices, ...cut })
}

/** The open balances of some documents in MXN. */
async function balancesOf(
  { ctx, ledger }: Insight,
  reading: EfosReading,
  rfc: string,
  uuids: readonly string[],
): Promise<Map<string, Micros>> {
  const meant = sql`${own.uuid} in (select value from json_each(${JSON.stringify(uuids)}))`
  const statements = partitionsToRead(ledger).flatMap((partition) => openOf(partition, reading, [rfc], [meant]) ?? [])
  if (statements.length === 0 || uuids.length === 0) return new Map()
  const rows = await readAll<{ uuid: string; pesos: string | number | null; exactRow: string | null }>(ledger.d1, statements)
  const { rateOfDay } = await exactAmountsReader(
    ctx,
    [],
    rows.flatMap(({ exactRow }) => (exactRow === null ? [] : (rateWanted(exactRow) ?? []))),
  )
  return new Map(
    rows.map(({ uuid, pesos, exactRow }) => [uuid, exactRow === null ? BigInt(pesos ?? 0) : (openPesos(exactRow, rateOfDay) ?? 0n)]),
  )
}

interface IvaEntry extends EntryRow {
  /** Members of a JSON list: amounts in micros, or what is measured. */
  parts: string
}

/** A page of the cash events of a counterparty, with their IVA. */
function pageOfIva(insight: Insight, query: EfosEntriesQuery, reading: EfosReading, rfc: string): Promise<EntriesPage> {
  const part = sql`case when e.needs_exact then ${EXACT_EVENT} else json_array(cast(e.iva_16 as text), cast(e.iva_8 as text), cast(e.iva_otras as text)) end`
  return pageOfEntries<IvaEntry>(
    insight,
    PATH,
    query,
    (partition, after, take) => {
      const events = eventsOf(partition, reading, [[rfc, '']])
      const later = after ? sql`and (e.issued_at, e.uuid, coalesce(e.applies_to, '')) < (${after[0]}, ${after[1]}, ${after[2]})` : sql``
      return (
        events &&
        sql`select e.uuid, e.applies_to, e.issued_at, group_concat(${part}) as parts ${events} ${later} group by e.uuid, e.applies_to
          order by e.issued_at desc, e.uuid desc, coalesce(e.applies_to, '') desc limit ${sql.raw(String(take))}`
      )
    },
    async (rows) => {
      const parts = rows.map((row) => JSON.parse(`[${row.parts}]`) as (string[] | ExactEvent)[])
      const needsExact = (one: string[] | ExactEvent): one is ExactEvent => !Array.isArray(one)
      const { outcomeOf } = await exactAmountsReader(insight.ctx, parts.flat().filter(needsExact))
      return parts.map((some) => {
        let sum = 0n
        for (const one of some) {
          if (!needsExact(one)) sum += one.reduce((all, micros) => all + BigInt(micros), 0n)
          else {
            const outcome = outcomeOf(one)
            if (typeof outcome !== 'string') sum += ivaOf(outcome)
          }
        }
        return sum === 0n ? null : sum
      })
    },
  )
}
