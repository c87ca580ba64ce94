import { asRfc, isAmount, isRealDay, isRfc, isUuid } from '../xml/fields.ts'

/** A CFDI as a metadata package lists it. */
export interface MetadataRow {
  uuid: string
  emisor_rfc: string
  emisor_nombre: string | null
  receptor_rfc: string
  receptor_nombre: string | null
  pac_rfc: string | null
  /** Literal local time, `YYYY-MM-DDTHH:mm:ss`. */
  fecha: string | null
  certified_at: string | null
  total: string | null
  /** Only a CFDI de retenciones has no EfectoComprobante where there is a column for it. */
  kind: 'cfdi' | 'retenciones'
  tipo_comprobante: string | null
  cancelled: boolean
  cancelled_at: string | null
  /** `01` to `04`, from an optional column Motivo. */
  cancellation_reason: string | null
  /** From an optional column FolioSustitucion: the UUID of the document that replaces it, in upper case. */
  folio_sustitucion: string | null
}

/** A row that cannot be read, or a header without what the rows must have, with the line on which it begins (line 1 is the header). */
export interface MetadataRejected {
  line: number
  /** Of its Fecha, `YYYY-MM`; null when it cannot be read either. */
  month: string | null
  code:
    | 'metadata.missing_column'
    | 'metadata.invalid_uuid'
    | 'metadata.invalid_rfc'
    | 'metadata.invalid_amount'
    | 'metadata.invalid_status'
    | 'metadata.too_long'
}

/** A line of a metadata file: either a row, with the line on which it begins, or a rejection. */
export type MetadataLine = { row: MetadataRow; line: number; rejected?: never } | { rejected: MetadataRejected; row?: never }

/** A row with the name of its file, which is safe to be shown, and the line on which it begins. */
export interface ListedRow extends MetadataRow {
  file: string
  line: number
}

/** The columns that a list of CFDIs must have: without one of them a document would be stored as what it is not. Its amount may be unknown. */
const REQUIRED = ['uuid', 'rfcemisor', 'rfcreceptor', 'fechaemision', 'estatus'] as const
/** The limit of a row in characters: what has no end of line is not gathered without end. */
const MAX_RECORD = 8 * 1024 * 1024
const MAX_HEADER = 64 * 1024

/** What the column Estatus says. */
const STATUSES: ReadonlyMap<string | undefined, 'vigente' | 'cancelado'> = new Map([
  ...(['1', 'vigente'] as const).map((name) => [name, 'vigente'] as const),
  ...(['0', 'cancelado'] as const).map((name) => [name, 'cancelado'] as const),
])

type Columns = ReadonlyMap<string, number>

/**
 * Reads a metadata TXT that comes part by part. The columns are found by the names in the header, in any order; missing columns are null,
 * and unknown ones are ignored. A header that lacks a column which a list must have is the one line that is told. Line feeds inside a name are
 * removed. A file of third parties (`_tercero.txt`) or of something else has no rows. Source: sat.md 1.7.
 */
export class MetadataReader {
  /** What has come and is not read yet. */
  #text = ''
  /** How far it holds no end of a record. */
  #searched = 0
  #line = 1
  #separator: '\n' | '\r\n' | null = null
  /** Null in a file that is no list of CFDIs. */
  #columns: Columns | null = null
  /** Whether the beginning of this record was too long and has been dropped. */
  #isCut = false

  /** Returns the lines that end in this part of the text. */
  push(part: string): MetadataLine[] {
    this.#text += part
    return this.#read(false)
  }

  /** Returns the last line when nothing ends it. */
  end(): MetadataLine[] {
    return this.#read(true)
  }

  #read(isEnd: boolean): MetadataLine[] {
    const lines: MetadataLine[] = []
    if (this.#separator === null && !this.#readHeader(isEnd, lines)) return []
    let at = 0
    for (let end = this.#endOf(at); end >= 0; end = this.#endOf(at)) {
      this.#take(this.#text.slice(at, end), lines)
      at = end + this.#separator!.length
    }
    this.#text = this.#text.slice(at)
    if (isEnd || this.#text.length > MAX_RECORD) this.#flush(isEnd, lines)
    this.#searched = Math.max(0, this.#text.length - 1)
    return lines
  }

  #endOf = (at: number): number => this.#text.indexOf(this.#separator!, Math.max(at, this.#searched))

  /** When the header ends with CR LF, only CR LF ends a record: then a lone line feed is part of a name and cannot forge another row. */
  #readHeader(isEnd: boolean, lines: MetadataLine[]): boolean {
    const first = this.#text.search(/\S/)
    const feed = first < 0 ? -1 : this.#text.indexOf('\n', first)
    if (feed < 0 && !isEnd && this.#text.length < MAX_HEADER) return false
    this.#separator = feed > 0 && this.#text[feed - 1] === '\r' ? '\r\n' : '\n'
    const end = feed < 0 ? this.#text.length : feed
    const columns = columnsOf(this.#text.slice(Math.max(first, 0), end))
    if (REQUIRED.every((name) => columns.has(name))) this.#columns = columns
    else if (columns.has('uuid') && !isOfThirdParties(columns))
      lines.push({ rejected: { line: this.#line + lineFeeds(this.#text.slice(0, first)), month: null, code: 'metadata.missing_column' } })
    this.#line += lineFeeds(this.#text.slice(0, end)) + 1
    this.#text = this.#text.slice(end + 1)
    return true
  }

  /** Takes what no end of a record follows: the last record, or the beginning of one that is too long. */
  #flush(isEnd: boolean, lines: MetadataLine[]): void {
    if (this.#text === '') return
    if (isEnd) this.#take(this.#text, lines)
    else {
      if (!this.#isCut && this.#columns !== null) lines.push({ rejected: { line: this.#line, month: null, code: 'metadata.too_long' } })
      this.#isCut = true
      this.#line += lineFeeds(this.#text.slice(0, -1))
    }
    this.#text = isEnd ? '' : this.#text.slice(-1)
  }

  #take(text: string, lines: MetadataLine[]): void {
    const record = this.#separator === '\n' ? text.replace(/\r$/, '') : text
    if (!this.#isCut && this.#columns !== null && record.trim() !== '') lines.push(readRecord(record.split('~'), this.#columns, this.#line))
    this.#isCut = false
    this.#line += lineFeeds(text) + 1
  }
}

/** Whether these are the columns of the list that names whom the documents of another list are on account of. */
export const isOfThirdParties = (columns: { has(name: string): boolean }): boolean =>
  columns.has('rfcacuentaterceros') && !columns.has('rfcemisor')

const columnsOf = (header: string): Columns => {
  const columns = new Map<string, number>()
  header.split('~').forEach((name, i) => {
    const key = name.trim().toLowerCase()
    if (!columns.has(key)) columns.set(key, i)
  })
  return columns
}

const lineFeeds = (text: string): number => {
  let count = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++
  return count
}

/** The columns with names, in which the separator may be. */
const NAMES = ['nombreemisor', 'nombrereceptor'] as const
/** How many separators are taken for parts of names. */
const MOST_IN_NAMES = 8

/** Reads a record; one with too many fields, and which cannot be read as it is, with the separators that are parts of names. */
const readRecord = (fields: readonly string[], columns: Columns, line: number): MetadataLine => {
  const read = readRow(fields, columns, line)
  const extra = fields.length - 1 - Math.max(...columns.values())
  const [first, last] = NAMES.map((name) => columns.get(name)).sort((a, b) => a! - b!)
  if (read.row || extra < 1 || extra > MOST_IN_NAMES || first === undefined || last === undefined) return read
  for (let inFirst = 0; inFirst <= extra; inFirst++) {
    const joined = joinedAt(joinedAt(fields, last + inFirst, extra - inFirst), first, inFirst)
    const other = readRow(joined, columns, line)
    if (other.row?.fecha) return other
  }
  return read
}

const joinedAt = (fields: readonly string[], at: number, more: number): string[] => [
  ...fields.slice(0, at),
  fields.slice(at, at + more + 1).join('~'),
  ...fields.slice(at + more + 1),
]

const readRow = (fields: readonly string[], columns: Columns, line: number): MetadataLine => {
  const field = (name: string): string | null => fields[columns.get(name) ?? -1]?.replace(/[\r\n]+/g, '').trim() || null
  const fecha = literalTime(field('fechaemision'))
  const rejected = (code: MetadataRejected['code']): MetadataLine => ({ rejected: { line, month: fecha?.slice(0, 7) ?? null, code } })
  const uuid = (field('uuid') ?? '').toUpperCase()
  if (!isUuid(uuid)) return rejected('metadata.invalid_uuid')
  const emisor_rfc = asRfc(field('rfcemisor') ?? '')
  const receptor_rfc = asRfc(field('rfcreceptor') ?? '')
  if (!isRfc(emisor_rfc) || !isRfc(receptor_rfc)) return rejected('metadata.invalid_rfc')
  const total = field('monto')?.replace(/^\$\s*|,/g, '') ?? null
  if (total !== null && !isAmount(total)) return rejected('metadata.invalid_amount')
  const estatus = STATUSES.get(field('estatus')?.toLowerCase())
  if (estatus === undefined) return rejected('metadata.invalid_status')
  const folio = field('foliosustitucion')?.toUpperCase() ?? ''
  return {
    line,
    row: {
      uuid,
      emisor_rfc,
      emisor_nombre: field('nombreemisor'),
      receptor_rfc,
      receptor_nombre: field('nombrereceptor'),
      pac_rfc: asRfc(field('rfcpac') ?? '') || null,
      fecha,
      certified_at: literalTime(field('fechacertificacionsat')),
      total,
      kind: fields[columns.get('efectocomprobante') ?? -1]?.trim() === '' ? 'retenciones' : 'cfdi',
      tipo_comprobante: field('efectocomprobante')?.slice(0, 1).toUpperCase() ?? null,
      cancelled: estatus === 'cancelado',
      cancelled_at: literalTime(field('fechacancelacion')),
      cancellation_reason: /^0[1-4]$/.exec(field('motivo') ?? '')?.[0] ?? null,
      folio_sustitucion: isUuid(folio) ? folio : null,
    },
  }
}

const TIME = /^(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))[ T]((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)/

const literalTime = (value: string | null): string | null => {
  const [, day, time] = TIME.exec(value ?? '') ?? []
  return day !== undefined && isRealDay(day) ? `${day}T${time}` : null
}
