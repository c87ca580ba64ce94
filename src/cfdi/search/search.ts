import { sql } from 'drizzle-orm'
import { daysUntilDue } from '../../authority/rules/by-day.ts'
import { rulesAt } from '../../authority/rules/rules.ts'
import { refuseUnknownLists } from '../../lists/custom/known.ts'
import { listedOf } from '../../lists/listed/counterparties.ts'
import { type ListedParties, nowListedAs } from '../../lists/listed/listed.ts'
import type { Ctx, System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { all } from '../../platform/db/statement.ts'
import { invalid } from '../../platform/failures.ts'
import { holdLarge } from '../../platform/locks/readings.ts'
import { decimal, micros, sumAll } from '../../platform/money.ts'
import { type CursorScope, openCursor, sealCursor, WHOLE } from '../../platform/paging/cursor.ts'
import { dayOfEpoch, epochDayOf } from '../../platform/time/calendar.ts'
import { addMonths, centralDayOf, lastDayOf } from '../../platform/time/months.ts'
import { pastDay } from '../../platform/time/past-day.ts'
import type { DataStatus } from '../../taxpayers/visibility/coverage.ts'
import { type DirectionNumber, openLedger, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { EARLIEST_DAY, earliestOf } from '../../taxpayers/visibility/window.ts'
import { type Located, locateContents, readableOf, readContents } from '../chunks/contents.ts'
import { cfdiAs } from '../columns.ts'
import type { Cfdi } from '../contract.ts'
import { afterDay, isDay } from '../literal-day.ts'
import { type DataStatusRow, dataStatuses, dataStatusRows, statusWithoutRuns } from '../quality/data-status.ts'
import { leftOf, STORED_COLUMNS, view, visibleBalance } from '../read-row.ts'
import type { CfdiFilters, CfdiPage, CfdiSearch, CfdiSum, CfdiSumQuery, CfdiSums, Filters, INCLUDED, ListedCfdi } from './contract.ts'
import {
  type Besides,
  findPage,
  merged,
  type PageItem,
  type PagePosition,
  type Planned,
  planned,
  readScans,
  restOf,
  type SearchInput,
  scansOf,
} from './store.ts'

const page = cfdiAs('page')

/** Documents that a sort by total looks at in a partition. */
const MOST_SORTED = 5_000

/** A document among those that are sorted: its total in micros, null without one. */
interface Candidate {
  total: bigint | null
  issued_at: number
  uuid: string
  planned: Planned
  /** The document, if balances are compared here. */
  item?: PageItem
}

/** The position of a document by its total: '' without one. */
type TotalPosition = readonly [total: string, issued_at: number, uuid: string]

type Sorted = Pick<Candidate, 'total' | 'issued_at' | 'uuid'>

/** By total, of equal ones the newest first; those without a total last. */
function compare(a: Sorted, b: Sorted, isAscending: boolean): number {
  if (a.total !== b.total) {
    if (a.total === null || b.total === null) return a.total === null ? 1 : -1
    return a.total < b.total === isAscending ? -1 : 1
  }
  return b.issued_at - a.issued_at || (a.uuid < b.uuid ? 1 : a.uuid > b.uuid ? -1 : 0)
}

const tooMany = () =>
  invalid('cfdi.too_many_to_sort', [
    {
      path: 'sort',
      message:
        'A sort by total looks at 5,000 documents at most. Narrow the search by issued_from and issued_to, or by another indexed filter.',
    },
  ])

const START = { after: undefined, isAscending: false }
const totalOf = (micros: string | null): bigint | null => (micros === null ? null : BigInt(micros))

/**
 * Finds the documents after a position by their totals, at most `limit`. At most two calls: the first looks at all that the indexes leave, and
 * the second reads the page. Throws Failure 422 cfdi.too_many_to_sort.
 */
async function findByTotal(
  asked: SearchInput,
  plans: readonly Planned[],
  after: TotalPosition | undefined,
  isAscending: boolean,
  limit: number,
  besides: Besides,
): Promise<{ items: PageItem[]; next: TotalPosition | null }> {
  if (plans.length + besides.statements.length === 0) return { items: [], next: null }
  // Only a search without stored payment statuses finds all invoices to which a ceiling gives another one.
  const read = plans.map(({ partition, plan }): Planned => ({ partition, plan: plan.invoices ?? plan }))
  const isWhole = asked.filters.uuid !== undefined || read.some(({ plan }) => plan.isCompared)
  const candidates = await (isWhole ? readWhole : readKeys)(asked, read, besides)
  const begin = after && { total: totalOf(after[0] || null), issued_at: after[1], uuid: after[2] }
  const found = candidates
    .filter((one) => begin === undefined || compare(one, begin, isAscending) > 0)
    .sort((a, b) => compare(a, b, isAscending))
  const page = found.slice(0, limit)
  const last = found.length > limit ? page.at(-1) : undefined
  return { items: await itemsOf(asked, page), next: last ? [String(last.total ?? ''), last.issued_at, last.uuid] : null }
}

/** Reads whole rows, because the balances that decide are compared here. */
async function readWhole(asked: SearchInput, plans: readonly Planned[], besides: Besides): Promise<Candidate[]> {
  const scans = plans.map((one) => scansOf(asked, one, START, MOST_SORTED + 1, MOST_SORTED))
  const { found, end } = await readScans(asked, scans.flat(), false, besides)
  if (end !== null) throw tooMany()
  return found.map((item) => {
    const { total_micros, issued_at, uuid } = item.row
    return { total: totalOf(total_micros), issued_at, uuid, item, planned: plans[0]! }
  })
}

type Key = [total: string | null, issued_at: number, uuid: string]

/** Reads the columns that decide the order. Every row that is looked at is returned, to show when there are too many. */
async function readKeys({ ledger }: SearchInput, plans: readonly Planned[], { statements, take }: Besides): Promise<Candidate[]> {
  const selects = plans.map(
    ({ partition, plan }) =>
      sql`select case when ${all(restOf(partition, plan))} then json_array(${page.total_micros}, ${page.issued_at}, ${page.uuid}) end as key
        from (${merged(partition, plan, START, STORED_COLUMNS)} limit ${sql.raw(String(MOST_SORTED + 1))}) page`,
  )
  const results = await commit(ledger.d1, [...selects, ...statements])
  take(results.slice(plans.length).map((one) => one.results))
  return plans.flatMap((planned, n) => {
    const rows = results[n]!.results as { key: string | null }[]
    if (rows.length > MOST_SORTED) throw tooMany()
    return rows.flatMap(({ key }) => {
      if (key === null) return []
      const [total, issued_at, uuid] = JSON.parse(key) as Key
      return { total: totalOf(total), issued_at, uuid, planned }
    })
  })
}

/** The documents of a page in its order. One call, none when they are read already. */
async function itemsOf(asked: SearchInput, page: readonly Candidate[]): Promise<PageItem[]> {
  const isRead = (one: Candidate): one is Candidate & { item: PageItem } => one.item !== undefined
  if (page.every(isRead)) return page.map(({ item }) => item)
  const scans = [...new Set(page.map(({ planned }) => planned))].flatMap((planned) => {
    const uuid = page.filter((one) => one.planned === planned).map((one) => one.uuid)
    return scansOf({ ...asked, filters: { ...asked.filters, uuid } }, planned, START, uuid.length, MOST_SORTED)
  })
  const { found } = await readScans(asked, scans, false, { statements: [], take: () => {} })
  const byUuid = new Map(found.map((item) => [item.row.uuid, item]))
  return page.flatMap(({ uuid }) => byUuid.get(uuid) ?? [])
}

const dayOf = (bound: string): string => (isDay(bound) ? bound : centralDayOf(Date.parse(bound)))
const earlier = (one: string, other: string | undefined): string => (other !== undefined && other < one ? other : one)

/**
 * The severest data status of the months that a search asks for. Without a bound of its own it asks for what the window shows. Nothing is
 * known of a month whose days the window hides, as in the summary.
 */
function dataStatusOf(ledger: ScopedLedger, filters: Filters, rows: readonly DataStatusRow[], now: number): DataStatus {
  if (statusWithoutRuns(ledger, rows) === 'imported') return 'imported'
  const statusOf = dataStatuses(ledger, rows, now)
  const { direction, issued_from, issued_to, last_day } = filters
  const directions: DirectionNumber[] = direction === undefined ? [0, 1] : [direction === 'issued' ? 0 : 1]
  let severest: DataStatus = 'complete'
  for (const one of directions) {
    const { isEmpty, floor, ceiling } = one === 0 ? ledger.windows.issued : ledger.windows.received
    const source = one === 0 ? 'sat_cfdi_issued' : 'sat_cfdi_received'
    if (isEmpty) {
      if (!rows.some((row) => row.source === source && row.month !== null)) return 'missing'
      severest = 'downloading'
      continue
    }
    const end = ceiling ?? now
    const given = issued_from === undefined ? (floor ?? EARLIEST_DAY) : dayOf(issued_from)
    const from = given < EARLIEST_DAY ? EARLIEST_DAY : given
    const to = earlier(issued_to === undefined ? centralDayOf(end) : earlier(centralDayOf(now), dayOf(issued_to)), last_day)
    if (from > to) return 'missing'
    for (let first = from; first <= to; first = `${addMonths(first.slice(0, 7), 1)}-01`) {
      const month = first.slice(0, 7)
      const isShown = (floor === null || earlier(lastDayOf(month), to) >= floor) && earliestOf(first) * 1_000 <= end
      const status = isShown ? statusOf(month, one) : 'missing'
      if (status === 'missing') return status
      if (status === 'downloading') severest = status
    }
  }
  return severest
}

/**
 * Returns a page of the visible documents of an RFC in the order of `sort`: by issued_at, then by uuid, or by total. One call to the ledger,
 * and more only where rows are scanned or sorted by total. Throws Failure 422 as_of.future and blacklist.unknown.
 */
export async function searchCfdi(ctx: Ctx, query: CfdiSearch): Promise<CfdiPage> {
  const ledger = openLedger(ctx)
  const { limit, cursor, sort, fields, include = [], fiscal_entity_id: _, fiscalEntityId: __, ...given } = query
  const read = fixFilters(ctx, given)
  await refuseUnknownLists(ctx, 'blacklist', given.blacklist)
  const scope: CursorScope = { list: 'cfdi', filters: { ...given, sort, fiscal_entity_id: ledger.fiscal_entity_id } }
  const after = await openCursor(ctx, scope, cursor)
  const listed = await listedOf(ctx)
  const asked = await askedOf(ctx, ledger, read, listed)
  const { filters } = asked
  let data_status: DataStatus | null = null
  const besides: Besides = {
    statements: cursor === undefined ? [dataStatusRows(ledger)] : [],
    take: ([rows]) => {
      if (rows) data_status = dataStatusOf(ledger, filters, rows as DataStatusRow[], ctx.now.getTime())
    },
  }
  const isAscending = !sort.startsWith('-')
  const plans = planned(asked)
  const found = sort.endsWith('total')
    ? { ...(await findByTotal(asked, plans, after as TotalPosition | undefined, isAscending, limit, besides)), isShort: false }
    : await findPage(asked, plans, { after: after as PagePosition | undefined, isAscending }, limit, besides)
  const { items, next, isShort } = found
  const [located = [], ...beyond] = include.length === 0 ? [] : readableOf(await locateContents(ledger, items))
  // A page with contents ends where they would not fit into memory together.
  const [first] = beyond.flat()
  if (first) return searchCfdi(ctx, { ...query, limit: items.indexOf(first.item) })
  const next_cursor = next && (await sealCursor(ctx, scope, next))
  const bytes = located.reduce((sum, { location }) => sum + (location.xml_size ?? 0), 0)
  return holdLarge(ctx, bytes, async () => {
    const included = await includedOf(ledger, located, include)
    return {
      data: items.map(({ row, context }): ListedCfdi => ({ ...chosen(view(row, context, listed), fields), ...included(row.uuid) })),
      has_more: next !== null,
      next_cursor,
      scanned_through: isShort && next ? new Date(Number(next[0]) * 1_000).toISOString() : null,
      data_status,
    }
  })
}

/**
 * Adds up the visible documents of an RFC that match, by what they are: the newest 5,000, when there are more. One call to the ledger. Throws
 * Failure as `searchCfdi` does.
 */
export async function sumCfdi(ctx: Ctx, query: CfdiSumQuery): Promise<CfdiSums> {
  const ledger = openLedger(ctx)
  const { fiscal_entity_id: _, fiscalEntityId: __, ...given } = query
  await refuseUnknownLists(ctx, 'blacklist', given.blacklist)
  const asked = await askedOf(ctx, ledger, fixFilters(ctx, given), await listedOf(ctx))
  const scans = planned(asked).flatMap((one) => scansOf(asked, one, START, MOST_SORTED + 1, MOST_SORTED))
  const { found, end } = scans.length === 0 ? NOTHING : await readScans(asked, scans, false, { statements: [], take: () => {} })
  const documents = found.map(({ row, context }) => view(row, context))
  const alike = Map.groupBy(documents, (one) => JSON.stringify(ALIKE.map((name) => one[name])))
  const data = [...alike]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, own]): CfdiSum => {
      const { direction, kind, tipo_comprobante, estatus, is_substituted, currency } = own[0]!
      const sum = (amounts: readonly (string | null)[]) => decimal(sumAll(amounts.flatMap((one) => (one === null ? [] : micros(one)!))))
      const balances = own.map(({ balance }) => balance).filter((one) => one !== null)
      return {
        ...{ direction, kind, tipo_comprobante, estatus, is_substituted, currency, count: own.length },
        ...{ total: sum(own.map(({ total }) => total)), balance: balances.length === 0 ? null : sum(balances) },
      }
    })
  const scanned_through = end && new Date(Number(end[0]) * 1_000).toISOString()
  return { fiscal_entity_id: ledger.fiscal_entity_id, count: documents.length, scanned_through, data, ...WHOLE }
}

const ALIKE = ['direction', 'kind', 'tipo_comprobante', 'estatus', 'is_substituted', 'currency'] as const
const NOTHING = { found: [], end: null }

export type { PageItem, PagePosition } from './store.ts'

/** Filters that mean the same at any time. */
export type FixedFilters = Omit<CfdiFilters, 'as_of' | 'overdue_days_min'> & Pick<Filters, 'last_day' | 'past' | 'due_to'>

async function askedOf(
  system: System,
  ledger: ScopedLedger,
  { blacklist, ...others }: FixedFilters,
  listed: ListedParties,
): Promise<SearchInput> {
  const { due_to } = others
  const terms = due_to === undefined ? undefined : daysUntilDue(await rulesAt(system, due_to), due_to)
  const filters = { ...others, ...(blacklist && { counterparties: nowListedAs(listed, blacklist) }), ...(terms && { terms }) }
  return { ledger, filters, isMatch: (item) => isMatch(item, others) }
}

/** Finds the documents after a position that match, newest first. `next` is where to continue, null at the end. */
export async function findMatches(
  system: System,
  ledger: ScopedLedger,
  read: FixedFilters,
  listed: ListedParties,
  after: PagePosition | undefined,
  limit: number,
): ReturnType<typeof findPage> {
  const asked = await askedOf(system, ledger, read, listed)
  return findPage(asked, planned(asked), { after, isAscending: false }, limit, { statements: [], take: () => {} })
}

const chosen = (one: Cfdi, fields: CfdiSearch['fields']): Cfdi =>
  fields === undefined ? one : (Object.fromEntries(fields.map((name) => [name, one[name]])) as Cfdi)

type Included = Pick<ListedCfdi, (typeof INCLUDED)[number]>

/** Reads the details that a page includes beside the rows of documents: one statement for each partition. */
async function includedOf(ledger: ScopedLedger, located: readonly Located[], names: readonly (typeof INCLUDED)[number][]) {
  const found = new Map<string, Included>()
  const pick = (from: Included): Included => Object.fromEntries(names.map((name) => [name, from[name]]))
  const nothing = pick({ conceptos: [], pagos: [], relacionados: [] })
  await readContents(ledger, located, (uuid, content) => found.set(uuid, pick(content)))
  return (uuid: string): Included => found.get(uuid) ?? nothing
}

/** What `overdue_days_min` means beside the day: invoices that are owed. */
const OWED = {
  estatus: 'vigente',
  is_substituted: 'false',
  to_itself: 'false',
  metodo_pago: 'PPD',
  payment_status: ['unpaid', 'partially_paid'],
} as const satisfies FixedFilters

/** The filters with the bounds that `as_of` and `overdue_days_min` put on them. Throws Failure 422 as_of.future. */
export function fixFilters({ now }: Pick<Ctx, 'now'>, { as_of, overdue_days_min, ...given }: CfdiFilters, path?: string): FixedFilters {
  const due_to = overdue_days_min === undefined ? null : dayOfEpoch(epochDayOf(as_of ?? centralDayOf(now.getTime())) - overdue_days_min)
  const filters = due_to === null ? given : { ...OWED, ...given, due_to }
  if (as_of === undefined) return filters
  const past = pastDay({ now }, as_of, path)
  const { issued_to } = filters
  const bound = issued_to !== undefined && !isDay(issued_to) ? { last_day: as_of } : { issued_to: [issued_to ?? as_of, as_of].sort()[0]! }
  return { ...filters, ...bound, ...(past === null ? {} : { past }) }
}

// SQL compares the stored balance. It passes every row that may have a different visible one (appliedBeyondCeiling), to be compared here.
function isMatch({ row, context: { applied } }: PageItem, { payment_status, balance_min, paid_from, paid_to }: Filters): boolean {
  if (applied === undefined) return true
  const balance = visibleBalance(row, applied)
  const { last_payment_at: paid } = balance
  return (
    (payment_status === undefined || payment_status.includes(balance.payment_status ?? 'not_applicable')) &&
    (balance_min === undefined || leftOf(row, balance) >= micros(balance_min)!) &&
    (paid_from === undefined || (paid !== null && paid >= paid_from)) &&
    (paid_to === undefined || (paid !== null && paid < afterDay(paid_to)))
  )
}
