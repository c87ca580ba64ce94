import { type SQL, sql } from 'drizzle-orm'
import { exactBalance, rateWanted } from '../../cfdi/open/applications.ts'
import { own } from '../../cfdi/population/aliases.ts'
import { listedAmong } from '../../lists/listings/listing.ts'
import type { Ctx } from '../../platform/context.ts'
import { all } from '../../platform/db/statement.ts'
import { invalid } from '../../platform/failures.ts'
import { decimal, type Micros, micros, sumAll } from '../../platform/money.ts'
import { type CursorScope, openCursor, paginate } from '../../platform/paging/cursor.ts'
import { connectedAmong } from '../../taxpayers/connection.ts'
import type { Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import { type Basis, type EntriesPage, UNMATCHED } from '../common/contract.ts'
import {
  type EntryPosition,
  type EntryRow,
  exact,
  isLeftOut,
  pageOfEntries,
  pageOfLeftOut,
  percentOf,
  quotientText,
} from '../common/figures.ts'
import { countDofRates, type Links, linksOf, qualityLinks, ratesOf } from '../common/insight.ts'
import { isUnmatched, pageOfUnreconciled, worstOf } from '../common/omitted.ts'
import { BUCKETS, type Debtor, type Financing, type FinancingEntriesQuery, type FinancingQuery } from './contract.ts'
import { ineligible, type Parties, poolOf } from './pool.ts'
import { type FinancingAsOf, type OpenItem, openFinancing, type Punctuality, readFinancing, type SideRead } from './reading.ts'
import { judged } from './store.ts'

const PATH = 'analytics/financing'

const BASIS: Omit<Basis, 'rules'> = {
  formulas: {
    outstanding: 'Σ balance of open PPD invoices as of the day, at their own exchange rates',
    due: 'day of fecha + days of condiciones_pago, or financing.default_terms_days',
    overdue: 'Σ balance of what was due before the day',
    dso: 'outstanding (with taxes) ÷ Σ (subtotal − descuento, without taxes) of PPD I of the last financing.dso_days × financing.dso_days; dpo likewise',
    weighted_days_to_pay: 'Σ (paid × days from fecha to fecha_pago) ÷ Σ paid, of the last financing.payment_months',
    on_time_rate: 'paid until due ÷ paid',
    expected: 'Σ balance by the month of its due day (expected_inflows, expected_outflows); what is overdue is in the month of the day',
    capped_amount: 'the lesser of eligible_amount and debtor_cap × eligible_amount of the pool',
    fundable: 'Σ capped_amount × advance_rate',
  },
  notes: [
    'Without a past as_of, complements with a future FechaPago count, because they are already issued. With a past as_of, only complements with a FechaPago up to that day count.',
    'Balances are what is to be paid, with taxes, and sales are net: with 16 % of IVA, dso and dpo are up to 1.16 times those of one basis.',
    'data_quality is of the months whose payments are looked at; open invoices are of any age, as far back as the windows reach (visible_from of the fiscal entity).',
    'With a past as_of, data_quality counts documents as they stand now; unreconciled_payments and other_parties are as of the day.',
  ],
}

type Asked = Pick<FinancingQuery, 'as_of' | 'advance_rate' | 'max_age_days' | 'debtor_cap'>

/** Links to the documents behind the answer, with the parameters of its query. */
export function linksFor({ insight, at }: FinancingAsOf, { advance_rate, max_age_days, debtor_cap }: Asked): Links {
  const own = { advance_rate, max_age_days: max_age_days?.toString(), debtor_cap }
  const given = Object.fromEntries(Object.entries(own).filter((one): one is [string, string] => one[1] !== undefined))
  const { fiscal_entity_id } = insight.ledger
  return {
    // The counts of data_quality are of documents as they stand now.
    cfdi: linksOf(insight, PATH).cfdi,
    entries: (figure, keys) => `/v1/${PATH}/entries?${new URLSearchParams({ fiscal_entity_id, as_of: at.day, ...given, figure, ...keys })}`,
  }
}

/** Finds who among counterparties is another RFC of the organization, or on a list as of the day. Two D1 calls. */
async function partiesOf({ db, organization }: Ctx, rfcs: readonly string[], past: string | null) {
  const [connected, { listings }] = await Promise.all([
    connectedAmong(db, organization, rfcs),
    listedAmong({ db, organization_id: organization.id }, rfcs, past),
  ])
  const isPresumed = (rfc: string): boolean =>
    (listings.get(rfc) ?? []).some(
      ({ source, situacion }) => source === 'sat_69b' && (situacion === 'presunto' || situacion === 'definitivo'),
    )
  const parties: Parties = { connected, blacklisted: new Set(rfcs.filter(isPresumed)) }
  return { parties, listedAs: (rfc: string) => worstOf(listings.get(rfc)) }
}

/**
 * Returns what is owed to the RFC and by it as of a day, how late it is, and what could be lent upon it, with a page of debtors, the largest
 * first. At most six D1 calls with authentication; one more when an exchange rate is to be looked up. Throws Failure 404, 422 as_of.future and
 * 400 for a foreign cursor. Two more calls where documents state no exchange rate.
 */
export async function getFinancing(ctx: Ctx, query: FinancingQuery): Promise<Financing> {
  const { limit, cursor } = query
  const opened = await openFinancing(ctx, query)
  const { insight, at } = opened
  const { rules, ledger } = insight
  const [advance_rate, debtor_cap] = [
    query.advance_rate ?? rules.get('financing.advance_rate'),
    query.debtor_cap ?? rules.get('financing.debtor_cap'),
  ]
  const scope: CursorScope = { list: PATH, filters: { ...query, as_of: at.day, fiscal_entity_id: ledger.fiscal_entity_id } }
  const after = (await openCursor(ctx, scope, cursor)) as readonly [outstanding: string, rfc: string] | undefined
  const { receivables, payables, envelope, counts } = await readFinancing(opened)
  const links = linksFor(opened, query)
  const rfcs = [...new Set(receivables.open.map(({ rfc }) => rfc))]
  const { parties, listedAs } = await partiesOf(ctx, rfcs, at.past)
  const pool = poolOf(receivables.open, parties, advance_rate, debtor_cap)
  const debtors = [...Map.groupBy(receivables.open.filter(isRated), ({ rfc }) => rfc)]
    .map(([rfc, open]) => ({ rfc, open, outstanding: amountOf(open) }))
    .sort((a, b) => (a.outstanding !== b.outstanding ? (a.outstanding > b.outstanding ? -1 : 1) : a.rfc < b.rfc ? -1 : 1))
  const isAfter = (one: { outstanding: Micros; rfc: string }): boolean =>
    after === undefined || (one.outstanding === BigInt(after[0]) ? one.rfc > after[1] : one.outstanding < BigInt(after[0]))
  const viewDebtor = ({ rfc, open, outstanding }: (typeof debtors)[number]): Debtor => ({
    ...{
      rfc,
      name:
        open
          .map(({ newest }) => newest ?? '')
          .sort()
          .at(-1)
          ?.slice(NAME_AT) || null,
      outstanding: decimal(outstanding),
    },
    ...{ overdue: decimal(amountOf(open.filter(isOverdue))), invoice_count: countOf(open), aging: agingOf(open) },
    oldest_due_date: open.map(({ due }) => due).sort()[0]!,
    ...punctualityOf([receivables.paid.get(rfc)].flatMap((one) => one ?? [])),
    ...{ eligible_amount: decimal(pool.eligibleOf(rfc)), capped_amount: decimal(pool.capped(rfc)), blacklist: listedAs(rfc) },
    drilldown: {
      ...{ outstanding: links.entries('receivables.outstanding', { rfc }), overdue: links.entries('receivables.overdue', { rfc }) },
      ...Object.fromEntries(BUCKETS.map((name) => [`aging.${name}`, links.entries(`receivables.aging.${name}`, { rfc })])),
      eligible_amount: links.entries('pool.eligible_amount', { rfc }),
    },
  })
  const shown = debtors.filter(isAfter).slice(0, limit + 1)
  const page = await paginate(ctx, scope, limit, shown, ({ rfc, outstanding }) => [outstanding.toString(), rfc], viewDebtor)
  const ofSide = (name: 'receivables' | 'payables', side: SideRead) => {
    const { days_outstanding, expected, ...rest } = sideOf(name, side, rules.get('financing.dso_days'), links)
    return { days_outstanding, expected, rest }
  }
  const [owed, owing] = [ofSide('receivables', receivables), ofSide('payables', payables)]
  return {
    ...envelope(BASIS, rules, {
      dof_rate: await countDofRates(insight, counts.missing_rate),
      unreconciled_payments: receivables.unreconciled + payables.unreconciled,
      other_parties: receivables.otherParties + payables.otherParties,
      drilldown: qualityLinks(links, UNMATCHED),
    }),
    as_of: at.day,
    receivables: { ...owed.rest, dso: owed.days_outstanding, expected_inflows: owed.expected },
    payables: { ...owing.rest, dpo: owing.days_outstanding, expected_outflows: owing.expected },
    pool: {
      ...{ eligible_amount: decimal(pool.eligible_amount), eligible_count: pool.eligible_count },
      ineligible: pool.ineligible.map((one) => ({
        ...{ ...one, amount: decimal(one.amount) },
        drilldown: { amount: links.entries(`pool.${one.reason}`) },
      })),
      ...{ advance_rate: exact(micros(advance_rate)!), max_age_days: at.max_age, debtor_cap: exact(micros(debtor_cap)!) },
      ...{ haircut: decimal(pool.haircut), fundable: decimal(pool.fundable) },
      drilldown: { eligible_amount: links.entries('pool.eligible_amount') },
    },
    ...page,
  }
}

/** Where the name begins in `newest`, behind ten digits of issued_at and a UUID. */
const NAME_AT = 46
const isRated = ({ pesos }: OpenItem): boolean => pesos !== null
const isOverdue = ({ bucket }: OpenItem): boolean => bucket > 0
const amountOf = (open: readonly OpenItem[]): Micros => sumAll(open.map(({ pesos }) => pesos ?? 0n))
const countOf = (open: readonly OpenItem[]): number => open.reduce((sum, { n }) => sum + n, 0)
const agingOf = (open: readonly OpenItem[]) =>
  Object.fromEntries(BUCKETS.map((name, n) => [name, decimal(amountOf(open.filter(({ bucket }) => bucket === n)))])) as Debtor['aging']

function punctualityOf(some: readonly Punctuality[]): Pick<Debtor, 'weighted_days_to_pay' | 'on_time_rate'> {
  const of = (name: keyof Punctuality) => sumAll(some.map((one) => one[name]))
  const paid = of('paid')
  return { weighted_days_to_pay: quotientText(of('weighted'), paid, 2), on_time_rate: percentOf(of('on_time'), paid) }
}

function sideOf(name: 'receivables' | 'payables', { open: all, sales, paid }: SideRead, days: number, links: Links) {
  const open = all.filter(isRated)
  const outstanding = amountOf(open)
  const months = Map.groupBy(open, ({ month }) => month)
  const parsed = open.reduce((sum, one) => sum + one.parsed, 0)
  const expected = [...months].sort(([a], [b]) => (a < b ? -1 : 1)).map(([month, some]) => ({ month, amount: decimal(amountOf(some)) }))
  const [count, link] = [countOf(open), (figure: string) => links.entries(`${name}.${figure}`)]
  return {
    ...{
      outstanding: decimal(outstanding),
      overdue: decimal(amountOf(open.filter(isOverdue))),
      invoice_count: count,
      aging: agingOf(open),
    },
    ...punctualityOf([...paid.values()]),
    due_sources: { parsed, default: count - parsed },
    ...{ days_outstanding: sales <= 0n ? null : quotientText(outstanding * BigInt(days), sales, 2), expected },
    drilldown: {
      ...{ outstanding: link('outstanding'), invoice_count: link('outstanding'), overdue: link('overdue') },
      ...Object.fromEntries(BUCKETS.map((bucket) => [`aging.${bucket}`, link(`aging.${bucket}`)])),
      ...Object.fromEntries(
        expected.map(({ month }) => [
          `expected_${name === 'receivables' ? 'inflows' : 'outflows'}.${month}`,
          links.entries(`${name}.expected`, { month }),
        ]),
      ),
    },
  }
}

interface JudgedRow extends EntryRow {
  rfc: string
  pesos: string | null
  exactRow: string | null
  reported: number | null
  is_old: 0 | 1
  is_late: 0 | 1
  is_in_process: 0 | 1
  is_mismatch: 0 | 1
}

/** The condition of a figure on `judged` rows. The other reasons of the pool are decided when a row has been read. */
function conditionOf(figure: string, month: string | undefined): SQL {
  if (figure === 'overdue') return sql`bucket > 0`
  if (figure === 'expected') return month === undefined ? sql`1` : sql`month = ${month}`
  if (figure.startsWith('aging.')) return sql`bucket = ${BUCKETS.findIndex((name) => figure === `aging.${name}`)}`
  if (figure === 'too_old') return sql`is_old`
  if (figure === 'overdue_30') return sql`is_late and not is_old`
  return figure === 'outstanding' ? sql`1` : sql`not is_old and not is_late`
}

/** Rows in the order of entries after a position, at most so many. */
const cut = (columns: SQL, rows: SQL, conditions: readonly SQL[], take: number): SQL =>
  sql`select ${columns} from (${rows}) where ${all(conditions)} order by issued_at desc, uuid desc limit ${sql.raw(String(take))}`

/** Returns a page of the documents behind a figure. At most six D1 calls with authentication. Throws Failure as `getFinancing` does. */
export async function getFinancingEntries(ctx: Ctx, query: FinancingEntriesQuery): Promise<EntriesPage> {
  const opened = await openFinancing(ctx, query)
  const { insight, at } = opened
  const { figure, rfc, month } = query
  const asked = { ...query, as_of: at.day }
  // Overdue invoices are expected in the month of the day.
  if (month !== undefined && month < at.day.slice(0, 7))
    throw invalid('range.invalid', [{ path: 'month', message: `Must not be before ${at.day.slice(0, 7)}, the month of as_of.` }])
  if (isLeftOut(figure)) return pageOfLeftOut(insight, PATH, { ...asked, figure })
  if (isUnmatched(figure)) return pageOfUnreconciled(insight, PATH, { ...asked, figure }, at.past)
  const dot = figure.indexOf('.')
  const [side, name] = [figure.slice(0, dot), figure.slice(dot + 1)]
  const tolerance = micros(insight.rules.get('balance.tolerance'))!
  const columns = sql`uuid, issued_at, rfc, cast(pesos as text) as pesos, exactRow, reported, is_old, is_late, is_in_process, coalesce(abs(reported - balance) > ${Number(tolerance)}, 0) as is_mismatch`
  const select = (partition: Partition, after: EntryPosition | undefined, take: number): SQL | null => {
    const rows = judged(partition, side === 'payables' ? 1 : 0, at, rfc === undefined ? [] : [sql`${own.counterparty_rfc} = ${rfc}`])
    const later = after ? [sql`(issued_at, uuid) < (${after[0]}, ${after[1]})`] : []
    return rows && cut(columns, rows, [conditionOf(name, month), ...later], take)
  }
  return pageOfEntries<JudgedRow>(insight, PATH, asked, select, async (rows) => {
    const wanted = rows.flatMap(({ uuid, exactRow }) => {
      const one = exactRow === null ? null : rateWanted(exactRow)
      return one ? [{ uuid, ...one }] : []
    })
    const rates = await ratesOf(ctx, wanted)
    const rateOf = new Map(wanted.map(({ uuid }, n) => [uuid, rates[n] ?? null]))
    const parties = side === 'pool' ? (await partiesOf(ctx, [...new Set(rows.map((row) => row.rfc))], at.past)).parties : null
    return rows.map((row): Micros | null => {
      const exact = row.exactRow === null ? null : exactBalance(row.exactRow, rateOf.get(row.uuid) ?? null)
      if (row.exactRow !== null && exact === null) return null
      const pesos = exact ? exact.pesos : BigInt(row.pesos!)
      if (parties === null) return pesos
      const difference = exact && row.reported !== null ? BigInt(row.reported) - exact.balance : 0n
      const is_mismatch = row.is_mismatch === 1 || difference > tolerance || difference < -tolerance
      return (ineligible({ ...row, pesos, is_mismatch }, parties) ?? 'eligible_amount') === name ? (pesos ?? 0n) : null
    })
  })
}
