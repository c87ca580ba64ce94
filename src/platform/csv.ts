import * as z from 'zod'

/** A column of a table: its heading, and the way to its value in a row. */
export interface Column {
  heading: string
  path: readonly string[]
}

const isPlain = (item: z.ZodType): boolean => item instanceof z.ZodString || item instanceof z.ZodEnum || item instanceof z.ZodNumber

/** The member that a list of objects shows in its one column. */
const NAMED_BY = 'code'

/**
 * The columns of rows of a shape: an object inside a row has a column for each of its members, `counterparty.rfc`. A list of objects with a
 * code has a column with their codes, `flags.code`. Other lists of objects, and records, such as `drilldown`, have none.
 */
export function columnsOf(row: z.ZodType, path: readonly string[] = []): Column[] {
  const inner = row instanceof z.ZodNullable || row instanceof z.ZodOptional ? (row.unwrap() as z.ZodType) : row
  if (inner !== row) return columnsOf(inner, path)
  if (row instanceof z.ZodArray && row.element instanceof z.ZodObject && NAMED_BY in row.element.shape)
    return [{ heading: [...path, NAMED_BY].join('.'), path: [...path, NAMED_BY] }]
  if (row instanceof z.ZodRecord || (row instanceof z.ZodArray && !isPlain(row.element as z.ZodType))) return []
  if (!(row instanceof z.ZodObject)) return [{ heading: path.join('.'), path }]
  return Object.entries(row.shape as Record<string, z.ZodType>).flatMap(([name, member]) => columnsOf(member, [...path, name]))
}

/** Formats rows as CSV (RFC 4180), with a heading. A list inside a row is one value, with spaces between its items. */
export function csvOf(columns: readonly Column[], rows: readonly unknown[]): string {
  return [columns.map(({ heading }) => heading), ...rows.map((row) => columns.map(({ path }) => at(row, path)))].map(csvLine).join('')
}

/** A line of a table, with its end. */
export const csvLine = (values: readonly unknown[]): string => `${values.map(cell).join(',')}\r\n`

/** The value of a column in a row. */
export const at = (row: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((value, name) => (Array.isArray(value) ? value.map((one) => member(one, name)) : member(value, name)), row)

const member = (value: unknown, name: string): unknown => (value as Record<string, unknown> | null | undefined)?.[name]

const NUMBER = /^-?\d+(\.\d+)?$/
/** A spreadsheet takes text that begins so for a formula, also in full width or after marks that nobody sees. */
const FORMULA = /^[\s\p{Cf}]*[=+\-@|\uff1d\uff0b\uff0d\uff20\uff5c]|^[\t\r]/u

/** A value as one text: the items of a list with spaces between them. */
export const cellText = (value: unknown): string =>
  value === null || value === undefined ? '' : Array.isArray(value) ? value.join(' ') : String(value)

function cell(value: unknown): string {
  const text = cellText(value)
  const safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** A text of so many bytes is in memory at a time: that of the largest list takes 50 MB, and the engine is slow to collect large texts. */
const PIECE_BYTES = 32 * 1024

function* decoded(bytes: Uint8Array, decoder: TextDecoder): Generator<string> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield decoder.decode(bytes.subarray(at, at + PIECE_BYTES), { stream: true })
  yield decoder.decode()
}

/** Decodes valid UTF-8, and anything else as windows-1252, which accepts every byte. The text comes in pieces. */
export function textsOf(bytes: Uint8Array): Iterable<string> {
  try {
    for (const _ of decoded(bytes, new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })));
    return decoded(bytes, new TextDecoder('utf-8'))
  } catch {
    return decoded(bytes, new TextDecoder('windows-1252'))
  }
}

const SEPARATOR = /[,\r\n]/g
const LINE_END = /[\r\n]/g
/** Cells of a record. What a line has beyond them is passed over, so that no line takes long. */
const MOST_CELLS = 1_000

/**
 * Yields the records of a CSV text (RFC 4180), which comes in pieces, without a mark of the byte order. Quoted cells may contain commas,
 * line ends and doubled quotes. Records end with CRLF, LF or CR. A quote within a cell that does not begin with a quote is literal; a
 * quoted cell that is never closed ends with the text, and the generator returns whether there is one. A record has at most 1,000 cells.
 * Never throws.
 */
export function* recordsOf(pieces: Iterable<string>): Generator<string[], boolean> {
  const coming = pieces[Symbol.iterator]()
  let at = 0
  let isUnclosed = false
  /** Takes the next pieces, of at least so many characters together; '' when there are none. */
  const take = (length: number): string => {
    let taken = ''
    for (let next = coming.next(); !next.done; next = coming.next()) {
      taken += next.value
      if (taken !== '' && taken.length >= length) break
    }
    return taken
  }
  let text = take(1).replace(/^\uFEFF/, '')
  /** Reads up to the next separator. */
  const plain = (separator = SEPARATOR): string => {
    separator.lastIndex = at
    const from = at
    at = separator.exec(text)?.index ?? text.length
    return text.slice(from, at)
  }
  const quoted = (): string => {
    let cell = ''
    for (;;) {
      const from = at + 1
      const quote = text.indexOf('"', from)
      isUnclosed = quote === -1
      at = isUnclosed ? text.length : quote + 1
      cell += text.slice(from, isUnclosed ? text.length : quote)
      if (text[at] !== '"') return cell
      cell += '"'
    }
  }
  for (;;) {
    const begin = at
    const record: string[] = []
    for (let isOpen = true; isOpen; ) {
      record.push(text[at] === '"' ? quoted() + plain() : plain())
      if (record.length === MOST_CELLS) plain(LINE_END)
      isOpen = text[at] === ','
      if (isOpen) at++
    }
    if (text[at] === '\r' && text[at + 1] === '\n') at += 2
    else if (at < text.length) at++
    // A record that ends with the piece may continue in the next one. A long one gets as much again, so that it is not read over and over.
    const more = at < text.length ? '' : take(text.length - begin)
    if (more !== '') {
      text = text.slice(begin) + more
      at = 0
    } else if (begin < text.length) yield record
    else return isUnclosed
  }
}
