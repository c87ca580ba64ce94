import { all, type Fragment, join, prepared, raw, sql } from '../../platform/db/fragment.ts'
import { boundsOf, isVisible, type Partition, partitionsToRead, type ScopedLedger } from '../../visibility/scoped-ledger.ts'
import { appliedBeyondCeiling, appliedOf, appliedTo, parseApplied } from '../applied/applied.ts'
import { rowOn, stateOn } from '../applied/as-of.ts'
import { parseRow, READ_ROW_JSON, type ReadRow, ROW_JSON, storedColumns } from '../read-row.ts'
import type { RowContext } from '../view.ts'
import type { Filters } from './contract.ts'
import { conditionsOf, greatest, least, planSearch, type SearchPlan } from './plan.ts'

/** The position of a document in a page: issued_at in seconds and UUID, both descending. */
export type PagePosition = readonly [issued_at: number, uuid: string]

/** A visible document. */
export interface PageItem {
  row: ReadRow
  context: RowContext
}

/** How many rows are scanned for one page where no index serves every filter. The next page scans the following ones. */
const SCAN_ROWS = 250

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
const IS_STRAY = "substr(fecha, 1, 10) <> date(issued_at - 21600, 'unixepoch')"

const ORDER = raw('order by issued_at desc, uuid desc')

/** Bounds of issued_at. An index takes one upper bound only, so the cursor's replaces the other when it is lower. */
const between = (since: number | null, until: number | null, after: PagePosition | undefined): Fragment[] => [
  ...(since === null ? [] : [sql`cfdi.issued_at >= ${since}`]),
  ...(after && (until === null || after[0] <= until)
    ? [sql`(cfdi.issued_at, cfdi.uuid) < (${after[0]}, ${after[1]})`]
    : until === null
      ? []
      : [sql`cfdi.issued_at <= ${until}`]),
]

/**
 * The rows of all streams in the order of the page. Where literal days are asked for, the streams end with the day in UTC−6, and strays
 * beyond it are a stream of their own: without them, a page would read the documents of three hours that are not of the day.
 */
function merged(partition: Partition, plan: SearchPlan, after: PagePosition | undefined, columns: Fragment): Fragment {
  const { streams, days, central } = plan
  const conditions = [...days, ...(partition.origin === 'authority' ? partition.conditions('cfdi') : [])]
  const select = (index: string, ...own: Fragment[]) =>
    sql`select ${columns} from cfdi indexed by ${raw(index)} where ${all([sql`cfdi.entity = ${partition.number}`, ...own, ...conditions])}`
  const [earliest, latest] = [Math.min(...streams.map(({ since }) => since ?? 0)), Math.max(...streams.map(({ until }) => until ?? 0))]
  const to = central.to !== null && least(after?.[0] ?? null, latest)! > central.to ? central.to : null
  // The first page of four streams reads the documents of an hour more if it reaches the first day.
  const isFull = streams.length + (to === null ? 0 : 1) === MAX_TERMS
  const from = central.from !== null && earliest < central.from && !isFull ? central.from : null
  const strays = (since: number | null, until: number | null): Fragment => {
    const ofStreams = streams.map((stream) => all([stream.fixed, ...between(stream.since, stream.until, undefined)]))
    return select('cfdi_stray', raw(IS_STRAY), ...between(since, until, after), sql`(${join(ofStreams, ' or ')})`)
  }
  const selects = [
    ...streams.map(({ index, fixed, since, until }) => select(index, fixed, ...between(greatest(since, from), least(until, to), after))),
    ...(to === null ? [] : [strays(to + 1, latest)]),
    ...(from === null ? [] : [strays(earliest, from - 1)]),
  ]
  return join([join(selects, ' union all '), ORDER], ' ')
}

/** What the outer select needs when it has no condition. */
const WITH_JSON = sql`cfdi.issued_at, cfdi.uuid, cfdi.direction, cfdi.applied_until, ${ROW_JSON} as json`

/** SQLite prepares a statement again whenever a limit is bound, which takes longer than to run it: limits are written into the text. */
const limited = (rows: number): Fragment => raw(`limit ${rows}`)

const selectPage = (partition: Partition, row: Fragment, more: Fragment, rows: Fragment): Fragment =>
  sql`select ${row} as row, ${appliedBeyondCeiling(partition, 'page')} as applied${more} from (${rows}) page`

/** The same as of a past day, out of `storedColumns`. Only these invoices have a balance that applications change. */
const selectPast = (partition: Partition, day: string, rows: Fragment): Fragment =>
  sql`select ${READ_ROW_JSON} as row, ${stateOn(partition, 'page', day)} as state,
    case when page.tipo_comprobante = 'I' and page.metodo_pago = 'PPD' then ${appliedTo(partition, 'page', day)} else '[]' end as applied from (${rows}) page`

const filteredPage = (partition: Partition, rows: Fragment, rest: readonly Fragment[], take: number, past: string | undefined): Fragment =>
  sql`${past === undefined ? selectPage(partition, READ_ROW_JSON, raw(''), rows) : selectPast(partition, past, rows)} where ${all(rest)} ${limited(take)}`

/** The statements that read a page of a partition's rows and, where rows are scanned one by one, the position of the last one scanned. */
interface Scan {
  partition: Partition
  /** When it finds rows, they take the place of those of the scan before it. */
  replaces?: true
  /** When as many rows are found, there may be more. */
  limit: number
  statements: readonly [page: Fragment, last?: Fragment]
}

/** The conditions that the streams leave open. */
const restOf = (partition: Partition, { rest }: SearchPlan): Fragment[] => [
  ...rest,
  ...(partition.origin === 'import' ? partition.conditions('page') : []),
]

function scanStreams(partition: Partition, plan: SearchPlan, after: PagePosition | undefined, take: number, past?: string): Scan {
  const rest = restOf(partition, plan)
  const rows = (columns: Fragment, limit: number) => sql`${merged(partition, plan, after, columns)} ${limited(limit)}`
  if (rest.length === 0 && past !== undefined)
    return { partition, limit: take, statements: [selectPast(partition, past, rows(storedColumns('cfdi'), take))] }
  if (rest.length === 0) return { partition, limit: take, statements: [selectPage(partition, raw('json'), raw(''), rows(WITH_JSON, take))] }
  const last = sql`${merged(partition, plan, after, raw('cfdi.issued_at, cfdi.uuid'))} ${limited(1)} offset ${raw(String(SCAN_ROWS - 1))}`
  // Rows that `isMatch` refuses must not fill the page, which would tell where they are.
  const most = plan.isCompared ? SCAN_ROWS : take
  return { partition, limit: most, statements: [filteredPage(partition, rows(storedColumns('cfdi'), SCAN_ROWS), rest, most, past), last] }
}

/**
 * Scans all invoices, because the ceiling may give some a payment status other than the stored one. Scans nothing unless a payment or
 * credit note, or what substitutes one, was issued after the ceiling: usually none was, and two seeks find that out. What it finds replaces
 * what `scanStreams` found.
 */
function scanInvoices(partition: Partition, plan: SearchPlan, after: PagePosition | undefined): Scan {
  const later = (index: string, fixed: string, from = 'issued_at') => {
    const directions = [...new Set(plan.streams.map(({ direction }) => direction))]
    const exists = directions.map(
      (direction) => `exists (select 1 from cfdi later indexed by ${index} where later.entity = ${partition.number} and ${fixed}
        and later.direction = ${direction} and later.${from} > ${boundsOf(partition, direction)?.until})`,
    )
    return exists.join(' or ')
  }
  const anything = later('cfdi_dirc', 'later.cancelled = 0')
  const applied = `${later('cfdi_tipoc', "later.cancelled = 0 and later.tipo_comprobante in ('P', 'E')")} or ${later('cfdi_substituted', '1', 'substituted_from')}`
  const rows = sql`${merged(partition, plan, after, storedColumns('cfdi'))}
    limit case when ${raw(anything)} then case when ${raw(applied)} then ${raw(String(SCAN_ROWS))} else 0 end else 0 end`
  // Every scanned row is returned. To number the rows, or to read the last one separately, would read more rows than a page may.
  const statement = selectPage(partition, READ_ROW_JSON, sql`, ${all(restOf(partition, plan))} as fits`, rows)
  return { partition, limit: SCAN_ROWS, statements: [statement], replaces: true }
}

function scansOf(partition: Partition, plan: SearchPlan, after: PagePosition | undefined, take: number, past?: string): Scan[] {
  const scan = scanStreams(partition, plan, after, take, past)
  return plan.invoices ? [scan, scanInvoices(partition, plan.invoices, after)] : [scan]
}

const byUuid = (partition: Partition, filters: Filters, after: PagePosition | undefined): Fragment => {
  const rows = sql`select ${storedColumns('cfdi')} from json_each(${JSON.stringify(filters.uuid)}) wanted cross join cfdi
    where cfdi.uuid = wanted.value and ${all([isVisible(partition, 'cfdi'), ...(after ? [sql`(+cfdi.issued_at, cfdi.uuid) < (${after[0]}, ${after[1]})`] : [])])} ${ORDER}`
  return filteredPage(partition, rows, conditionsOf(filters, partition), filters.uuid!.length, filters.past)
}

const isBefore = (a: PagePosition, b: PagePosition): boolean => a[0] > b[0] || (a[0] === b[0] && a[1] > b[1])
const positionOf = ({ issued_at, uuid }: { issued_at: number; uuid: string }): PagePosition => [issued_at, uuid]

/**
 * Finds the documents after a position that match, newest first, at most `limit`, out of every partition that may be read, in one call.
 * `next` is the position to continue from, null at the end. Where rows are scanned one by one, it can come with fewer items than `limit`.
 */
export async function findPage(
  ledger: ScopedLedger,
  filters: Filters,
  after: PagePosition | undefined,
  limit: number,
  isMatch: (item: PageItem) => boolean,
): Promise<{ items: PageItem[]; next: PagePosition | null }> {
  const take = limit + 1
  const scans = partitionsToRead(ledger).flatMap((partition): Scan[] => {
    const plan = planSearch(ledger.rfc, filters, partition)
    if (plan.streams.length === 0) return []
    if (filters.uuid) return [{ partition, limit: Number.POSITIVE_INFINITY, statements: [byUuid(partition, filters, after)] }]
    return scansOf(partition, plan, after, take, filters.past)
  })
  if (scans.length === 0) return { items: [], next: null }
  const results = await ledger.d1.batch(scans.flatMap(({ statements }) => statements.map((one) => prepared(ledger.d1, one!))))
  let horizon: PagePosition | null = null
  const read: PageItem[] = []
  const found = scans.map((scan) => ({ scan, results: results.splice(0, scan.statements.length) }))
  const isReplaced = (n: number): boolean => found[n + 1]?.scan.replaces === true && found[n + 1]!.results[0]!.results.length > 0
  for (const [
    n,
    {
      scan,
      results: [first, last],
    },
  ] of found.entries()) {
    if (isReplaced(n)) continue
    const rows = first!.results as PageRow[]
    // Nothing is known beyond the last row of a scan that found its limit, nor beyond the last row scanned.
    const parsed = rows.map(({ row }) => parseRow(row))
    const end = rows.length === scan.limit ? parsed.at(-1) : (last?.results[0] as ReadRow | undefined)
    if (end && (horizon === null || isBefore(positionOf(end), horizon))) horizon = positionOf(end)
    for (const [i, { applied, state, fits }] of rows.entries())
      if (fits === undefined || fits === 1)
        read.push(itemOf(ledger, scan.partition, state === undefined ? parsed[i]! : rowOn(parsed[i]!, state), applied))
  }
  const items = read
    .filter((item) => (horizon === null || !isBefore(horizon, positionOf(item.row))) && isMatch(item))
    .sort((a, b) => (isBefore(positionOf(a.row), positionOf(b.row)) ? -1 : 1))
  if (items.length > limit) return { items: items.slice(0, limit), next: positionOf(items[limit - 1]!.row) }
  return { items, next: horizon }
}

export const itemOf = ({ fiscal_entity_id }: ScopedLedger, partition: Partition, row: ReadRow, applied: string | null): PageItem => ({
  row,
  context: { fiscal_entity_id, partition, applied: applied === null ? undefined : parseApplied(applied).map(appliedOf) },
})
