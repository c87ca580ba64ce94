import { all, type Fragment, prepared, raw, sql } from '../../platform/db/fragment.ts'
import { type Partition, partitionsToRead, type ScopedLedger } from '../../visibility/scoped-ledger.ts'
import { earliestOf, firstOpenDay, latestOf } from '../../visibility/window.ts'
import { COUNTABLE, type CountableRow } from '../columns.ts'
import { afterDay } from '../literal-day.ts'
import { add, type Cells, contribution, nothing, parseCells } from '../totals.ts'

/** Literal days and directions that are asked for, both inclusive. */
export interface Span {
  first: string
  last: string
  directions: readonly (0 | 1)[]
}

/** Totals by tipo, metodo and estatus, `tipo|metodo|estatus`, of each month and direction, `YYYY-MM|direction`. */
export type Months = Map<string, Cells>

type MonthCells = { month: string; direction: 0 | 1; cells: string }

const among = (directions: readonly number[]): Fragment => raw(`(${directions.join(', ')})`)

const monthsOf = (book: Partition, { first, last, directions }: Span): Fragment =>
  sql`select month, direction, cells from cfdi_months
    where entity = ${book.number} and month >= ${first.slice(0, 7)} and month <= ${last.slice(0, 7)} and direction in ${among(directions)}`

const rowsOf = (book: Partition, { directions }: Span, since: number, until: number, conditions: readonly Fragment[]): Fragment =>
  sql`select ${COUNTABLE} from cfdi own indexed by cfdi_dirc
    where own.entity = ${book.number} and own.direction in ${among(directions)} and own.cancelled in (0, 1)
      and own.issued_at >= ${since} and own.issued_at <= ${until} and ${all(conditions)}`

const later = (day: string | null, other: string): string => (day !== null && day > other ? day : other)

/** The authority's book: whole days from the month rows, the days that the ceiling falls into from their rows up to the instant. */
function statementsOfWindow(book: Partition, span: Span, floor: string | null): Fragment[] {
  const open = firstOpenDay(book.until)
  const months = monthsOf(book, { ...span, first: later(floor, span.first) })
  if (open === null || book.until === null || open > span.last) return [months]
  const rows = rowsOf(book, span, earliestOf(open), book.until, [
    sql`own.fecha >= ${later(open, span.first)}`,
    sql`own.fecha < ${afterDay(span.last)}`,
    ...book.conditions('own'),
  ])
  return [months, rows]
}

/** The organization's own book: no window cuts it, but what the authority shows too is not counted twice. */
const statementsOfImports = (book: Partition, span: Span): Fragment[] => {
  const hides = book.conditions('own')
  if (hides.length === 0) return [monthsOf(book, span)]
  const days = [sql`own.fecha >= ${span.first}`, sql`own.fecha < ${afterDay(span.last)}`, sql`not ${all(hides)}`]
  return [monthsOf(book, span), rowsOf(book, span, earliestOf(span.first), latestOf(span.last), days)]
}

/** What the documents that may be seen add up to. One call. */
export async function sumMonths(books: ScopedLedger, span: Span): Promise<Months> {
  const { floor } = books.window
  const read = partitionsToRead(books).map((book) => ({
    book,
    statements: book.origin === 'authority' ? statementsOfWindow(book, span, floor) : statementsOfImports(book, span),
  }))
  const months: Months = new Map()
  if (read.length === 0) return months
  const results = await books.ledger.batch(read.flatMap(({ statements }) => statements.map((one) => prepared(books.ledger, one))))
  for (const { book, statements } of read) {
    const [cells, rows] = results.splice(0, statements.length)
    const isAuthority = book.origin === 'authority'
    const whole = { first: later(isAuthority ? floor : null, span.first), last: span.last, before: firstOpenDay(book.until) }
    for (const one of cells!.results as MonthCells[]) addDays(months, one, whole)
    for (const row of (rows?.results ?? []) as CountableRow[]) addRow(months, row, isAuthority ? 1 : -1)
  }
  return months
}

function totalsAt(months: Months, month: string, direction: number, cell: string) {
  const key = `${month}|${direction}`
  const cells: Cells = months.get(key) ?? new Map()
  months.set(key, cells)
  // Days are summed: the first part of a cell's key goes.
  const kept = cell.slice(cell.indexOf('|') + 1)
  const totals = cells.get(kept) ?? nothing()
  cells.set(kept, totals)
  return totals
}

function addDays(
  months: Months,
  { month, direction, cells }: MonthCells,
  { first, last, before }: { first: string; last: string; before: string | null },
): void {
  for (const [cell, totals] of parseCells(cells)) {
    const day = `${month}-${cell.slice(0, 2)}`
    if (day >= first && day <= last && (before === null || day < before)) add(totalsAt(months, month, direction, cell), totals)
  }
}

function addRow(months: Months, row: CountableRow, sign: 1 | -1): void {
  const adds = contribution(row)
  if (adds) add(totalsAt(months, adds.month, row.direction, adds.cell), adds.values, sign)
}
