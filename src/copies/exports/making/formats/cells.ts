import { cellText } from '../../../../platform/csv.ts'

/** What the values of a column are. Numbers and times are written as such where the format has them and they fit. */
export type ColumnType = 'text' | 'number' | 'time'

/** The formats of cells, by their places in the styles of the workbook. */
export const [HEADING, TIME, DAY, DECIMALS] = [1, 2, 3, 4]

const LETTERS = 26

/** The name of a column of a sheet, from 0: A, B, … Z, AA, … */
export function letterOf(n: number): string {
  const last = String.fromCharCode(65 + (n % LETTERS))
  return n < LETTERS ? last : letterOf(Math.floor(n / LETTERS) - 1) + last
}

/** What Excel takes in a cell. */
const LONGEST_TEXT = 32_767
/** A number of more digits would be rounded. */
const EXACT_DIGITS = 15

const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?$/

/** Whether a spreadsheet shows a decimal as it is. */
function isExact(text: string): boolean {
  const [, , whole, fraction = ''] = DECIMAL.exec(text) ?? []
  if (whole === undefined) return false
  const digits = (whole + fraction.replace(/0+$/, '')).replace(/^0+/, '')
  return digits.length <= EXACT_DIGITS && whole.length <= EXACT_DIGITS
}

const MOMENT = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?)?$/
const DAY_MS = 86_400_000
/** Days from the epoch of spreadsheets to 1970. From 1 March 1900 on, they count right. */
const EPOCH = 25_569
const FIRST = 61

/** The number of a time as it is written, whatever its offset; null when it is none. */
function serialOf(text: string): { serial: string; style: number } | null {
  const [, day, time] = MOMENT.exec(text) ?? []
  if (day === undefined) return null
  const ms = Date.parse(`${day}T${time ?? '00:00:00'}Z`)
  const serial = ms / DAY_MS + EPOCH
  if (!(serial >= FIRST)) return null
  // Five digits before the point and nine after it are exact to less than a millisecond.
  return { serial: String(Number(serial.toFixed(9))), style: time === undefined ? DAY : TIME }
}

const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|_(?=x[0-9a-f]{4}_)/gi
const hex = (character: string): string => character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')
const MARKUP: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\r': '&#13;' }

/** A text in a sheet. What XML cannot contain is written as Office does, `_x0001_`, and a text that looks so as `_x005F_x0001_`. */
const escaped = (text: string): string =>
  text
    .toWellFormed()
    .slice(0, LONGEST_TEXT)
    .toWellFormed()
    .replace(FORBIDDEN, (one) => `_x${hex(one)}_`)
    .replace(/[&<>\r]/g, (one) => MARKUP[one]!)

const textCell = (place: string, text: string, style = 0): string =>
  `<c r="${place}" t="inlineStr"${style === 0 ? '' : ` s="${style}"`}><is><t xml:space="preserve">${escaped(text)}</t></is></c>`

/** A cell; nothing for an empty one. */
export function cellXml(place: string, type: ColumnType, value: unknown): string {
  if (typeof value === 'boolean') return `<c r="${place}" t="b"><v>${value ? 1 : 0}</v></c>`
  const text = cellText(value)
  if (text === '') return ''
  // A count has no decimals.
  if (type === 'number' && isExact(text)) return `<c r="${place}"${text.includes('.') ? ` s="${DECIMALS}"` : ''}><v>${text}</v></c>`
  const time = type === 'time' ? serialOf(text) : null
  return time ? `<c r="${place}" s="${time.style}"><v>${time.serial}</v></c>` : textCell(place, text)
}

export const headingCell = (place: string, text: string): string => textCell(place, text, HEADING)
