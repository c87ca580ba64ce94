import { Buffer } from 'node:buffer'
import { constants, crc32, deflateRawSync } from 'node:zlib'
import { cellText } from './csv.ts'

/** The output of a format. */
export interface Sink {
  /** Bytes that were written so far. */
  readonly at: number
  push(bytes: Uint8Array): void
  /** Keeps an entry of the central directory, which is written at the end. */
  enter(bytes: Uint8Array): void
}

/** The sizes and numbers from which the format needs its ZIP64 extensions. */
export interface ZipLimits {
  bytes: number
  entries: number
}

const [LOCAL, CENTRAL, DESCRIPTOR, END, END64, LOCATOR64] = [0x04034b50, 0x02014b50, 0x08074b50, 0x06054b50, 0x06064b50, 0x07064b50]
const [STORED, DEFLATED] = [0, 8]
const UTF8_NAMES = 0x0800
/** CRC and sizes stand behind the data. */
const DESCRIBED = 0x0008
const [VERSION, VERSION64] = [20, 45]
const [MAX16, MAX32] = [0xffff, 0xffffffff]
/** Ends a deflated stream whose blocks so far were not the last. */
const LAST_BLOCK = new Uint8Array([3, 0])
const LEVEL = 4

/** Numbers in little-endian order, each with as many bytes as its digit in the layout says, and bytes behind them. */
function packed(layout: string, numbers: readonly number[], rest: Uint8Array = new Uint8Array()): Uint8Array {
  const sizes = [...layout.replaceAll(' ', '')].map(Number)
  const bytes = Buffer.alloc(sizes.reduce((sum, size) => sum + size, 0) + rest.length)
  let at = 0
  for (const [n, size] of sizes.entries()) {
    if (size === 8) bytes.writeBigUInt64LE(BigInt(numbers[n]!), at)
    else bytes.writeUIntLE(numbers[n]!, at, size)
    at += size
  }
  bytes.set(rest, at)
  return bytes
}

/** A file of the archive whose data is being written. */
interface OpenEntry {
  name: string
  offset: number
  crc: number
  packed: number
  size: number
}

/** How far an archive is written. It can be stored, and continued elsewhere. */
export interface ZipState {
  entries: number
  /** Bytes of the central directory. */
  directory: number
}

/** Writes an archive whose files all have the same time. */
export class Zip {
  readonly #sink: Sink
  readonly #state: ZipState
  readonly #limits: ZipLimits
  readonly #time: readonly [clock: number, day: number]

  constructor(sink: Sink, state: ZipState, time: Date, limits: ZipLimits) {
    this.#sink = sink
    this.#state = state
    this.#limits = limits
    const [year, month, day] = [time.getUTCFullYear() - 1980, time.getUTCMonth() + 1, time.getUTCDate()]
    const clock = (time.getUTCHours() << 11) | (time.getUTCMinutes() << 5) | (time.getUTCSeconds() >> 1)
    this.#time = [clock, (year << 9) | (month << 5) | day]
  }

  /** Adds a whole file as it is: `method` says how its bytes are packed. */
  add(name: string, bytes: Uint8Array, { method, crc, size }: { method: number; crc: number; size: number }): void {
    const entry = { name, offset: this.#sink.at, crc, packed: bytes.length, size }
    this.#local(entry, method, 0)
    this.#sink.push(bytes)
    this.#enter(entry, method, 0)
  }

  addText(name: string, text: string): void {
    const bytes = Buffer.from(text)
    this.add(name, bytes, { method: STORED, crc: crc32(bytes), size: bytes.length })
  }

  /** Begins a file that is deflated as it comes. It must be too small to need ZIP64. */
  begin(name: string): OpenEntry {
    const entry = { name, offset: this.#sink.at, crc: 0, packed: 0, size: 0 }
    this.#local(entry, DEFLATED, DESCRIBED)
    return entry
  }

  /** Deflates each text separately, so that the file can be continued elsewhere. */
  append(entry: OpenEntry, text: string): void {
    const bytes = Buffer.from(text)
    const deflated = deflateRawSync(bytes, { level: LEVEL, finishFlush: constants.Z_SYNC_FLUSH })
    entry.crc = crc32(bytes, entry.crc)
    entry.size += bytes.length
    entry.packed += deflated.length
    this.#sink.push(deflated)
  }

  end(entry: OpenEntry): void {
    entry.packed += LAST_BLOCK.length
    this.#sink.push(LAST_BLOCK)
    this.#sink.push(packed('4444', [DESCRIPTOR, entry.crc, entry.packed, entry.size]))
    this.#enter(entry, DEFLATED, DESCRIBED)
  }

  /** Ends the archive, whose central directory was written from an offset on. */
  finish(directoryAt: number): void {
    const { entries, directory } = this.#state
    const is64 = entries >= this.#limits.entries || directoryAt >= this.#limits.bytes || directory >= this.#limits.bytes
    if (is64) {
      const at = this.#sink.at
      this.#sink.push(packed('48 22 44 8888', [END64, 44, VERSION64, VERSION64, 0, 0, entries, entries, directory, directoryAt]))
      this.#sink.push(packed('4484', [LOCATOR64, 0, at, 1]))
    }
    const n = is64 ? MAX16 : entries
    const [size, offset] = is64 ? [MAX32, MAX32] : [directory, directoryAt]
    this.#sink.push(packed('4 2222 44 2', [END, 0, 0, n, n, size, offset, 0]))
  }

  #local({ name, crc, packed: length, size }: OpenEntry, method: number, flags: number): void {
    const label = Buffer.from(name)
    const sizes = flags === 0 ? [crc, length, size] : [0, 0, 0]
    const head = [LOCAL, VERSION, UTF8_NAMES | flags, method, ...this.#time, ...sizes, label.length, 0]
    this.#sink.push(packed('4 222 22 444 22', head, label))
  }

  #enter({ name, offset, crc, packed: length, size }: OpenEntry, method: number, flags: number): void {
    const label = Buffer.from(name)
    const is64 = offset >= this.#limits.bytes
    const version = is64 ? VERSION64 : VERSION
    const extra = is64 ? packed('228', [1, 8, offset]) : new Uint8Array()
    const head = [CENTRAL, version, version, UTF8_NAMES | flags, method, ...this.#time, crc, length, size, label.length, extra.length]
    const place = [0, 0, 0, 0, is64 ? MAX32 : offset]
    const bytes = packed('4 2222 22 444 22 222 44', [...head, ...place], Buffer.concat([label, extra]))
    this.#state.entries++
    this.#state.directory += bytes.length
    this.#sink.enter(bytes)
  }
}

/** The type of a column's values. Numbers and times are written as such where the format has them and they fit. */
export type ColumnType = 'text' | 'number' | 'time'

/** The formats of cells, by their places in the styles of the workbook. */
export const [HEADING, TIME, DAY, DECIMALS] = [1, 2, 3, 4]

const LETTERS = 26

/** The name of a column of a sheet, from 0: A, B, … Z, AA, … */
export function letterOf(n: number): string {
  const last = String.fromCharCode(65 + (n % LETTERS))
  return n < LETTERS ? last : letterOf(Math.floor(n / LETTERS) - 1) + last
}

/** The longest text in a cell of Excel. */
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

/**
 * A text in a sheet. Characters that XML cannot contain are written as Office does, `_x0001_`, and text that looks so as `_x005F_x0001_`.
 */
const escaped = (text: string): string =>
  text
    .toWellFormed()
    .slice(0, LONGEST_TEXT)
    .toWellFormed()
    .replace(FORBIDDEN, (one) => `_x${hex(one)}_`)
    .replace(/[&<>\r]/g, (one) => MARKUP[one]!)

const textCell = (cell: string, text: string, style = 0): string =>
  `<c r="${cell}" t="inlineStr"${style === 0 ? '' : ` s="${style}"`}><is><t xml:space="preserve">${escaped(text)}</t></is></c>`

/** A cell; nothing for an empty one. */
export function cellXml(cell: string, type: ColumnType, value: unknown): string {
  if (typeof value === 'boolean') return `<c r="${cell}" t="b"><v>${value ? 1 : 0}</v></c>`
  const text = cellText(value)
  if (text === '') return ''
  // A count has no decimals.
  if (type === 'number' && isExact(text)) return `<c r="${cell}"${text.includes('.') ? ` s="${DECIMALS}"` : ''}><v>${text}</v></c>`
  const time = type === 'time' ? serialOf(text) : null
  return time ? `<c r="${cell}" s="${time.style}"><v>${time.serial}</v></c>` : textCell(cell, text)
}

/** A column of a table: its heading, the type of its values, and its value in a row. */
export interface ExportColumn {
  heading: string
  type: ColumnType
  value: (row: unknown) => unknown
}
export type Columns = readonly ExportColumn[]

export const valuesOf = (columns: Columns, row: unknown): unknown[] => columns.map(({ value }) => value(row))

/** How far a workbook is written. */
export interface WorkbookState {
  /** The names of the sheets that were begun. */
  sheets: string[]
  /** Rows of the open sheet, its heading included. */
  rows: number
  /** The open sheet. */
  entry: OpenEntry | null
}

/** The limits of a sheet. The bytes are those of its XML: below 4 GiB, so that no sheet needs ZIP64. */
export interface SheetLimits {
  rows: number
  bytes: number
}

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006'
const TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml'

const SHEET =
  `${XML}<worksheet xmlns="${MAIN}"><sheetViews><sheetView workbookViewId="0">` +
  '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>'

/** The widths of columns in characters, for their values and most of a heading with the button of its filter. */
const WIDTHS = { text: 14, number: 15, time: 20 } as const
const UUID_WIDTH = 38
const WIDEST_HEADING = 30
function widthOf({ heading, type }: ExportColumn): number {
  const width = /uuid/i.test(heading) ? UUID_WIDTH : WIDTHS[type]
  return Math.max(width, Math.min(heading.length + 3, WIDEST_HEADING))
}
const colsOf = (columns: Columns): string =>
  `<cols>${columns.map((one, n) => `<col min="${n + 1}" max="${n + 1}" width="${widthOf(one)}" customWidth="1"/>`).join('')}</cols>`

const STYLES =
  `${XML}<styleSheet xmlns="${MAIN}"><numFmts count="3"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/>` +
  '<numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd"/><numFmt numFmtId="166" formatCode="#,##0.00####"/></numFmts>' +
  '<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts>' +
  '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>' +
  '<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>' +
  '<cellXfs count="5"><xf/><xf fontId="1" applyFont="1"/><xf numFmtId="164" applyNumberFormat="1"/><xf numFmtId="165" applyNumberFormat="1"/>' +
  '<xf numFmtId="166" applyNumberFormat="1"/></cellXfs>' +
  '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'

const fileOf = (n: number): string => `xl/worksheets/sheet${n}.xml`

/** Writes rows into sheets, which are deflated as they come. */
export class Workbook {
  readonly #zip: Zip
  readonly #state: WorkbookState
  readonly #limits: SheetLimits
  #columns: Columns
  #name: string
  #text: string[] = []

  constructor(zip: Zip, state: WorkbookState, columns: Columns, name: string, limits: SheetLimits) {
    this.#zip = zip
    this.#state = state
    this.#limits = limits
    this.#columns = columns
    this.#name = name
  }

  /** Ends a table; another one begins on a sheet of its own. */
  next(columns: Columns, name: string): void {
    this.#begin()
    this.#endSheet()
    this.#columns = columns
    this.#name = name
  }

  write(rows: readonly unknown[]): void {
    for (const row of rows) {
      const { entry } = this.#state
      if (entry === null || this.#state.rows >= this.#limits.rows || entry.size >= this.#limits.bytes) this.#nextSheet()
      const n = ++this.#state.rows
      const cells = valuesOf(this.#columns, row).map((value, at) => cellXml(`${letterOf(at)}${n}`, this.#columns[at]!.type, value))
      this.#text.push(`<row r="${n}">${cells.join('')}</row>`)
    }
    this.#flush()
  }

  /** Ends the last sheet, and adds the files that describe the workbook. */
  end(): void {
    this.#begin()
    this.#endSheet()
    const names = this.#state.sheets
    const numbers = [...names.keys()].map((n) => n + 1)
    const sheets = numbers.map((n) => `<sheet name="${names[n - 1]}" sheetId="${n}" r:id="rId${n}"/>`)
    const ofSheets = numbers.map((n) => `<Relationship Id="rId${n}" Type="${RELATIONS}/worksheet" Target="worksheets/sheet${n}.xml"/>`)
    const styles = `<Relationship Id="rId${numbers.length + 1}" Type="${RELATIONS}/styles" Target="styles.xml"/>`
    const types = numbers.map((n) => `<Override PartName="/${fileOf(n)}" ContentType="${TYPE}.worksheet+xml"/>`)
    const relations = (inner: string) => `${XML}<Relationships xmlns="${PACKAGE}/relationships">${inner}</Relationships>`
    this.#zip.addText(
      'xl/workbook.xml',
      `${XML}<workbook xmlns="${MAIN}" xmlns:r="${RELATIONS}"><sheets>${sheets.join('')}</sheets></workbook>`,
    )
    this.#zip.addText('xl/_rels/workbook.xml.rels', relations(ofSheets.join('') + styles))
    this.#zip.addText('xl/styles.xml', STYLES)
    this.#zip.addText('_rels/.rels', relations(`<Relationship Id="rId1" Type="${RELATIONS}/officeDocument" Target="xl/workbook.xml"/>`))
    this.#zip.addText(
      '[Content_Types].xml',
      `${XML}<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
        `<Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="${TYPE}.sheet.main+xml"/>` +
        `<Override PartName="/xl/styles.xml" ContentType="${TYPE}.styles+xml"/>${types.join('')}</Types>`,
    )
  }

  #begin(): void {
    if (this.#state.entry === null) this.#nextSheet()
  }

  #nextSheet(): void {
    this.#endSheet()
    const { sheets } = this.#state
    const before = sheets.filter((one) => one === this.#name || one.startsWith(`${this.#name} `)).length
    this.#state.entry = this.#zip.begin(fileOf(sheets.push(before === 0 ? this.#name : `${this.#name} ${before + 1}`)))
    this.#state.rows = 1
    const headings = this.#columns.map(({ heading }, at) => textCell(`${letterOf(at)}1`, heading, HEADING))
    this.#text.push(`${SHEET}${colsOf(this.#columns)}<sheetData><row r="1">${headings.join('')}</row>`)
  }

  #endSheet(): void {
    const { entry } = this.#state
    if (entry === null) return
    const all = `A1:${letterOf(this.#columns.length - 1)}${this.#state.rows}`
    this.#text.push(`</sheetData><autoFilter ref="${all}"/></worksheet>`)
    this.#flush()
    this.#zip.end(entry)
    this.#state.entry = null
  }

  #flush(): void {
    if (this.#text.length === 0) return
    this.#zip.append(this.#state.entry!, this.#text.join(''))
    this.#text = []
  }
}

/** A workbook in memory, with a sheet for each table. The same tables and time are the same bytes. */
export function workbookOf(
  tables: readonly { name: string; columns: Columns; rows: readonly unknown[] }[],
  time: Date,
): Uint8Array<ArrayBuffer> {
  const [parts, directory]: [Uint8Array[], Uint8Array[]] = [[], []]
  let at = 0
  const sink: Sink = {
    get at() {
      return at
    },
    push(bytes) {
      parts.push(bytes)
      at += bytes.length
    },
    enter: (bytes) => void directory.push(bytes),
  }
  const zip = new Zip(sink, { entries: 0, directory: 0 }, time, { bytes: 2 ** 32 - 1, entries: 65_535 })
  const [first, ...others] = tables
  const workbook = new Workbook(zip, { sheets: [], rows: 0, entry: null }, first!.columns, first!.name, { rows: 1_048_576, bytes: 2 ** 31 })
  workbook.write(first!.rows)
  for (const { name, columns, rows } of others) {
    workbook.next(columns, name)
    workbook.write(rows)
  }
  workbook.end()
  const begin = at
  for (const bytes of directory) sink.push(bytes)
  zip.finish(begin)
  return Buffer.concat(parts)
}
