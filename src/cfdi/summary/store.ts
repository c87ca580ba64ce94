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

/** The documents that count for a reader with this ceiling only, because what substitutes them was issued after it. */
const substitutedLater = (partition: Partition, { directions }: Span, until: number, conditions: readonly Fragment[]): Fragment =>
  sql`select ${COUNTABLE_COLUMNS} from cfdi own indexed by cfdi_substituted
    where own.entity = ${partition.number} and own.direction in ${among(directions)} and own.substituted_from > ${until} and ${all(conditions)}`

/** A statement, and how what it reads is added to the months. */
interface Part<Row> {
  statement: Fragment
  add: (months: Months, row: Row) => void
}

type Parts = [Part<MonthCells>, ...Part<CountableRow>[]]

const wholeDays = (partition: Partition, bounds: DirectionBounds, span: Span): Part<MonthCells> => {
  const days = { first: later(bounds.floor, span.first), last: span.last, before: firstOpenDay(bounds.until) }
  return { statement: monthsOf(partition, { ...span, first: days.first }), add: (months, month) => addDays(months, month, days) }
}

/**
 * In the authority's partition: whole days from the month rows, corrected by what the ceiling hides of substitutions, and the days that the
 * ceiling divides from their documents.
 */
function partsOfWindow(partition: Partition, bounds: DirectionBounds, span: Span): Parts {
  const { until } = bounds
  const open = firstOpenDay(until)
  const whole = wholeDays(partition, bounds, span)
  if (open === null || until === null) return [whole]
  const isDivided = open <= span.last
  const from = (day: string) => [sql`own.fecha >= ${later(day, span.first)}`, ...partition.conditions('own')]
  const restored: Part<CountableRow> = {
    statement: substitutedLater(partition, span, until, [...from(span.first), sql`own.fecha < ${isDivided ? open : afterDay(span.last)}`]),
    add: (months, row) => {
      addRow(months, row, -1)
      addRow(months, row, 1, until)
    },
  }
  if (!isDivided) return [whole, restored]
  const divided: Part<CountableRow> = {
    statement: rowsOf(partition, span, earliestOf(open), until, [...from(open), sql`own.fecha < ${afterDay(span.last)}`]),
    add: (months, row) => addRow(months, row, 1, until),
  }
  return [whole, restored, divided]
}

/** In the import partition: all days from the month rows, and the documents to subtract because the authority's copy is counted. */
const partsOfImports = (partition: Partition, bounds: DirectionBounds, span: Span): Parts => {
  const whole = wholeDays(partition, bounds, span)
  const visible = partition.conditions('own')
  if (visible.length === 0) return [whole]
  const days = [sql`own.fecha >= ${span.first}`, sql`own.fecha < ${afterDay(span.last)}`, sql`not ${all(visible)}`]
  const statement = rowsOf(partition, span, earliestOf(span.first), latestOf(span.last), days)
  return [whole, { statement, add: (months, row) => addRow(months, row, -1) }]
}

/** Sums the visible documents, and reads how far the months were downloaded. One call. */
export async function sumMonths(
  ledger: ScopedLedger,
  { directions, ...days }: Span,
): Promise<{ months: Months; statusRows: DataStatusRow[] }> {
  const parts = partitionsToRead(ledger).flatMap((partition) =>
    partition.bounds.flatMap((bounds) => {
      const span = { ...days, directions: directions.filter((direction) => bounds.directions.includes(direction)) }
      if (span.directions.length === 0) return []
      return (partition.origin === 'authority' ? partsOfWindow : partsOfImports)(partition, bounds, span)
    }),
  )
  const months: Months = new Map()
  if (parts.length === 0) return { months, statusRows: [] }
  const statements = [dataStatusRows(ledger), ...parts.map(({ statement }) => statement)]
  const [statusRows, ...results] = await ledger.d1.batch(statements.map((one) => prepared(ledger.d1, one)))
  for (const [i, { add: addTo }] of parts.entries()) for (const row of results[i]!.results) addTo(months, row as MonthCells & CountableRow)
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

function addRow(months: Months, row: CountableRow, sign: 1 | -1, until: number | null = null): void {
  const adds = contribution(row, until)
  if (adds) add(totalsAt(months, adds.month, row.direction, adds.cell), adds.values, sign)
}
