import { all, type Fragment, join, prepared, raw, sql } from '../../platform/db/fragment.ts'
import { type Partition, partitionsToRead, type ScopedLedger, visible } from '../../visibility/scoped-ledger.ts'
import { appliedOf, appliedWhereHidden, parseApplied } from '../applied.ts'
import { shown, stored } from '../columns.ts'
import type { CfdiRow, Sighting } from '../view.ts'
import { isBeyond } from './conditions.ts'
import type { Filters } from './contract.ts'
import { conditionsOf, type Plan, planSearch } from './plan.ts'

/** The place of a document in a page: issued_at in seconds and UUID, both descending. */
export type Place = readonly [issued_at: number, uuid: string]

/** A document that may be shown. */
export interface Seen {
  row: CfdiRow
  sighting: Sighting
}

/** Rows looked at for one page where no index serves every filter. What is beyond them is for the next page. */
const SCAN_ROWS = 250

/** `fits` says of a row that was only looked at (`lookBeyond`) whether it is one of the page. */
type PageRow = CfdiRow & { applied: string | null; fits?: 0 | 1 | null }

const ORDER = raw('order by issued_at desc, uuid desc')

const least = (a: number | null, b: number | null): number | null => (a === null ? b : b === null ? a : Math.min(a, b))
const greatest = (a: number | null, b: number | null): number | null => (a === null ? b : b === null ? a : Math.max(a, b))

/** From where a page of a book begins: an index takes one upper bound only, so the cursor stands for the others when it is lower. */
const upperBound = (until: number | null, after: Place | undefined): Fragment[] => {
  if (after && (until === null || after[0] <= until)) return [sql`(cfdi.issued_at, cfdi.uuid) < (${after[0]}, ${after[1]})`]
  return until === null ? [] : [sql`cfdi.issued_at <= ${until}`]
}

const merged = (
  book: Partition,
  entity: Fragment,
  { streams, since, until, days }: Plan,
  after: Place | undefined,
  columns: Fragment,
): Fragment => {
  const from = greatest(since, book.since)
  const bounds = [
    ...(from === null ? [] : [sql`cfdi.issued_at >= ${from}`]),
    ...upperBound(least(until, book.until), after),
    ...days,
    ...(book.origin === 'authority' ? book.conditions('cfdi') : []),
  ]
  const along = streams.map(
    ({ index, fixed }) =>
      sql`select ${columns} from cfdi indexed by ${raw(index)} where ${all([sql`cfdi.entity = ${entity}`, fixed, ...bounds])}`,
  )
  return join([join(along, ' union all '), ORDER], ' ')
}

const page = (book: Partition, rows: Fragment, rest: readonly Fragment[], take: number): Fragment =>
  sql`select ${shown('page')}, ${appliedWhereHidden(book, 'page')} as applied from (${rows}) page where ${all(rest)} limit ${take}`

/** A page of a book's rows and, where rows are looked at one by one, the last place that was looked at. */
interface Look {
  book: Partition
  /** With as many rows there may be more. */
  most: number
  statements: readonly [page: Fragment, last?: Fragment]
}

/** What the streams leave open on a page that begins here. */
function restOf(book: Partition, { rest, through, until }: Plan, after: Place | undefined): Fragment[] {
  const begins = least(after?.[0] ?? null, least(until, book.until)) ?? Number.POSITIVE_INFINITY
  return [
    ...rest,
    ...(through !== null && begins > through.from ? through.condition : []),
    ...(book.origin === 'import' ? book.conditions('page') : []),
  ]
}

function lookAlong(book: Partition, plan: Plan, after: Place | undefined, take: number): Look {
  const rest = restOf(book, plan, after)
  const rows = (limit: number) => sql`${merged(book, raw(String(book.number)), plan, after, stored('cfdi'))} limit ${limit}`
  if (rest.length === 0) return { book, most: take, statements: [page(book, rows(take), [], take)] }
  const last = sql`${merged(book, raw(String(book.number)), plan, after, raw('cfdi.issued_at, cfdi.uuid'))} limit 1 offset ${SCAN_ROWS - 1}`
  return { book, most: take, statements: [page(book, rows(SCAN_ROWS), rest, take), last] }
}

/**
 * The rows of the other payment statuses that the ceiling makes something else of, looked for one by one. There are none unless
 * something that can count in a balance was issued after the ceiling: as a rule nothing was, and two seeks say so.
 */
function lookBeyond(book: Partition, until: number, plan: Plan, after: Place | undefined): Look {
  const number = raw(String(book.number))
  const later = (index: string, fixed: string) =>
    sql`exists (select 1 from cfdi later indexed by ${raw(index)}
      where later.entity = ${number} and ${raw(fixed)} and later.cancelled = 0 and later.issued_at > ${raw(String(until))})`
  const anything = sql`${later('cfdi_dirc', 'later.direction = 0')} or ${later('cfdi_dirc', 'later.direction = 1')}`
  const applied = later('cfdi_tipoc', "later.tipo_comprobante in ('P', 'E') and later.direction in (0, 1)")
  const rows = sql`${merged(book, number, { ...plan, streams: plan.others }, after, stored('cfdi'))}
    limit case when ${anything} then case when ${applied} then ${SCAN_ROWS} else 0 end else 0 end`
  const fits = all([...restOf(book, plan, after), isBeyond(until)])
  // Every row that is looked at is answered: to number them, or to ask for the last one apart, reads more than a page may.
  const statement = sql`select ${shown('page')}, ${appliedWhereHidden(book, 'page')} as applied, ${fits} as fits from (${rows}) page`
  return { book, most: SCAN_ROWS, statements: [statement] }
}

function looksAt(book: Partition, plan: Plan, after: Place | undefined, take: number): Look[] {
  const look = lookAlong(book, plan, after, take)
  return book.until === null || plan.others.length === 0 ? [look] : [look, lookBeyond(book, book.until, plan, after)]
}

const byUuid = (book: Partition, filters: Filters, after: Place | undefined, take: number): Fragment => {
  const rows = sql`select ${stored('cfdi')} from json_each(${JSON.stringify(filters.uuid)}) wanted cross join cfdi
    where cfdi.uuid = wanted.value and ${all([visible(book, 'cfdi'), ...(after ? [sql`(+cfdi.issued_at, cfdi.uuid) < (${after[0]}, ${after[1]})`] : [])])} ${ORDER}`
  return page(book, rows, instantsOf(filters, book.until), take)
}

const instantsOf = (filters: Filters, ceiling: number | null): Fragment[] => {
  const { since, until } = planSearch('', filters, ceiling)
  return [
    ...conditionsOf(filters, ceiling),
    ...(since === null ? [] : [sql`issued_at >= ${since}`]),
    ...(until === null ? [] : [sql`issued_at <= ${until}`]),
  ]
}

const isBefore = (a: Place, b: Place): boolean => a[0] > b[0] || (a[0] === b[0] && a[1] > b[1])
const placeOf = ({ issued_at, uuid }: { issued_at: number; uuid: string }): Place => [issued_at, uuid]

/**
 * Documents after a place that are asked for, newest first, at most `limit`, out of every book that may be read, in one call. `next` is
 * the place to go on from, null at the end; where rows are looked at one by one it can come with fewer documents than `limit`.
 */
export async function findPage(
  books: ScopedLedger,
  filters: Filters,
  after: Place | undefined,
  limit: number,
  isAsked: (one: Seen) => boolean,
): Promise<{ seen: Seen[]; next: Place | null }> {
  const take = limit + 1
  const looks = partitionsToRead(books).flatMap((book): Look[] => {
    const plan = planSearch(books.rfc, filters, book.until)
    if (plan.streams.length === 0) return []
    return filters.uuid ? [{ book, most: take, statements: [byUuid(book, filters, after, take)] }] : looksAt(book, plan, after, take)
  })
  if (looks.length === 0) return { seen: [], next: null }
  const results = await books.ledger.batch(looks.flatMap(({ statements }) => statements.map((one) => prepared(books.ledger, one!))))
  let horizon: Place | null = null
  const seen: Seen[] = []
  for (const { book, most, statements } of looks) {
    const [found, last] = results.splice(0, statements.length)
    const rows = found!.results as PageRow[]
    // Nothing is known beyond the last row of a look that gave all it was asked for, nor beyond the last row looked at.
    const end = rows.length === most ? rows.at(-1) : (last?.results[0] as CfdiRow | undefined)
    if (end && (horizon === null || isBefore(placeOf(end), horizon))) horizon = placeOf(end)
    for (const row of rows) if (row.fits === undefined || row.fits === 1) seen.push(seenIn(books, book, row))
  }
  const known = seen
    .filter((one) => (horizon === null || !isBefore(horizon, placeOf(one.row))) && isAsked(one))
    .sort((a, b) => (isBefore(placeOf(a.row), placeOf(b.row)) ? -1 : 1))
  if (known.length > limit) return { seen: known.slice(0, limit), next: placeOf(known[limit - 1]!.row) }
  return { seen: known, next: horizon }
}

const seenIn = ({ fiscal_entity_id }: ScopedLedger, { origin }: Partition, row: PageRow): Seen => ({
  row,
  sighting: { fiscal_entity_id, origin, applied: row.applied === null ? undefined : parseApplied(row.applied).map(appliedOf) },
})
