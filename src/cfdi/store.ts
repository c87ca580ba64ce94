import { all, type Fragment, join, prepared, raw, sql } from '../db/fragment.ts'
import { type Book, type Books, booksToRead, visible } from '../visibility/books.ts'
import { appliedOf, appliedWhereHidden, parseApplied, shown, stored } from './columns.ts'
import { conditionsOf, type Plan, planSearch } from './plan.ts'
import type { Filters } from './search-contract.ts'
import type { CfdiRow, Sighting } from './view.ts'

/** The place of a document in a page: issued_at in seconds and UUID, both descending. */
export type Place = readonly [issued_at: number, uuid: string]

/** A document that may be shown. */
export interface Seen {
  row: CfdiRow
  sighting: Sighting
}

/** Rows looked at for one page where no index serves every filter. What is beyond them is for the next page. */
const SCAN_ROWS = 250

type PageRow = CfdiRow & { applied: string | null }

const ORDER = raw('order by issued_at desc, uuid desc')

const least = (a: number | null, b: number | null): number | null => (a === null ? b : b === null ? a : Math.min(a, b))
const greatest = (a: number | null, b: number | null): number | null => (a === null ? b : b === null ? a : Math.max(a, b))

/** From where a page of a book begins: an index takes one upper bound only, so the cursor stands for the others when it is lower. */
const upperBound = (until: number | null, after: Place | undefined): Fragment[] => {
  if (after && (until === null || after[0] <= until)) return [sql`(cfdi.issued_at, cfdi.uuid) < (${after[0]}, ${after[1]})`]
  return until === null ? [] : [sql`cfdi.issued_at <= ${until}`]
}

const merged = (book: Book, plan: Plan, after: Place | undefined, columns: Fragment): Fragment => {
  const since = greatest(plan.since, book.since)
  const bounds = [
    ...(since === null ? [] : [sql`cfdi.issued_at >= ${since}`]),
    ...upperBound(least(plan.until, book.until), after),
    ...plan.days,
    ...(book.origin === 'authority' ? book.conditions('cfdi') : []),
  ]
  const streams = plan.streams.map(
    ({ index, fixed }) =>
      sql`select ${columns} from cfdi indexed by ${raw(index)} where ${all([sql`cfdi.entity = ${raw(String(book.number))}`, fixed, ...bounds])}`,
  )
  return join([join(streams, ' union all '), ORDER], ' ')
}

const page = (book: Book, rows: Fragment, rest: readonly Fragment[], take: number): Fragment =>
  sql`select ${shown('page')}, ${appliedWhereHidden(book, 'page')} as applied from (${rows}) page where ${all(rest)} limit ${take}`

/** The statements of one book: its rows and, where rows are looked at one by one, the last place that was looked at. */
function statementsOf(book: Book, plan: Plan, after: Place | undefined, take: number): Fragment[] {
  const rest = book.origin === 'import' ? [...plan.rest, ...book.conditions('page')] : plan.rest
  const rows = (limit: number) => sql`${merged(book, plan, after, stored('cfdi'))} limit ${limit}`
  if (rest.length === 0) return [page(book, rows(take), [], take)]
  return [
    page(book, rows(SCAN_ROWS), rest, take),
    sql`${merged(book, plan, after, raw('cfdi.issued_at, cfdi.uuid'))} limit 1 offset ${SCAN_ROWS - 1}`,
  ]
}

const byUuid = (book: Book, filters: Filters, after: Place | undefined, take: number): Fragment => {
  const rows = sql`select ${stored('cfdi')} from json_each(${JSON.stringify(filters.uuid)}) wanted cross join cfdi
    where cfdi.uuid = wanted.value and ${all([visible(book, 'cfdi'), ...(after ? [sql`(+cfdi.issued_at, cfdi.uuid) < (${after[0]}, ${after[1]})`] : [])])} ${ORDER}`
  return page(book, rows, instantsOf(filters), take)
}

const instantsOf = (filters: Filters): Fragment[] => {
  const { since, until } = planSearch('', filters)
  return [
    ...conditionsOf(filters),
    ...(since === null ? [] : [sql`issued_at >= ${since}`]),
    ...(until === null ? [] : [sql`issued_at <= ${until}`]),
  ]
}

const isBefore = (a: Place, b: Place): boolean => a[0] > b[0] || (a[0] === b[0] && a[1] > b[1])
const placeOf = ({ issued_at, uuid }: { issued_at: number; uuid: string }): Place => [issued_at, uuid]

/**
 * Documents after a place, newest first, at most `limit`, out of every book that may be read, in one call. `next` is the place to go on
 * from, null at the end; where rows are looked at one by one it can come with fewer documents than `limit`.
 */
export async function findPage(
  books: Books,
  filters: Filters,
  after: Place | undefined,
  limit: number,
): Promise<{ seen: Seen[]; next: Place | null }> {
  const take = limit + 1
  const plan = planSearch(books.rfc, filters)
  if (plan.streams.length === 0) return { seen: [], next: null }
  const statements = booksToRead(books).map((book) => ({
    book,
    fragments: filters.uuid ? [byUuid(book, filters, after, take)] : statementsOf(book, plan, after, take),
  }))
  if (statements.length === 0) return { seen: [], next: null }
  const results = await books.ledger.batch(statements.flatMap(({ fragments }) => fragments.map((one) => prepared(books.ledger, one))))
  let at = 0
  let horizon: Place | null = null
  const seen: Seen[] = []
  for (const { book, fragments } of statements) {
    const rows = results[at]!.results as PageRow[]
    const looked = fragments.length > 1 ? (results[at + 1]!.results[0] as CfdiRow | undefined) : undefined
    at += fragments.length
    // Nothing is known of a book beyond its last row when it gave all that was asked for, nor beyond the last row looked at.
    const end = rows.length === take ? rows.at(-1) : looked
    if (end && (horizon === null || isBefore(placeOf(end), horizon))) horizon = placeOf(end)
    for (const row of rows) seen.push(seenIn(books, book, row))
  }
  const known = seen
    .filter(({ row }) => horizon === null || !isBefore(horizon, placeOf(row)))
    .sort((a, b) => (isBefore(placeOf(a.row), placeOf(b.row)) ? -1 : 1))
  if (known.length > limit) return { seen: known.slice(0, limit), next: placeOf(known[limit - 1]!.row) }
  return { seen: known, next: horizon }
}

const seenIn = ({ fiscal_entity_id }: Books, { origin }: Book, row: PageRow): Seen => ({
  row,
  sighting: { fiscal_entity_id, origin, applied: row.applied === null ? undefined : parseApplied(row.applied).map(appliedOf) },
})
