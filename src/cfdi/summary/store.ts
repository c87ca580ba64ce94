import { type SQL, sql } from 'drizzle-orm'
import { commit } from '../../platform/db/commit.ts'
import { all } from '../../platform/db/statement.ts'
import { addMonths, lastDayOf } from '../../platform/time/months.ts'
import { type DirectionBounds, type Partition, partitionsToRead, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { earliestOf, firstOpenDay, lastBegunDay, latestOf } from '../../taxpayers/visibility/window.ts'
import { cfdiAs } from '../columns.ts'
import { afterDay } from '../literal-day.ts'
import { type DataStatusRow, dataStatusRows } from '../quality/data-status.ts'
import { COUNTABLE_COLUMNS, type CountableRow } from '../read-row.ts'
import { cfdi, cfdiMonths } from '../tables.ts'
import { addTo, type Cells, cellOf, contribution, parseCells, QUARANTINED, withoutDay } from '../totals.ts'
import { addStored, type StoredMonths } from './stored-months.ts'

const own = cfdiAs('own')

/** The literal days, both inclusive, and the directions that a summary covers. */
export interface Span {
  first: string
  last: string
  directions: readonly (0 | 1)[]
}

/** Totals by type, method and status (`tipo|metodo|estatus`) for each month and direction (`YYYY-MM|direction`). */
export type Months = Map<string, Cells>

/** The sums over the visible documents: those that the authority delivered, and with `months` those that sums are about. */
interface Sums {
  stored: StoredMonths
  /** Null when nobody asks for them. */
  months: Months | null
}

type MonthCells = { month: string; direction: 0 | 1; is_whole: 0 | 1; cells: string }

const among = (directions: readonly number[]): SQL => sql.raw(`(${directions.join(', ')})`)

const monthOf = (day: string): string => day.slice(0, 7)

/** The months of which every day is between these, both inclusive. None when the first is after the last. */
const wholeMonths = (first: string, last: string): [first: string, last: string] => [
  first.endsWith('-01') ? monthOf(first) : addMonths(monthOf(first), 1),
  last === lastDayOf(monthOf(last)) ? monthOf(last) : addMonths(monthOf(last), -1),
]

/** The sums of whole months, and the days of those that are divided. */
function monthsOf(partition: Partition, { first, last, directions }: Span): SQL {
  const [from, to] = wholeMonths(first, last)
  const { entity, month, direction, sums, cells } = cfdiMonths
  const isWhole = sql`${month} >= ${from} and ${month} <= ${to}`
  return sql`select ${month}, ${direction}, ${isWhole} as is_whole, iif(${isWhole}, ${sums}, ${cells}) as cells from ${cfdiMonths}
    where ${entity} = ${partition.number} and ${month} >= ${monthOf(first)} and ${month} <= ${monthOf(last)} and ${direction} in ${among(directions)}`
}

const rowsOf = (partition: Partition, { directions }: Span, since: number, until: number, conditions: readonly SQL[]): SQL =>
  sql`select ${COUNTABLE_COLUMNS} from ${cfdi} ${own} indexed by cfdi_dirc
    where ${own.entity} = ${partition.number} and ${own.direction} in ${among(directions)} and ${own.cancelled} in (0, 1)
      and ${own.issued_at} >= ${since} and ${own.issued_at} <= ${until} and ${all(conditions)}`

const later = (day: string | null, other: string): string => (day !== null && day > other ? day : other)

/** The documents that count for a reader with this ceiling only, because what substitutes them was issued after it. */
const substitutedLater = (partition: Partition, { directions }: Span, until: number, conditions: readonly SQL[]): SQL =>
  sql`select ${COUNTABLE_COLUMNS} from ${cfdi} ${own} indexed by cfdi_substituted
    where ${own.entity} = ${partition.number} and ${own.direction} in ${among(directions)} and ${own.substituted_from} > ${until} and ${all(conditions)}`

/** A statement, and how what it reads is added to the months. */
interface Part<Row> {
  statement: SQL
  add: (sums: Sums, row: Row) => void
}

type Parts = [Part<MonthCells>, ...Part<CountableRow>[]]

/** The days of a span from the month rows. */
const days = (partition: Partition, span: Span): Part<MonthCells> => ({
  statement: monthsOf(partition, span),
  add: (sums, month) => addMonth(sums, month, span, partition),
})

/**
 * In the authority's partition: the days that have begun at the ceiling from the month rows, corrected by what the ceiling hides of
 * substitutions, and without the documents of the days that it divides which were issued after it. Usually there are none yet.
 */
function partsOfWindow(partition: Partition, { floor, until }: DirectionBounds, asked: Span): Parts {
  const first = later(floor, asked.first)
  if (until === null) return [days(partition, { ...asked, first })]
  const begun = lastBegunDay(until)
  const span = { ...asked, first, last: begun < asked.last ? begun : asked.last }
  const [open, after] = [firstOpenDay(until), sql`${own.fecha} < ${afterDay(span.last)}`]
  const visible = [sql`${own.fecha} >= ${first}`, sql`${own.issued_at} <= ${until}`, after]
  const restored: Part<CountableRow> = {
    statement: substitutedLater(partition, span, until, visible),
    add: (sums, row) => {
      addRow(sums, row, -1, partition)
      addRow(sums, row, 1, partition, until)
    },
  }
  if (open > span.last) return [days(partition, span), restored]
  const hidden = [sql`${own.fecha} >= ${later(open, first)}`, after]
  const divided: Part<CountableRow> = {
    statement: rowsOf(partition, span, until + 1, latestOf(span.last), hidden),
    add: (sums, row) => addRow(sums, row, -1, partition),
  }
  return [days(partition, span), restored, divided]
}

/** In the import partition: all days from the month rows, and the documents to subtract because the authority's copy is counted. */
const partsOfImports = (partition: Partition, _: DirectionBounds, span: Span): Parts => {
  const whole = days(partition, span)
  const visible = partition.conditions('own')
  if (visible.length === 0) return [whole]
  const hidden = [sql`${own.fecha} >= ${span.first}`, sql`${own.fecha} < ${afterDay(span.last)}`, sql`not ${all(visible)}`]
  const statement = rowsOf(partition, span, earliestOf(span.first), latestOf(span.last), hidden)
  return [whole, { statement, add: (sums, row) => addRow(sums, row, -1, partition) }]
}

/** The parts of a span, in the partitions that are meant. */
const partsOf = (
  ledger: ScopedLedger,
  { directions, ...days }: Span,
  origins: readonly Partition['origin'][],
): (Part<MonthCells> | Part<CountableRow>)[] =>
  partitionsToRead(ledger)
    .filter(({ origin }) => origins.includes(origin))
    .flatMap((partition) =>
      partition.bounds.flatMap((bounds): (Part<MonthCells> | Part<CountableRow>)[] => {
        const span = { ...days, directions: directions.filter((direction) => bounds.directions.includes(direction)) }
        if (span.directions.length === 0) return []
        return (partition.origin === 'authority' ? partsOfWindow : partsOfImports)(partition, bounds, span)
      }),
    )

/** Runs the statements of some parts, and those of the caller, in one call, and reads how far the months were downloaded. */
async function read(ledger: ScopedLedger, parts: ReturnType<typeof partsOf>, sums: Sums, more: readonly SQL[]) {
  if (parts.length === 0) return { statusRows: [], found: more.map(() => []) }
  const statements = [dataStatusRows(ledger), ...parts.map(({ statement }) => statement), ...more]
  const [statusRows, ...results] = await commit(ledger.d1, statements)
  for (const [i, { add }] of parts.entries()) for (const row of results[i]!.results) add(sums, row as MonthCells & CountableRow)
  return { statusRows: statusRows!.results as DataStatusRow[], found: results.slice(parts.length).map((one) => one.results) }
}

interface Found {
  stored: StoredMonths
  statusRows: DataStatusRow[]
  found: unknown[][]
}

/**
 * Sums the visible documents, and reads how far the months were downloaded. One call, in which it runs `more` statements of the caller. Their
 * rows are `found`.
 */
export async function sumMonths(ledger: ScopedLedger, span: Span, more: readonly SQL[] = []): Promise<Found & { months: Months }> {
  const sums = { stored: new Map(), months: new Map() }
  const rows = await read(ledger, partsOf(ledger, span, ['authority', 'import']), sums, more)
  return { ...sums, ...rows }
}

/** Counts the visible documents that the authority delivered, with the rest of `sumMonths`. */
export async function sumStored(ledger: ScopedLedger, span: Span, more: readonly SQL[] = []): Promise<Found> {
  const stored: StoredMonths = new Map()
  const rows = await read(ledger, partsOf(ledger, span, ['authority']), { stored, months: null }, more)
  return { stored, ...rows }
}

function cellsAt(months: Months, month: string, direction: number): Cells {
  const cells: Cells = months.get(`${month}|${direction}`) ?? new Map()
  months.set(`${month}|${direction}`, cells)
  return cells
}

function addMonth(
  { stored, months }: Sums,
  { month, direction, is_whole, cells }: MonthCells,
  { first, last }: Span,
  { origin }: Partition,
): void {
  const into = months && cellsAt(months, month, direction)
  for (const [key, values] of parseCells(cells)) {
    const day = `${month}-${key.slice(0, 2)}`
    if (is_whole === 0 && (day < first || day > last)) continue
    const cell = is_whole === 1 ? key : withoutDay(key)
    if (origin === 'authority') addStored(stored, { month, direction, cell }, values, 1)
    if (into && !isAside(cell)) addTo(into, { cell, values }, 1)
  }
}

/** Whether documents of a cell without a day are in no sum. */
const isAside = (cell: string): boolean => cell.startsWith(`${QUARANTINED}|`)

function addRow({ stored, months }: Sums, row: CountableRow, sign: 1 | -1, { origin }: Partition, until: number | null = null): void {
  const adds = contribution(row, until)
  const { month, cell, values } = adds ?? cellOf(row)
  if (origin === 'authority') addStored(stored, { month, direction: row.direction, cell }, values, sign)
  if (adds && months) addTo(cellsAt(months, month, row.direction), { cell: withoutDay(cell), values }, sign)
}
