import { all, type Fragment, prepared, raw, sql } from '../../platform/db/fragment.ts'
import { type DirectionBounds, type Partition, partitionsToRead, type ScopedLedger } from '../../visibility/scoped-ledger.ts'
import { earliestOf, firstOpenDay, latestOf } from '../../visibility/window.ts'
import { afterDay } from '../literal-day.ts'
import { type DataStatusRow, dataStatusRows } from '../quality/data-status.ts'
import { COUNTABLE_COLUMNS, type CountableRow } from '../read-row.ts'
import { add, type Cells, contribution, nothing, parseCells } from '../totals.ts'

/** The literal days, both inclusive, and the directions that a summary covers. */
export interface Span {
  first: string
  last: string
  directions: readonly (0 | 1)[]
}

/** Totals by type, method and status (`tipo|metodo|estatus`) for each month and direction (`YYYY-MM|direction`). */
export type Months = Map<string, Cells>

type MonthCells = { month: string; direction: 0 | 1; cells: string }

const among = (directions: readonly number[]): Fragment => raw(`(${directions.join(', ')})`)

const monthsOf = (partition: Partition, { first, last, directions }: Span): Fragment =>
  sql`select month, direction, cells from cfdi_months
    where entity = ${partition.number} and month >= ${first.slice(0, 7)} and month <= ${last.slice(0, 7)} and direction in ${among(directions)}`

const rowsOf = (partition: Partition, { directions }: Span, since: number, until: number, conditions: readonly Fragment[]): Fragment =>
  sql`select ${COUNTABLE_COLUMNS} from cfdi own indexed by cfdi_dirc
    where own.entity = ${partition.number} and own.direction in ${among(directions)} and own.cancelled in (0, 1)
      and own.issued_at >= ${since} and own.issued_at <= ${until} and ${all(conditions)}`

const later = (day: string | null, other: string): string => (day !== null && day > other ? day : other)

/** In the authority's partition: whole days from the month rows, and the days that the ceiling divides from their documents. */
function statementsOfWindow(partition: Partition, { floor, until }: DirectionBounds, span: Span): Fragment[] {
  const open = firstOpenDay(until)
  const months = monthsOf(partition, { ...span, first: later(floor, span.first) })
  if (open === null || until === null || open > span.last) return [months]
  const rows = rowsOf(partition, span, earliestOf(open), until, [
    sql`own.fecha >= ${later(open, span.first)}`,
    sql`own.fecha < ${afterDay(span.last)}`,
    ...partition.conditions('own'),
  ])
  return [months, rows]
}

/** In the import partition: all days from the month rows, and the documents to subtract because the authority's copy is counted. */
const statementsOfImports = (partition: Partition, span: Span): Fragment[] => {
  const visible = partition.conditions('own')
  if (visible.length === 0) return [monthsOf(partition, span)]
  const days = [sql`own.fecha >= ${span.first}`, sql`own.fecha < ${afterDay(span.last)}`, sql`not ${all(visible)}`]
  return [monthsOf(partition, span), rowsOf(partition, span, earliestOf(span.first), latestOf(span.last), days)]
}

/** Sums the visible documents, and reads how far the months were downloaded. One call. */
export async function sumMonths(
  ledger: ScopedLedger,
  { directions, ...days }: Span,
): Promise<{ months: Months; statusRows: DataStatusRow[] }> {
  const read = partitionsToRead(ledger).flatMap((partition) =>
    partition.bounds.flatMap((bounds) => {
      const span = { ...days, directions: directions.filter((direction) => bounds.directions.includes(direction)) }
      if (span.directions.length === 0) return []
      const isAuthority = partition.origin === 'authority'
      return [
        {
          bounds,
          isAuthority,
          statements: isAuthority ? statementsOfWindow(partition, bounds, span) : statementsOfImports(partition, span),
        },
      ]
    }),
  )
  const months: Months = new Map()
  if (read.length === 0) return { months, statusRows: [] }
  const statements = [dataStatusRows(ledger), ...read.flatMap((one) => one.statements)]
  const [statusRows, ...results] = await ledger.d1.batch(statements.map((one) => prepared(ledger.d1, one)))
  for (const { bounds, isAuthority, statements } of read) {
    const [cells, rows] = results.splice(0, statements.length)
    const wholeDays = { first: later(bounds.floor, days.first), last: days.last, before: firstOpenDay(bounds.until) }
    for (const month of cells!.results as MonthCells[]) addDays(months, month, wholeDays)
    for (const row of (rows?.results ?? []) as CountableRow[]) addRow(months, row, isAuthority ? 1 : -1)
  }
  return { months, statusRows: statusRows!.results as DataStatusRow[] }
}

function totalsAt(months: Months, month: string, direction: number, cell: string) {
  const monthKey = `${month}|${direction}`
  const cells: Cells = months.get(monthKey) ?? new Map()
  months.set(monthKey, cells)
  // The first part of a cell's key is its day, over which the totals are summed.
  const key = cell.slice(cell.indexOf('|') + 1)
  const totals = cells.get(key) ?? nothing()
  cells.set(key, totals)
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
