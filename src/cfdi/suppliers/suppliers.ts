import { all, type Fragment, prepared, sql } from '../../platform/db/fragment.ts'
import { dayOf, lastDayOf, plus } from '../../platform/time/months.ts'
import { type Partition, partitionsToRead, type ScopedLedger } from '../../visibility/scoped-ledger.ts'
import { earliestOf, latestOf } from '../../visibility/window.ts'
import { COUNTABLE, type CountableRow } from '../columns.ts'
import { afterDay } from '../literal-day.ts'
import { addSupplier, hasAny, parseSuppliers, type Suppliers, shareOf } from '../supplier-totals.ts'

/** Calendar months of the literal Fecha, both inclusive. */
export interface MonthSpan {
  from: string
  to: string
}

/** So many months up to the current one in central Mexico, and their first and last day. */
export function lastMonths(now: Date, months: number): MonthSpan & { first: string; last: string } {
  const to = dayOf(now.getTime()).slice(0, 7)
  const from = plus(to, 1 - months)
  return { from, to, first: `${from}-01`, last: lastDayOf(to) }
}

/** The part of a span that the book can show something of; null for none. */
function reachOf(book: Partition, { from, to }: MonthSpan, floor: string | null): MonthSpan | null {
  const first = floor !== null && floor.slice(0, 7) > from ? floor.slice(0, 7) : from
  let last = to
  while (book.until !== null && last >= first && earliestOf(`${last}-01`) > book.until) last = plus(last, -1)
  return first > last ? null : { from: first, to: last }
}

const totalsOf = (book: Partition, { from, to }: MonthSpan): Fragment =>
  sql`select totals from cfdi_suppliers where entity = ${book.number} and month >= ${from} and month <= ${to}`

/** Valid received documents of literal days, and of what is further said, by the index of their instants. */
const documentsOf = (book: Partition, first: string, last: string, since: number, further: readonly Fragment[]): Fragment =>
  sql`select ${COUNTABLE} from cfdi own indexed by cfdi_dirc
    where own.entity = ${book.number} and own.direction = 1 and own.cancelled = 0 and own.issued_at >= ${since}
      and own.issued_at <= ${latestOf(last)} and ${all([sql`own.fecha >= ${first}`, sql`own.fecha < ${afterDay(last)}`, ...further])}`

const dayBefore = (day: string): string => new Date(Date.parse(`${day}T00:00:00Z`) - 1).toISOString().slice(0, 10)

/** What the months of a book hold and the window does not show: before its floor, after its ceiling, or shown by the authority's book. */
function hiddenIn(book: Partition, { from, to }: MonthSpan, floor: string | null): Fragment[] {
  const [first, last] = [`${from}-01`, lastDayOf(to)]
  if (book.origin === 'import') {
    const hides = book.conditions('own')
    return hides.length === 0 ? [] : [documentsOf(book, first, last, earliestOf(first), [sql`not ${all(hides)}`])]
  }
  const isFloored = floor !== null && floor > first
  const early = isFloored ? [documentsOf(book, first, dayBefore(floor), earliestOf(first), [])] : []
  if (book.until === null || book.until >= latestOf(last)) return early
  // What is before the floor as well has been said already.
  return [...early, documentsOf(book, isFloored ? floor : first, last, book.until + 1, [])]
}

/**
 * What each supplier invoiced the RFC in these months, of what the window shows. Reads the months' totals, and of the months that the
 * window cuts the documents that it hides. One call.
 */
export async function sumSuppliers(books: ScopedLedger, span: MonthSpan): Promise<Suppliers> {
  const read = partitionsToRead(books).flatMap((book) => {
    const floor = book.origin === 'authority' ? books.window.floor : null
    const reach = reachOf(book, span, floor)
    return reach === null ? [] : [{ months: totalsOf(book, reach), hidden: hiddenIn(book, reach, floor) }]
  })
  const suppliers: Suppliers = new Map()
  if (read.length === 0) return suppliers
  const results = await books.ledger.batch(
    read.flatMap(({ months, hidden }) => [months, ...hidden].map((one) => prepared(books.ledger, one))),
  )
  for (const { hidden } of read) {
    const [months, ...documents] = results.splice(0, 1 + hidden.length)
    for (const { totals } of months!.results as { totals: string }[])
      for (const [rfc, one] of parseSuppliers(totals)) addSupplier(suppliers, rfc, one)
    for (const row of documents.flatMap(({ results: rows }) => rows as CountableRow[])) {
      const share = shareOf(row)
      if (share) addSupplier(suppliers, share.rfc, share.totals, -1)
    }
  }
  for (const [rfc, totals] of suppliers) if (!hasAny(totals)) suppliers.delete(rfc)
  return suppliers
}

const bounds = (book: Partition): Fragment =>
  all([
    ...(book.until === null ? [] : [sql`own.issued_at <= ${book.until}`]),
    ...(book.since === null ? [] : [sql`own.issued_at >= ${book.since}`]),
    ...book.conditions('own'),
  ])

/** What a document calls its issuer, and whether the authority delivered it. */
export interface IssuerName {
  name: string | null
  origin: Partition['origin']
}

/** What the latest visible document of each of these issuers calls it; the authority's word before an import's. One call. */
export async function issuerNames(books: ScopedLedger, rfcs: readonly string[]): Promise<Map<string, IssuerName>> {
  const names = new Map<string, IssuerName>()
  const read = rfcs.length === 0 ? [] : partitionsToRead(books)
  if (read.length === 0) return names
  const results = await books.ledger.batch(
    read.map((book) =>
      prepared(
        books.ledger,
        sql`select wanted.value as rfc, (
            select own.emisor_nombre from cfdi own indexed by cfdi_cpd
            where own.entity = ${book.number} and own.counterparty_rfc = wanted.value and own.direction = 1
              and ${bounds(book)}
            order by own.issued_at desc limit 1) as name
          from json_each(${JSON.stringify(rfcs)}) wanted`,
      ),
    ),
  )
  for (const [n, { origin }] of read.entries())
    for (const { rfc, name } of results[n]!.results as { rfc: string; name: string | null }[])
      if (name !== null && !names.has(rfc)) names.set(rfc, { name, origin })
  return names
}

/** What the RFC calls itself on the latest visible document that it issued, of those that the authority delivered. */
export async function ownName(books: ScopedLedger): Promise<string | null> {
  const book = partitionsToRead(books).find(({ origin }) => origin === 'authority')
  if (!book) return null
  const found = await prepared(
    books.ledger,
    sql`select own.emisor_nombre as name from cfdi own indexed by cfdi_dirc
      where own.entity = ${book.number} and own.direction = 0 and own.cancelled = 0 and ${bounds(book)} order by own.issued_at desc limit 1`,
  ).first<{ name: string | null }>()
  return found?.name ?? null
}
