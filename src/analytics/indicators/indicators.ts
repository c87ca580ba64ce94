import { type SQL, sql } from 'drizzle-orm'
import type { Rules } from '../../authority/rules/dated.ts'
import { exactBalance, rateWanted } from '../../cfdi/open/applications.ts'
import { own } from '../../cfdi/population/aliases.ts'
import { parseSum } from '../../cfdi/population/population.ts'
import type { InvoiceCounts } from '../../cfdi/summary/summary.ts'
import { opinionIn, opinionStatement } from '../../documents/documents.ts'
import type { Listing } from '../../lists/listings/listing.ts'
import type { Ctx } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { readAll } from '../../platform/db/statement.ts'
import { type Micros, micros, sumAll } from '../../platform/money.ts'
import { WHOLE } from '../../platform/paging/cursor.ts'
import type { Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import type { EntriesPage, WorstListing } from '../common/contract.ts'
import {
  type AmountRow,
  amountsOfDocuments,
  documentsAfter,
  isLeftOut,
  pageOfEntries,
  pageOfLeftOut,
  percentOf,
} from '../common/figures.ts'
import {
  aggregateOf,
  type Insight,
  inPesos,
  type Links,
  linksOf,
  openInsight,
  parseUnrated,
  qualityLinks,
  ratesOf,
  type Unrated,
} from '../common/insight.ts'
import { REPSE_NOTE, worstOf } from '../common/omitted.ts'
import { hhiOf, rankedOf } from '../concentration/concentration.ts'
import { setsOf } from '../risk/sets.ts'
import { supplierStatements } from '../risk/store.ts'
import { type Indicator, type IndicatorEntriesQuery, type IndicatorKey, type Indicators, type IndicatorsQuery, LISTED } from './contract.ts'
import { IS_CASH, IS_FOREIGN, isAtRisk, type OverdueRow, openStatements, type PartyRow, partyStatements } from './store.ts'

/** Balances of open invoices in micros of MXN, and their number. */
interface Overdue {
  open: Micros
  overdue: Micros
  invoices: number
}

const exactRowOf = (rows: readonly OverdueRow[]): { due: string; exactRow: string; wanted: { currency: string; day: string } | null }[] =>
  rows.flatMap(({ exactRow }) =>
    (JSON.parse(`[${exactRow ?? ''}]`) as [string, unknown][]).map(([due, list]) => {
      const text = JSON.stringify(list)
      return { due, exactRow: text, wanted: rateWanted(text) }
    }),
  )

/** The rates that open invoices do not state, as `ratesAt` takes them. */
const ratesWanted = (rows: readonly OverdueRow[]): { currency: string; day: string }[] =>
  exactRowOf(rows).flatMap(({ wanted }) => wanted ?? [])

/** Adds up what is open, and what is overdue on a day. `rates` answer `ratesWanted`. Invoices without any rate are left out. */
function overdueOf(rows: readonly OverdueRow[], rates: readonly (string | null)[], today: string): Overdue {
  const sums: Overdue = { open: 0n, overdue: 0n, invoices: 0 }
  for (const { invoices, open, overdue } of rows) {
    sums.invoices += invoices
    sums.open += parseSum(open)
    sums.overdue += parseSum(overdue)
  }
  let at = 0
  for (const { due, exactRow, wanted } of exactRowOf(rows)) {
    const pesos = exactBalance(exactRow, wanted === null ? null : (rates[at++] ?? null))?.pesos ?? null
    if (pesos === null) continue
    sums.invoices++
    sums.open += pesos
    if (due < today) sums.overdue += pesos
  }
  return sums
}

/** A group of documents of a counterparty, in micros of MXN. */
type Party = Pick<PartyRow, 'direction' | 'rfc' | 'is_cash' | 'is_at_risk' | 'is_foreign' | 'documents' | 'invoices'> & {
  income: Micros
  credit: Micros
  total: Micros
}

/** The documents of groups that state no exchange rate, in their order. */
const unratedOf = (rows: readonly PartyRow[]): Unrated[] => rows.flatMap((row) => parseUnrated(row.unrated))

/** Adds the documents that state no exchange rate to their groups, at the published `rates`. `dof_rate` counts those with one. */
function partiesOf(rows: readonly PartyRow[], rates: readonly (string | null)[]): { parties: Party[]; dof_rate: number } {
  let [at, dof_rate] = [0, 0]
  const parties = rows.map((row): Party => {
    const party = { ...row, income: parseSum(row.income), credit: parseSum(row.credit), total: parseSum(row.total) }
    for (const { tipo, net, total } of parseUnrated(row.unrated)) {
      const rate = rates[at++] ?? null
      const [netInPesos, totalInPesos] = [inPesos(net, rate), inPesos(total, rate)]
      if (netInPesos === null || totalInPesos === null) continue
      dof_rate++
      party.documents++
      if (tipo === 'E') party.credit += netInPesos
      else {
        party.invoices++
        party.income += netInPesos
        party.total += totalInPesos
      }
    }
    return party
  })
  return { parties, dof_rate }
}

/** The facts behind the indicators. */
interface Measurements {
  parties: readonly Party[]
  invoices: readonly [issued: InvoiceCounts, received: InvoiceCounts]
  overdue: Overdue
  /** The sense of the latest opinion. */
  sense: string | null
  /** The most severe list on which the RFC itself is. */
  own: WorstListing
  /** RFCs that the organization connected, and those on the list of article 69-B. */
  related: ReadonlySet<string>
  blacklisted: ReadonlySet<string>
}

/** Those who are presumed, or definitively listed, to invoice nothing. */
const blacklistedIn = (listings: ReadonlyMap<string, readonly Listing[]>): Set<string> =>
  new Set([...listings].flatMap(([rfc, all]) => (all.some((one) => one.source === 'sat_69b' && one.is_active) ? [rfc] : [])))

/** Senses of an opinion that are no risk, besides the one of the rule. */
const NEUTRAL = ['en_suspension', 'inscrito_sin_obligaciones']

const FORMULAS: Record<IndicatorKey, string> = {
  tax_compliance: 'sense of the latest compliance opinion (32-D); risky unless positivo, en_suspension or inscrito_sin_obligaciones',
  blacklist_status: 'the most severe active listing of the RFC itself; risky if there is one',
  blacklisted_counterparties: 'distinct counterparties of I and E that are presunto or definitivo on the list of article 69-B today',
  intercompany_share: 'net of I − E with other RFCs that the organization connected ÷ net of I − E, both directions',
  customer_concentration: 'Herfindahl-Hirschman index of issued net amounts by customer (GET /v1/cfdi/concentration)',
  supplier_concentration: 'Herfindahl-Hirschman index of received net amounts by supplier',
  foreign_exchange_share: 'issued net in other currencies than MXN ÷ issued net, in MXN',
  cash_share: 'total of issued I with forma_pago 01 ÷ total of issued I',
  cancelled_issued_rate: 'cancelled issued I ÷ all issued I, without substituted ones',
  cancelled_received_rate: 'cancelled received I ÷ all received I, without substituted ones',
  ppd_overdue_share: 'overdue balances ÷ open balances of issued PPD I, today, at the rate of the invoice',
  repse_at_risk_share: 'net of received I with the flag repse_not_valid_at_payment ÷ net of received I',
}

interface Computed {
  value: string | number | null
  threshold: string | number
  sample_size: number
  risky?: boolean
}

/** Computes the indicators. */
function indicatorsOf(facts: Measurements, rules: Rules): Omit<Indicator, 'drilldown'>[] {
  const { parties, invoices, overdue, sense, own, related, blacklisted } = facts
  const of = (direction: 0 | 1, isMeant: (one: Party) => boolean = () => true) =>
    parties.filter((one) => one.direction === direction && isMeant(one))
  const net = (some: readonly Party[]): Micros => sumAll(some.map((one) => one.income - one.credit))
  const income = (some: readonly Party[]): Micros => sumAll(some.map((one) => one.income))
  const total = (some: readonly Party[]): Micros => sumAll(some.map((one) => one.total))
  const count = (some: readonly Party[], name: 'documents' | 'invoices' = 'documents') => some.reduce((sum, one) => sum + one[name], 0)
  const [issued, received] = [of(0), of(1)]
  const rfcs = new Set(parties.filter(({ documents }) => documents > 0).map(({ rfc }) => rfc))
  const share = (key: IndicatorKey, part: bigint, whole: bigint, sample_size: number): Computed => ({
    value: percentOf(part, whole),
    threshold: percentOf(micros(rules.get(`indicator.${key}`) as string)!, 1_000_000n)!,
    sample_size,
  })
  const concentration = (key: 'customer_concentration' | 'supplier_concentration', some: readonly Party[]): Computed => {
    const groups = [...Map.groupBy(some, ({ rfc }) => rfc)].map(([rfc, list]) => ({ rfc, total: net(list) }))
    const totals = rankedOf(groups, false).map((one) => one.total)
    return { value: hhiOf(totals), threshold: rules.get(`indicator.${key}`), sample_size: count(some) }
  }
  const cancelled = (key: IndicatorKey, { counted, cancelled: n }: InvoiceCounts): Computed =>
    share(key, BigInt(n), BigInt(counted + n), counted + n)
  const good = [rules.get('indicator.tax_compliance'), ...NEUTRAL]
  const computed: Record<IndicatorKey, Computed> = {
    tax_compliance: {
      value: sense,
      threshold: good[0]!,
      sample_size: sense === null ? 0 : 1,
      risky: sense !== null && !good.includes(sense),
    },
    blacklist_status: {
      ...{ value: own && (own.situacion ?? own.source), threshold: String(rules.get('indicator.blacklist_status')), sample_size: 1 },
      risky: own !== null,
    },
    blacklisted_counterparties: {
      // Zero would reassure, but nobody was looked for.
      value: rfcs.size === 0 ? null : [...rfcs].filter((rfc) => blacklisted.has(rfc)).length,
      ...{ threshold: rules.get('indicator.blacklisted_counterparties'), sample_size: rfcs.size },
    },
    intercompany_share: share('intercompany_share', net(parties.filter(({ rfc }) => related.has(rfc))), net(parties), count(parties)),
    customer_concentration: concentration('customer_concentration', issued),
    supplier_concentration: concentration('supplier_concentration', received),
    foreign_exchange_share: share('foreign_exchange_share', net(of(0, (one) => one.is_foreign === 1)), net(issued), count(issued)),
    cash_share: share('cash_share', total(of(0, (one) => one.is_cash === 1)), total(issued), count(issued, 'invoices')),
    cancelled_issued_rate: cancelled('cancelled_issued_rate', invoices[0]),
    cancelled_received_rate: cancelled('cancelled_received_rate', invoices[1]),
    ppd_overdue_share: share('ppd_overdue_share', overdue.overdue, overdue.open, overdue.invoices),
    repse_at_risk_share: share(
      'repse_at_risk_share',
      income(of(1, (one) => one.is_at_risk === 1)),
      income(received),
      count(received, 'invoices'),
    ),
  }
  return (Object.entries(computed) as [IndicatorKey, Computed][]).map(([key, { risky, ...one }]) => ({
    key,
    ...one,
    risky: risky ?? (one.value !== null && micros(String(one.value))! > micros(String(one.threshold))!),
    formula: FORMULAS[key],
  }))
}

const PATH = 'analytics/risk'

/**
 * Returns twelve indicators of the risk of a taxpayer, each with its threshold. At most six D1 calls with authentication. Throws Failure 404
 * and 422 range.invalid.
 */
export async function getIndicators(ctx: Ctx, query: IndicatorsQuery): Promise<Indicators> {
  const insight = await openInsight(ctx, query)
  const { ledger, rules, today, span } = insight
  const { found, invoices, envelope } = await aggregateOf(insight, [opinionStatement(ledger), ...supplierStatements(ledger, span)])
  const [opinions = [], ...suppliers] = found
  const sets = await setsOf(insight, rfcsOf(suppliers), true)
  const open = openStatements(insight)
  const statements = [...open, ...partyStatements(insight, sets)]
  const results = statements.length === 0 ? [] : await commit(ledger.d1, statements)
  const openRows = results.slice(0, open.length).flatMap((one) => one.results as unknown as OverdueRow[])
  const rows = results.slice(open.length).flatMap((one) => one.results as unknown as PartyRow[])
  const wanted = [...ratesWanted(openRows), ...unratedOf(rows)]
  const rates = await ratesOf(ctx, wanted)
  const split = wanted.length - unratedOf(rows).length
  const { parties, dof_rate } = partiesOf(rows, rates.slice(split))
  const opinion = opinionIn(opinions)
  const indicators = indicatorsOf(
    {
      ...{ parties, invoices, sense: opinion?.sense ?? null, own: worstOf(sets.listings.get(ledger.rfc)) },
      ...{ related: sets.related, blacklisted: blacklistedIn(sets.listings) },
      overdue: overdueOf(openRows, rates.slice(0, split), today),
    },
    rules,
  )
  const links = linksOf(insight, PATH)
  const leads = leadsOf(insight, links, opinion?.document_id ?? null)
  return {
    ...envelope(
      {
        formulas: Object.fromEntries(indicators.map(({ key, formula }) => [key, formula])),
        notes: ['Thresholds are proposed. Lists, the REPSE registry and open balances are read as they are today.', REPSE_NOTE],
      },
      rules,
      { dof_rate, repse_unknown: sets.repse_unknown, drilldown: qualityLinks(links) },
    ),
    data: indicators.map((one) => ({ ...one, drilldown: leads[one.key] ?? {} })),
    ...WHOLE,
  }
}

const rfcsOf = (found: readonly unknown[][]): string[] => [...new Set((found.flat() as { rfc: string }[]).map(({ rfc }) => rfc))]

/** Links from each indicator to what is behind it. */
function leadsOf(
  { ledger, span }: Insight,
  links: Links,
  document_id: string | null,
): Partial<Record<IndicatorKey, Record<string, string>>> {
  const { fiscal_entity_id, rfc } = ledger
  const range = { fiscal_entity_id, from: span.from, to: span.to }
  const to = (path: string, query: Record<string, string>) => ({ value: `/v1/${path}?${new URLSearchParams(query)}` })
  const cancelled = (direction: string) => ({
    value: links.cfdi({ direction, tipo_comprobante: 'I', estatus: 'cancelado' }).replace('&is_substituted=false', ''),
  })
  return {
    ...(document_id === null
      ? {}
      : { tax_compliance: { value: `/v1/fiscal-entities/${fiscal_entity_id}/documents/${document_id}/content` } }),
    blacklist_status: to('blacklists/lookup', { rfc }),
    customer_concentration: to('cfdi/concentration', { ...range, direction: 'issued' }),
    supplier_concentration: to('cfdi/concentration', { ...range, direction: 'received' }),
    cancelled_issued_rate: cancelled('issued'),
    cancelled_received_rate: cancelled('received'),
    ppd_overdue_share: to('analytics/financing/entries', { fiscal_entity_id, figure: 'receivables.overdue' }),
    ...Object.fromEntries(LISTED.map((key) => [key, { value: links.entries(key) }])),
  }
}

/** The selection of the documents of a numerator. */
interface Numerator {
  directions: readonly (0 | 1)[]
  which: 'net' | 'total'
  condition: (partition: Partition) => SQL
  /** Common table expressions that the condition names. */
  ctes: SQL
}

const plain = (direction: 0 | 1, condition: SQL, which: 'net' | 'total' = 'net'): Numerator => ({
  ...{ directions: [direction], which, condition: () => condition, ctes: sql`` },
})

/** Returns a page of the documents behind an indicator. At most four D1 calls beside authentication. Throws Failure as `getIndicators` does. */
export async function listIndicatorEntries(ctx: Ctx, query: IndicatorEntriesQuery): Promise<EntriesPage> {
  const insight = await openInsight(ctx, query)
  const { figure } = query
  const { ledger, span } = insight
  if (isLeftOut(figure)) return pageOfLeftOut(insight, PATH, { ...query, figure })
  const numerator = async (): Promise<Numerator> => {
    if (figure === 'foreign_exchange_share') return plain(0, IS_FOREIGN)
    if (figure === 'cash_share') return plain(0, IS_CASH, 'total')
    const isRepse = figure === 'repse_at_risk_share'
    const suppliers = isRepse ? await readAll<{ rfc: string }>(ledger.d1, supplierStatements(ledger, span)) : []
    const sets = await setsOf(insight, [...new Set(suppliers.map(({ rfc }) => rfc))], !isRepse)
    if (isRepse) return { directions: [1], which: 'net', condition: (partition) => isAtRisk(partition, 1, insight, sets), ctes: sets.ctes }
    const rfcs = JSON.stringify([...(figure === 'intercompany_share' ? sets.related : blacklistedIn(sets.listings))])
    const condition = sql`${own.counterparty_rfc} in (select value from json_each(${rfcs}))`
    return { directions: [0, 1], which: 'net', condition: () => condition, ctes: sql`` }
  }
  const { directions, which, condition, ctes } = await numerator()
  return pageOfEntries<AmountRow>(
    insight,
    PATH,
    query,
    (partition, after, take) => {
      const of = (direction: 0 | 1) =>
        documentsAfter({ first: span.first, last: span.last, direction, conditions: [condition(partition)] }, which)(partition, after, take)
      const [first, second] = directions.flatMap((direction) => of(direction) ?? [])
      if (!first) return null
      const rows = second
        ? sql`select * from (${first}) union all select * from (${second}) order by 2 desc, 1 desc limit ${sql.raw(String(take))}`
        : first
      return sql`with ${ctes} no_more as (select 1) ${rows}`
    },
    (rows) => amountsOfDocuments(ctx, rows, which),
  )
}
