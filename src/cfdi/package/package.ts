import { Readable } from 'node:stream'
import { constants, crc32, createInflateRaw, inflateRawSync } from 'node:zlib'
import { type Bytes, partsOf } from '../../platform/bytes/bytes.ts'
import { clipped } from '../../platform/names.ts'
import { letOthersGoOn } from '../../platform/work/pause.ts'
import { FOREIGN_RFC } from '../../taxpayers/rfc.ts'
import { asRfc, isAmount, isRealDay, isRfc, isUuid } from '../xml/document.ts'
import { EntryRejected } from './central-record.ts'
import type { ZipEntry } from './entries.ts'

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
  /** The month of its Fecha, `YYYY-MM`; null when it cannot be read either. */
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

/** The columns that a list of CFDIs must have: without one, a document would be stored wrongly. Its amount may be unknown. */
const REQUIRED = ['uuid', 'rfcemisor', 'rfcreceptor', 'fechaemision', 'estatus'] as const
/** The limit of a row in characters, so that text without an end of line does not pile up. None of its texts may have more than 2,000. */
const MAX_RECORD = 64 * 1024
const MAX_HEADER = 64 * 1024

/** The values of the column Estatus. */
const STATUSES: ReadonlyMap<string | undefined, 'vigente' | 'cancelado'> = new Map([
  ...(['1', 'vigente'] as const).map((name) => [name, 'vigente'] as const),
  ...(['0', 'cancelado'] as const).map((name) => [name, 'cancelado'] as const),
])

/** The place of each column, and the last of them. */
type Columns = ReadonlyMap<string, number> & { readonly last: number }

/**
 * Reads a metadata TXT that comes part by part. The columns are found by the names in the header, in any order; missing columns are null,
 * and unknown ones are ignored. A header that lacks a column which a list must have is the one line that is reported. Line feeds inside a name are
 * removed. A file of third parties (`_tercero.txt`) or of something else has no rows.
 */
export class MetadataReader {
  /** Text that has come and is not read yet. */
  #text = ''
  /** How far it holds no end of a record. */
  #searched = 0
  #line = 1
  #separator: '\n' | '\r\n' | null = null
  /** Null in a file that is no list of CFDIs. */
  #columns: Columns | null = null
  /** Whether the beginning of this record was too long and has been dropped. */
  #isCut = false
  /** How many more rows with too many fields may be read in vain. */
  #inVain = MOST_IN_VAIN

  /** The line that was reached, from 1. */
  get line(): number {
    return this.#line
  }

  /** Whether the header has been read and is not that of a list of CFDIs. */
  get isRefused(): boolean {
    return this.#separator !== null && this.#columns === null
  }

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
    const isWhole = feed >= 0 || isEnd
    if (isWhole && REQUIRED.every((name) => columns.has(name))) this.#columns = columns
    else if (columns.has('uuid') && !isOfThirdParties(columns))
      lines.push({ rejected: { line: this.#line + lineFeeds(this.#text.slice(0, first)), month: null, code: 'metadata.missing_column' } })
    this.#line += lineFeeds(this.#text.slice(0, end)) + 1
    this.#text = this.#text.slice(end + 1)
    return true
  }

  /** Takes text without an end of a record: the last record, or the beginning of one that is too long. */
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
    if (!this.#isCut && this.#columns !== null && record.trim() !== '') {
      const fields = record.split('~', this.#columns.last + MOST_IN_NAMES + 2)
      const read = readRow(fields, this.#columns, this.#line)
      const joined = read.row || this.#inVain === 0 ? null : readJoined(fields, this.#columns, this.#line)
      if (joined === 'none') this.#inVain--
      lines.push(joined === null || joined === 'none' ? read : joined)
    }
    this.#isCut = false
    this.#line += lineFeeds(text) + 1
  }
}

/** Whether these are the columns of the list of third parties, on whose account documents of another list are. */
const isOfThirdParties = (columns: { has(name: string): boolean }): boolean =>
  columns.has('rfcacuentaterceros') && !columns.has('rfcemisor')

const columnsOf = (header: string): Columns => {
  const columns = new Map<string, number>()
  header.split('~').forEach((name, i) => {
    const key = name.trim().toLowerCase()
    if (!columns.has(key)) columns.set(key, i)
  })
  return Object.assign(columns, { last: Math.max(...columns.values()) })
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

/** How many rows of a file may be read so and are no rows: each of them costs as much as ten. */
const MOST_IN_VAIN = 1_000

/**
 * Reads a record that has too many fields and cannot be read as it is, because some separators are parts of names. Null when it cannot be
 * that, and 'none' when it is no row even so.
 */
const readJoined = (fields: readonly string[], columns: Columns, line: number): MetadataLine | 'none' | null => {
  const extra = fields.length - 1 - columns.last
  const [first, last] = NAMES.map((name) => columns.get(name)).sort((a, b) => a! - b!)
  if (extra < 1 || extra > MOST_IN_NAMES || first === undefined || last === undefined) return null
  for (let inFirst = 0; inFirst <= extra; inFirst++) {
    const joined = joinedAt(joinedAt(fields, last + inFirst, extra - inFirst), first, inFirst)
    const other = readRow(joined, columns, line)
    if (other.row?.fecha) return other
  }
  return 'none'
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
  const efecto = field('efectocomprobante')
  // The foreign receiver of retenciones needs no RFC.
  const receptor_rfc = asRfc(field('rfcreceptor') ?? (efecto === null ? FOREIGN_RFC : ''))
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
      tipo_comprobante: efecto?.slice(0, 1).toUpperCase() ?? null,
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

/**
 * Inflates the data of an entry and checks its size and its CRC-32. Never returns more than `limit` bytes; a ZIP bomb is stopped at twice
 * the size that it declares. Throws EntryRejected.
 */
export const inflate = (data: Uint8Array, entry: ZipEntry, limit: number): Uint8Array => {
  if (entry.rejected !== null) throw entry.rejected
  if (entry.size > limit) throw new EntryRejected('zip.too_large', `The entry is larger than ${limit} bytes.`)
  const inflated = entry.method === 0 ? data : inflateRaw(data, entry.size)
  if (inflated.length !== entry.size) throw wrongSize()
  if (crc32(inflated) !== entry.crc32) throw wrongCrc()
  if (inflated[0] === 0x50 && inflated[1] === 0x4b && inflated[2] === 3 && inflated[3] === 4) {
    throw new EntryRejected('zip.nested', 'A ZIP inside a ZIP is not opened.')
  }
  return inflated
}

/**
 * Inflates data that should have so many bytes, and stops at twice as many. workerd fails when its buffer has to grow beyond the limit,
 * although the content does not: a buffer of 40 KiB, 80 KiB, 160 KiB … grows by at least 40 KiB. With the size itself as the limit, every
 * content of 40 to 80, 80 to 120, 160 to 200, 320 to 360 … KiB would be refused; a content's last buffer is never twice as large as the
 * content.
 */
const inflateRaw = (data: Uint8Array, size: number, finishFlush: number = constants.Z_FINISH): Uint8Array => {
  try {
    return inflateRawSync(data, { finishFlush, maxOutputLength: 2 * size + 64 })
  } catch (error) {
    // The messages of Node and workerd differ, but both throw a RangeError at the limit.
    throw error instanceof RangeError ? wrongSize() : corrupt()
  }
}

/** Enough compressed bytes to inflate what `kindOf` needs: the codes of a block take up to 300. */
const START = 1_024

/** Inflates at least the first 64 bytes of an entry, or all of a shorter one, unchecked; never more than 2 MiB. Throws EntryRejected. */
export const startOf = async (file: Bytes, entry: ZipEntry): Promise<Uint8Array> => {
  if (entry.rejected !== null) throw entry.rejected
  const data = await file.read(entry.offset, Math.min(entry.compressed_size, START))
  return entry.method === 0 ? data : inflateRaw(data, Math.min(entry.size, START * 1_032), constants.Z_SYNC_FLUSH)
}

/** How many compressed bytes are read at a time, and how many inflated ones are in memory. */
const PART = 64 * 1024

/**
 * Inflates an entry part by part, however large it is, and checks its size and its CRC-32 at the end, after the last part. Throws
 * EntryRejected.
 */
export async function* inflatedParts(file: Bytes, entry: ZipEntry): AsyncGenerator<Uint8Array, void, undefined> {
  if (entry.rejected !== null) throw entry.rejected
  const packed = partsOf(file, entry.offset, entry.compressed_size, PART)
  let [size, crc] = [0, 0]
  for await (const part of entry.method === 0 ? packed : inflatedStream(packed)) {
    size += part.length
    if (size > entry.size) throw wrongSize()
    crc = crc32(part, crc)
    yield part
  }
  if (size !== entry.size) throw wrongSize()
  if (crc !== entry.crc32) throw wrongCrc()
}

async function* inflatedStream(packed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const inflater = createInflateRaw({ chunkSize: PART })
  try {
    for await (const part of Readable.from(packed)
      .on('error', (error) => inflater.destroy(error))
      .pipe(inflater))
      yield part as Uint8Array
  } catch (error) {
    throw isOfZlib(error) ? corrupt() : error
  } finally {
    inflater.destroy()
  }
}

/** The codes of zlib's own errors begin with Z_, or ERR_ where workerd has its own. */
const isOfZlib = (error: unknown): boolean => /^(Z_|ERR_)/.test((error as { code?: string }).code ?? '')

const wrongSize = (): EntryRejected => new EntryRejected('zip.wrong_size', 'The size of the entry is not the one that the directory gives.')
const wrongCrc = (): EntryRejected => new EntryRejected('zip.wrong_crc', 'The entry is damaged: its CRC-32 does not match.')
const corrupt = (): EntryRejected => new EntryRejected('zip.corrupt', 'The compressed data of the entry are damaged.')

/** The content of an entry. */
export type EntryKind = 'xml' | 'metadata' | 'terceros' | 'junk'

/** In bytes: the header of metadata, whose columns come in any order, is shorter. */
const LONGEST_HEADER = 1_024

/** Recognises an entry by its first line, because names can be wrong. A file named `.xml` counts as XML, so that faults are reported. */
export const kindOf = (name: string, content: Uint8Array): EntryKind => {
  const start = new TextDecoder('utf-8').decode(content.subarray(0, LONGEST_HEADER)).replace(/^[\ufeff\s]+/, '')
  const names = /^.*/.exec(start.toLowerCase())![0].split('~')
  const columns = new Set(names.map((name) => name.trim()))
  if (names.length > 1 && columns.has('uuid')) return isOfThirdParties(columns) ? 'terceros' : 'metadata'
  return start.startsWith('<') || isXml(name) ? 'xml' : 'junk'
}

/** Whether a file's name claims that it is a CFDI. */
export const isXml = (name: string): boolean => /\.xml$/i.test(name)

const UUID = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/i

/** The UUID in a file's name, in upper case, without regard to folders and extensions. Null when there is none. */
export const uuidOfName = (name: string): string | null => UUID.exec(name.slice(name.search(/[^\\/]*$/)))?.[0].toUpperCase() ?? null

/** A name that is safe to show: without control characters and at most 120 characters long. */
export const shownName = (name: string): string => clipped(name.replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}]/gu, '\ufffd'), 120)

/** The limit of the metadata in one package, in inflated bytes: about 250,000 rows. Larger months come in several packages. */
export const MAX_METADATA_BYTES = 48 * 1024 * 1024
/** The limit of the lines in it, empty ones and those inside of names too: twice as many as it can have rows. */
const MAX_METADATA_LINES = 500_000
const METADATA_FILES_PART = 64 * 1024

/** What the metadata files of one package may still have together. */
export class MetadataRoom {
  bytes = MAX_METADATA_BYTES
  #lines = MAX_METADATA_LINES

  /** Counts the lines that end in a part of a file. Throws EntryRejected as soon as there are too many. */
  count(part: Uint8Array): void {
    for (let at = part.indexOf(LINE_FEED); at >= 0; at = part.indexOf(LINE_FEED, at + 1))
      if (--this.#lines < 0)
        throw new EntryRejected('metadata.too_many_lines', 'The metadata has more than 500,000 lines, of which empty ones count too.')
  }
}
const LINE_FEED = 0x0a

/** A metadata file that has been read once to its end, so that nothing of a damaged one is ever used. It is never in memory as a whole. */
export interface MetadataFile {
  /** Safe to be shown. */
  name: string
  /** Its lines, some at a time. Each call reads the file again. */
  lines(): AsyncGenerator<MetadataLine[], void, undefined>
}

/** Opens a metadata entry of a ZIP in the room that is left, and takes it. Throws EntryRejected. */
export const openMetadataEntry = async (file: Bytes, entry: ZipEntry, room: MetadataRoom): Promise<MetadataFile> => {
  if (entry.rejected !== null) throw entry.rejected
  if (entry.size > room.bytes) throw new EntryRejected('zip.too_large', 'The metadata of the package is larger than 48 MiB.')
  room.bytes -= entry.size
  return open(shownName(entry.name), () => inflatedParts(file, entry), room, entry.size <= LARGEST_DOUBT)
}

/** Opens a metadata TXT that is not in a ZIP. Throws EntryRejected. */
export const openMetadata = (file: Bytes): Promise<MetadataFile> =>
  open('upload.txt', () => partsOf(file, 0, file.size, METADATA_FILES_PART), new MetadataRoom(), false)

type Parts = () => AsyncIterable<Uint8Array>

/** Parts between two pauses. */
const PARTS_AT_ONCE = 16
/** Lines between two pauses. */
const LINES_AT_ONCE = 1_000

/** In bytes: an entry that may be a list with a damaged header. Larger ones are not read beyond it. */
const LARGEST_DOUBT = 1024 * 1024

/**
 * Reads all of a file when its header is that of a list of CFDIs, because a damaged entry reveals itself at its end. Another one is read up to
 * the end of its header, or all of it when it may be damaged.
 */
async function open(name: string, parts: Parts, room: MetadataRoom, isInDoubt: boolean): Promise<MetadataFile> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let isUtf8 = true
  const check = (part?: Uint8Array) => {
    try {
      if (isUtf8) decoder.decode(part, { stream: part !== undefined })
    } catch {
      isUtf8 = false
    }
  }
  let [header, count] = [new HeaderReader() as HeaderReader | null, 0]
  let refused: MetadataLine[] | null = null
  for await (const part of parts()) {
    if (refused === null) {
      room.count(part)
      refused = header?.push(part) ?? null
      if (header?.isRead) header = null
      check(part)
    }
    if (refused !== null && !isInDoubt) break
    if (++count % PARTS_AT_ONCE === 0) await letOthersGoOn()
  }
  const lines = refused
  if (lines !== null) return { name, lines: () => only(lines) }
  check()
  return { name, lines: () => linesIn(parts, isUtf8 ? 'utf-8' : 'windows-1252') }
}

async function* only(lines: MetadataLine[]): AsyncGenerator<MetadataLine[], void, undefined> {
  yield lines
}

/** Reads the header of a metadata file, whose names of columns are the same in every encoding. */
class HeaderReader {
  readonly #reader = new MetadataReader()
  readonly #decoder = new TextDecoder('windows-1252')
  #isBegun = false
  isRead = false

  /** Reads a part of the file. When the header turns out to be that of no list of CFDIs, returns all lines that the file has then. */
  push(part: Uint8Array): MetadataLine[] | null {
    const decoded = this.#decoder.decode(part, { stream: true })
    const text = this.#isBegun ? decoded : withoutMarks(decoded)
    this.#isBegun = true
    const first = text.search(/\S/)
    const feed = first < 0 ? -1 : text.indexOf('\n', first)
    const lines = this.#reader.push(feed < 0 ? text : text.slice(0, feed + 1))
    this.isRead = feed >= 0 || this.#reader.isRefused
    return this.#reader.isRefused ? lines : null
  }
}

const withoutMarks = (text: string): string => text.replace(/^(?:\ufeff|ï»¿)+/, '')

async function* linesIn(parts: Parts, encoding: string): AsyncGenerator<MetadataLine[], void, undefined> {
  const decoder = new TextDecoder(encoding, { fatal: false, ignoreBOM: true })
  const reader = new MetadataReader()
  let [count, paused, line] = [0, 0, 0]
  for await (const part of parts()) {
    const text = decoder.decode(part, { stream: true })
    yield reader.push(count++ === 0 ? withoutMarks(text) : text)
    if (count - paused < PARTS_AT_ONCE && reader.line - line < LINES_AT_ONCE) continue
    await letOthersGoOn()
    paused = count
    line = reader.line
  }
  yield reader.push(decoder.decode())
  yield reader.end()
}
