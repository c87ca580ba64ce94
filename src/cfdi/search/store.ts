import { type SQL, sql } from 'drizzle-orm'
import { commit } from '../../platform/db/commit.ts'
import { all, bare, rendered } from '../../platform/db/statement.ts'
import { boundsOf, isVisible, type Partition, partitionsToRead, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { appliedBeyondCeiling, appliedOf, appliedTo, parseApplied, rowOn, stateOn } from '../applied/applied.ts'
import { cfdiAs } from '../columns.ts'
import type { RowContext } from '../read-row.ts'
import { parseRow, READ_ROW_JSON, type ReadRow, ROW_JSON, STORED_COLUMNS } from '../read-row.ts'
import { cfdi } from '../tables.ts'
import type { Filters } from './contract.ts'
import { conditionsOf, greatest, least, planSearch, type SearchPlan } from './plan.ts'

const page = cfdiAs('page')
const later = cfdiAs('later')

/** The position of a document in a page: issued_at in seconds and UUID. */
export type PagePosition = readonly [issued_at: number, uuid: string]

/** A visible document. */
export interface PageItem {
  row: ReadRow
  context: RowContext
}

/** Where a page begins, and in which direction it continues. */
export interface PageStart {
  after: PagePosition | undefined
  isAscending: boolean
}

/**
 * How many rows are scanned, one call after the other, where no index serves every filter, until the page is full: 5,000 in all. Rows whose
 * visible balances are compared here come in smaller calls, because SQL cannot leave them out.
 */
const ROUNDS = { usual: [250, 4_750], compared: [250, 1_000, 1_000, 1_000, 1_000, 750] } as const

/** `row` is for `parseRow`. `fits` says whether a row that was scanned by `scanInvoices` belongs to the page. */
interface PageRow {
  row: string
  applied: string | null
  /** For `rowOn`, as of a past day. */
  state?: string
  fits?: 0 | 1 | null
}

/** D1 accepts no more terms in a compound SELECT. */
const MAX_TERMS = 5

/** As the index has it. */
const IS_DATED_IN_ANOTHER_ZONE = rendered(sql`substr(${cfdi.fecha}, 1, 10) <> date(${cfdi.issued_at} - 21600, 'unixepoch')`)

const [ISSUED_AT, UUID] = [bare(cfdi.issued_at), bare(cfdi.uuid)]
const orderOf = (isAscending: boolean): SQL =>
  isAscending ? sql`order by ${ISSUED_AT}, ${UUID}` : sql`order by ${ISSUED_AT} desc, ${UUID} desc`

/** Bounds of issued_at. An index takes one bound of each side only, so the cursor's replaces the other when it is narrower. */
function between(since: number | null, until: number | null, { after, isAscending }: PageStart): SQL[] {
  const isFrom = after !== undefined && isAscending && (since === null || after[0] >= since)
  const isTo = after !== undefined && !isAscending && (until === null || after[0] <= until)
  return [
    ...(isFrom
      ? [sql`(${cfdi.issued_at}, ${cfdi.uuid}) > (${after[0]}, ${after[1]})`]
      : since === null
        ? []
        : [sql`${cfdi.issued_at} >= ${since}`]),
    ...(isTo
      ? [sql`(${cfdi.issued_at}, ${cfdi.uuid}) < (${after[0]}, ${after[1]})`]
      : until === null
        ? []
        : [sql`${cfdi.issued_at} <= ${until}`]),
  ]
}

/**
 * The rows of all streams in the order of the page. Where literal days are asked for, the streams end with the day in UTC−6, and strays
 * beyond it are a stream of their own: without them, a page would read the documents of three hours that are not of the day.
 */
export function merged(partition: Partition, plan: SearchPlan, start: PageStart, columns: SQL): SQL {
  const { streams, days, central } = plan
  const { after, isAscending } = start
  const conditions = [...days, ...(partition.origin === 'authority' ? partition.conditions('cfdi') : [])]
  const select = (index: string, ...own: SQL[]) =>
    sql`select ${columns} from ${cfdi} indexed by ${sql.raw(index)} where ${all([sql`${cfdi.entity} = ${partition.number}`, ...own, ...conditions])}`
  const [earliest, latest] = [Math.min(...streams.map(({ since }) => since ?? 0)), Math.max(...streams.map(({ until }) => until ?? 0))]
  const checkpoint = after?.[0] ?? null
  const isBeyond = central.to !== null && (isAscending ? latest : least(checkpoint, latest)!) > central.to
  const isBefore = central.from !== null && (isAscending ? greatest(checkpoint, earliest)! : earliest) < central.from
  // The first page of four streams reads the documents of an hour more if it reaches the last day of its order.
  const isFull = streams.length + (isBeyond ? 1 : 0) + (isBefore ? 1 : 0) > MAX_TERMS
  const to = isBeyond && !(isFull && isAscending) ? central.to : null
  const from = isBefore && !(isFull && !isAscending) ? central.from : null
  const otherDays = (since: number | null, until: number | null): SQL => {
    const ofStreams = streams.map((stream) =>
      all([stream.fixed, ...between(stream.since, stream.until, { after: undefined, isAscending })]),
    )
    return select(
      'cfdi_dated_in_another_zone',
      IS_DATED_IN_ANOTHER_ZONE,
      ...between(since, until, start),
      sql`(${sql.join([...ofStreams], sql` or `)})`,
    )
  }
  const selects = [
    ...streams.map(({ index, fixed, since, until }) => select(index, fixed, ...between(greatest(since, from), least(until, to), start))),
    ...(to === null ? [] : [otherDays(to + 1, latest)]),
    ...(from === null ? [] : [otherDays(earliest, from - 1)]),
  ]
  return sql.join([sql.join([...selects], sql` union all `), orderOf(isAscending)], sql` `)
}

/** What the outer select needs when it has no condition. */
const WITH_JSON = rendered(sql`${cfdi.issued_at}, ${cfdi.uuid}, ${cfdi.direction}, ${cfdi.applied_until}, ${ROW_JSON} as json`)

/** SQLite prepares a statement again whenever a limit is bound, which takes longer than to run it: limits are written into the text. */
const limited = (rows: number): SQL => sql.raw(`limit ${rows}`)

const selectPage = (partition: Partition, row: SQL, more: SQL, rows: SQL): SQL =>
  sql`select ${row} as row, ${appliedBeyondCeiling(partition, 'page')} as applied${more} from (${rows}) page`

/** The same as of a past day, out of `STORED_COLUMNS`. Only these invoices have a balance that applications change. */
const selectPast = (partition: Partition, day: string, rows: SQL): SQL =>
  sql`select ${READ_ROW_JSON} as row, ${stateOn(partition, 'page', day)} as state,
    case when ${page.tipo_comprobante} = 'I' and ${page.metodo_pago} = 'PPD' then ${appliedTo(partition, 'page', day)} else '[]' end as applied from (${rows}) page`

const filteredPage = (partition: Partition, rows: SQL, rest: readonly SQL[], take: number, past: string | undefined): SQL =>
  sql`${past === undefined ? selectPage(partition, READ_ROW_JSON, sql``, rows) : selectPast(partition, past, rows)} where ${all(rest)} ${limited(take)}`

/** The statements that read some of a partition's rows and, where rows are scanned one by one, the last one scanned with the one behind it. */
interface Scan {
  partition: Partition
  /** When it finds rows, they take the place of those of the scan before it. */
  replaces?: true
  /** When as many rows are found, there may be more. */
  limit: number
  /** For a scan that returns every row, how many of them count. The next one shows that there are more. */
  most?: number
  statements: readonly [page: SQL, last?: SQL]
}

/** The conditions that the streams leave open. */
export const restOf = (partition: Partition, { rest }: SearchPlan): SQL[] => [
  ...rest,
  ...(partition.origin === 'import' ? partition.conditions('page') : []),
]

function scanStreams(partition: Partition, plan: SearchPlan, start: PageStart, take: number, scanned: number, past?: string): Scan {
  const rest = restOf(partition, plan)
  const rows = (columns: SQL, limit: number) => sql`${merged(partition, plan, start, columns)} ${limited(limit)}`
  const isWhole = rest.length === 0 && !(past !== undefined && plan.isCompared)
  if (isWhole && past !== undefined)
    return { partition, limit: take, statements: [selectPast(partition, past, rows(STORED_COLUMNS, take))] }
  if (isWhole) return { partition, limit: take, statements: [selectPage(partition, sql`json`, sql``, rows(WITH_JSON, take))] }
  const last = sql`${merged(partition, plan, start, sql`${cfdi.issued_at}, ${cfdi.uuid}`)} ${limited(2)} offset ${sql.raw(String(scanned - 1))}`
  const page = (most: number) => filteredPage(partition, rows(STORED_COLUMNS, scanned), rest, most, past)
  // Rows that `isMatch` refuses must not fill the page, which would tell where they are.
  if (plan.isCompared) return { partition, limit: Number.POSITIVE_INFINITY, statements: [page(scanned), last] }
  return { partition, limit: take, statements: [page(take), last] }
}

/**
 * Scans all invoices, because the ceiling may give some a payment status other than the stored one. Scans nothing unless a payment or
 * credit note, or what substitutes one, was issued after the ceiling: usually none was, and two seeks find that out. What it finds replaces
 * what `scanStreams` found.
 */
function scanInvoices(partition: Partition, plan: SearchPlan, start: PageStart, scanned: number): Scan {
  const isAny = (index: string, fixed: SQL, from: 'issued_at' | 'substituted_from' = 'issued_at'): SQL => {
    const directions = [...new Set(plan.streams.map(({ direction }) => direction))]
    const exists = directions.map(
      (
        direction,
      ) => sql`exists (select 1 from ${cfdi} ${later} indexed by ${sql.raw(index)} where ${later.entity} = ${partition.number} and ${fixed}
        and ${later.direction} = ${direction} and ${later[from]} > ${boundsOf(partition, direction)?.until ?? null})`,
    )
    // The planner sees the values.
    return sql.join(exists, sql` or `).inlineParams()
  }
  const anything = isAny('cfdi_dirc', sql`${later.cancelled} = 0`)
  const applied = sql`${isAny('cfdi_tipoc', sql`${later.cancelled} = 0 and ${later.tipo_comprobante} in ('P', 'E')`)} or ${isAny('cfdi_substituted', sql`1`, 'substituted_from')}`
  const rows = sql`${merged(partition, plan, start, STORED_COLUMNS)}
    limit case when ${anything} then case when ${applied} then ${sql.raw(String(scanned + 1))} else 0 end else 0 end`
  // Every scanned row is returned. To number the rows, or to read the last one separately, would read more rows than a page may.
  const statement = selectPage(partition, READ_ROW_JSON, sql`, ${all(restOf(partition, plan))} as fits`, rows)
  return { partition, limit: Number.POSITIVE_INFINITY, most: scanned, statements: [statement], replaces: true }
}

/** A row of each UUID, under every filter. */
function byUuid(partition: Partition, filters: Filters, { after, isAscending }: PageStart): SQL {
  const behind = after && sql`(+${cfdi.issued_at}, ${cfdi.uuid}) ${sql.raw(isAscending ? '>' : '<')} (${after[0]}, ${after[1]})`
  const rows = sql`select ${STORED_COLUMNS} from json_each(${JSON.stringify(filters.uuid)}) wanted cross join ${cfdi}
    where ${cfdi.uuid} = wanted.value and ${all([isVisible(partition, 'cfdi'), ...(behind ? [behind] : [])])} ${orderOf(isAscending)}`
  return filteredPage(partition, rows, conditionsOf(filters, partition), filters.uuid!.length, filters.past)
}

const isBefore = (a: PagePosition, b: PagePosition): boolean => a[0] > b[0] || (a[0] === b[0] && a[1] > b[1])
const positionOf = ({ issued_at, uuid }: { issued_at: number; uuid: string }): PagePosition => [issued_at, uuid]

/** A search of a ledger. */
export interface SearchInput {
  ledger: ScopedLedger
  filters: Filters
  /** Compares what SQL leaves open. */
  isMatch: (item: PageItem) => boolean
}

/** A partition with the plan that reads it. */
export interface Planned {
  partition: Partition
  plan: SearchPlan
}

/** The partitions in which something can be found. */
export const planned = ({ ledger, filters }: SearchInput): Planned[] =>
  partitionsToRead(ledger)
    .map((partition) => ({ partition, plan: planSearch(ledger.rfc, filters, partition) }))
    .filter(({ plan }) => plan.streams.length > 0)

/** Further statements of the first call, and a function that takes their rows. */
export interface Besides {
  statements: readonly SQL[]
  take: (results: readonly unknown[][]) => void
}
const NOTHING_BESIDES: Besides = { statements: [], take: () => {} }

interface SearchedPage {
  items: PageItem[]
  /** The position to continue from, null at the end. */
  next: PagePosition | null
  /** Whether the page ends there because enough documents were looked at. */
  isShort: boolean
}

/**
 * Finds the documents after a position that match, at most `limit`, out of every partition that may be read. One call, and more only while
 * rows are scanned one by one and the page is not full.
 */
export async function findPage(
  asked: SearchInput,
  plans: readonly Planned[],
  { after, isAscending }: PageStart,
  limit: number,
  besides: Besides = NOTHING_BESIDES,
): Promise<SearchedPage> {
  const items: PageItem[] = []
  if (plans.length + besides.statements.length === 0) return { items, next: null, isShort: false }
  const rounds = plans.some(({ plan }) => plan.isCompared || plan.invoices) ? ROUNDS.compared : ROUNDS.usual
  let checkpoint = after
  for (const [n, scanned] of rounds.entries()) {
    const scans = plans.flatMap((one) => scansOf(asked, one, { after: checkpoint, isAscending }, limit + 1 - items.length, scanned))
    const { found, end } = await readScans(asked, scans, isAscending, n === 0 ? besides : NOTHING_BESIDES)
    items.push(...found)
    if (items.length > limit) return { items: items.slice(0, limit), next: positionOf(items[limit - 1]!.row), isShort: false }
    if (end === null) return { items, next: null, isShort: false }
    checkpoint = end
  }
  return { items, next: checkpoint!, isShort: true }
}

export function scansOf({ filters }: SearchInput, { partition, plan }: Planned, start: PageStart, take: number, scanned: number): Scan[] {
  if (filters.uuid) return [{ partition, limit: Number.POSITIVE_INFINITY, statements: [byUuid(partition, filters, start)] }]
  const scan = scanStreams(partition, plan, start, take, scanned, filters.past)
  return plan.invoices ? [scan, scanInvoices(partition, plan.invoices, start, scanned)] : [scan]
}

/** Reads scans in one call: what they found up to the first place where one of them ends, which is null when all end with the history. */
export async function readScans(
  { ledger, isMatch }: SearchInput,
  scans: readonly Scan[],
  isAscending: boolean,
  { statements: more, take }: Besides,
): Promise<{ found: PageItem[]; end: PagePosition | null }> {
  const isFirst = (a: PagePosition, b: PagePosition) => (isAscending ? isBefore(b, a) : isBefore(a, b))
  const statements = scans.flatMap((one) => one.statements as readonly SQL[])
  const results = await commit(ledger.d1, [...statements, ...more])
  let horizon: PagePosition | null = null
  const read: PageItem[] = []
  const found = scans.map((scan) => ({ scan, results: results.splice(0, scan.statements.length) }))
  take(results.map((one) => one.results))
  const isReplaced = (n: number): boolean => found[n + 1]?.scan.replaces === true && found[n + 1]!.results[0]!.results.length > 0
  for (const [n, { scan, results: own }] of found.entries()) {
    if (isReplaced(n)) continue
    const [first, last] = own
    const all = first!.results as unknown as PageRow[]
    const rows = all.slice(0, scan.most)
    const parsed = rows.map(({ row }) => parseRow(row))
    // Nothing is known beyond the last row of a scan that found its limit, nor beyond the last row scanned.
    const [lastScanned, behind] = (last?.results ?? []) as ReadRow[]
    const isCut = rows.length === scan.limit || rows.length < all.length
    const end = isCut ? parsed.at(-1) : behind && lastScanned
    if (end && (horizon === null || isFirst(positionOf(end), horizon))) horizon = positionOf(end)
    for (const [i, { applied, state, fits }] of rows.entries())
      if (fits === undefined || fits === 1)
        read.push(itemOf(ledger, scan.partition, state === undefined ? parsed[i]! : rowOn(parsed[i]!, state), applied))
  }
  return {
    found: read
      .filter((item) => (horizon === null || !isFirst(horizon, positionOf(item.row))) && isMatch(item))
      .sort((a, b) => (isFirst(positionOf(a.row), positionOf(b.row)) ? -1 : 1)),
    end: horizon,
  }
}

export const itemOf = ({ fiscal_entity_id }: ScopedLedger, partition: Partition, row: ReadRow, applied: string | null): PageItem => ({
  row,
  context: { fiscal_entity_id, partition, applied: applied === null ? undefined : parseApplied(applied).map(appliedOf) },
})
