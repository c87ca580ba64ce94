import writeExcelFile from 'write-excel-file/universal'
import { csvLine } from '../../src/platform/csv.ts'
import { textFile } from './save.ts'

/** A cell of a table as a page shows it: its text, and where it is a figure, the figure with what stands behind it (`USD`, `%`). */
interface Cell {
  text: string
  figure: { digits: string; unit: string } | null
}

const FIGURE = /^(−?)(\$?)\s?([\d,]+(?:\.\d+)?)\s?(%|[A-Z]{3})?$/

export function cellOf(text: string, isFigure: boolean): Cell {
  const found = isFigure ? FIGURE.exec(text.replaceAll('\u00a0', ' ')) : null
  if (!found) return { text, figure: null }
  const [, sign, dollar, digits, unit = ''] = found
  return { text, figure: { digits: `${sign && '-'}${digits!.replaceAll(',', '')}`, unit: dollar ? unit || 'MXN' : unit } }
}

/** The sum of a column of amounts in one currency, exact to the last digit; null for any other column. */
export function totalOf(cells: readonly Cell[]): { digits: string; unit: string } | null {
  const figures = cells.flatMap(({ figure }) => figure ?? [])
  const unit = figures[0]?.unit ?? ''
  if (unit.length !== 3 || figures.some((figure) => figure.unit !== unit)) return null
  const places = Math.max(...figures.map(({ digits }) => digits.split('.')[1]?.length ?? 0))
  const scaled = figures.reduce((sum, { digits }) => {
    const [whole, part = ''] = digits.split('.')
    return sum + BigInt(whole! + part.padEnd(places, '0'))
  }, 0n)
  const shown = String(scaled < 0n ? -scaled : scaled).padStart(places + 1, '0')
  const digits = places === 0 ? shown : `${shown.slice(0, -places)}.${shown.slice(-places)}`
  return { digits: `${scaled < 0n ? '-' : ''}${digits}`, unit }
}

/** A heading is pressed to sort by it; what else is pressed (buttons, boxes) is no text of a cell. */
function textOf(cell: Element): string {
  const own = cell.cloneNode(true) as Element
  for (const pressed of own.querySelectorAll(`${cell.tagName === 'TH' ? '' : 'button, '}input, svg`)) pressed.remove()
  return [...own.childNodes].flatMap(({ textContent }) => textContent?.trim() || []).join(' ')
}

/** What tables with the same columns show: their headings, and their rows as cells, without the columns that have no text. */
export function readTables(tables: Iterable<HTMLTableElement>): { headings: string[]; rows: Cell[][] } {
  const all = [...tables]
  const headings = [...all[0]!.tHead!.rows[0]!.cells]
  const rows = all.flatMap(({ tBodies }) =>
    [...tBodies[0]!.rows].map((row) => [...row.cells].map((cell, at) => cellOf(textOf(cell), headings[at]!.classList.length > 0))),
  )
  const isShown = headings.map((heading, at) => textOf(heading) !== '' && rows.some((row) => row[at]!.text !== ''))
  const shownOf = <T>(cells: readonly T[]): T[] => cells.filter((_, at) => isShown[at])
  return { headings: shownOf(headings.map(textOf)), rows: rows.map(shownOf) }
}

const FORMATS: Record<string, string> = { '': '#,##0.######', '%': '0.00##%' }

const numberOf = ({ digits, unit }: { digits: string; unit: string }) => ({
  type: Number,
  value: unit === '%' ? Number(digits) / 100 : Number(digits),
  format: FORMATS[unit] ?? `#,##0.00####${unit === 'MXN' ? '' : ` "${unit}"`}`,
})

interface Sheet {
  name: string
  table: ReturnType<typeof readTables>
  isSummed: boolean
}

function sheetOf({ name, table: { headings, rows }, isSummed }: Sheet, total: string, n: number, all: readonly Sheet[]) {
  const totals = headings.map((_, at) => (isSummed ? totalOf(rows.map((row) => row[at]!)) : null))
  const last = totals.map((sum, at) => ({ fontWeight: 'bold' as const, ...(sum ? numberOf(sum) : { value: at === 0 ? total : '' }) }))
  const data = [
    headings.map((value) => ({ value, fontWeight: 'bold' as const })),
    ...rows.map((row) => row.map(({ text, figure }) => (figure ? numberOf(figure) : { type: String, value: text }))),
    ...(totals.some(Boolean) ? [last] : []),
  ]
  const columns = headings.map((heading, at) => ({
    width: Math.min(60, Math.max(heading.length, ...rows.map((row) => row[at]!.text.length)) + 3),
  }))
  // The name of a sheet has 31 characters at most, and none of these. Of several, none has that of another.
  const plain = name.replace(/[\\/?*[\]:]/g, ' ')
  const sheet = all.length === 1 ? plain.slice(0, 31) : `${n + 1} ${plain}`.slice(0, 31)
  return { data, sheet, columns, stickyRowsCount: 1 }
}

/** Tables as a workbook, a sheet for each, with a closing total under each column of amounts in one currency. */
export const workbookOf = (total: string, sheets: readonly Sheet[]): Promise<Blob> =>
  writeExcelFile(sheets.map((sheet, n) => sheetOf(sheet, total, n, sheets))).toBlob()

/** The rows as CSV, with figures as plain digits. */
export function csvOf({ headings, rows }: ReturnType<typeof readTables>): Blob {
  const lines = [headings, ...rows.map((row) => row.map(({ text, figure }) => figure?.digits ?? text))]
  return textFile(lines.map(csvLine).join(''))
}
