import { decode } from '../xml/decode.ts'
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
  tipo_comprobante: string | null
  cancelled: boolean
  cancelled_at: string | null
  /** `01` to `04`, from an optional column Motivo. */
  cancellation_reason: string | null
  /** From an optional column FolioSustitucion. */
  folio_sustitucion: string | null
}

/** A row that cannot be read, with the line on which it begins (line 1 is the header). */
export interface MetadataRejected {
  line: number
  code: 'metadata.invalid_uuid' | 'metadata.invalid_rfc' | 'metadata.invalid_amount'
}

/** A line of a metadata file: either a row or a rejection. */
export type MetadataLine = { row: MetadataRow; rejected?: never } | { rejected: MetadataRejected; row?: never }

/**
 * Reads the rows of a metadata TXT, one at a time. The columns are found by the names in the header, in any order; missing columns are
 * null, and unknown ones are ignored. Line feeds inside a name are removed. A file of third parties (`_tercero.txt`) or of something else
 * has no rows. Source: sat.md 1.7.
 */
export function* parseMetadata(input: string | Uint8Array): Generator<MetadataLine, void, undefined> {
  const text = typeof input === 'string' ? input.replace(/^\ufeff+/, '') : decode(input).text
  const lines = records(text)
  const header = lines.next().value
  const columns = header === undefined ? null : columnsOf(header.text)
  if (columns === null) return
  for (const { text: record, line } of lines) {
    if (record.trim() !== '') yield readRow(record.split('~'), columns, line)
  }
}

/** The columns that a list of CFDIs must have. A file of third parties has only the first. */
const REQUIRED = ['uuid', 'rfcemisor', 'rfcreceptor'] as const

type Columns = ReadonlyMap<string, number>

const columnsOf = (header: string): Columns | null => {
  const columns = new Map<string, number>()
  header.split('~').forEach((name, i) => {
    const key = name.trim().toLowerCase()
    if (!columns.has(key)) columns.set(key, i)
  })
  return REQUIRED.every((name) => columns.has(name)) ? columns : null
}

/** When the header ends with CR LF, only CR LF ends a record: then a lone line feed is part of a name and cannot forge another row. */
function* records(text: string): Generator<{ text: string; line: number }, undefined, undefined> {
  const first = text.search(/\S/)
  if (first < 0) return
  const feed = text.indexOf('\n', first)
  const separator = feed > 0 && text[feed - 1] === '\r' ? '\r\n' : '\n'
  let line = lineFeeds(text, 0, first) + 1
  for (let at = first; at < text.length; ) {
    const end = text.indexOf(separator, at)
    const record = text.slice(at, end < 0 ? text.length : end)
    yield { text: separator === '\n' ? record.replace(/\r$/, '') : record, line }
    if (end < 0) return
    line += lineFeeds(text, at, end) + 1
    at = end + separator.length
  }
  return
}

const lineFeeds = (text: string, from: number, to: number): number => {
  let count = 0
  for (let at = text.indexOf('\n', from); at >= 0 && at < to; at = text.indexOf('\n', at + 1)) count++
  return count
}

const readRow = (fields: readonly string[], columns: Columns, line: number): MetadataLine => {
  const field = (name: string): string | null => fields[columns.get(name) ?? -1]?.replace(/[\r\n]+/g, '').trim() || null
  const rejected = (code: MetadataRejected['code']): MetadataLine => ({ rejected: { line, code } })
  const uuid = (field('uuid') ?? '').toUpperCase()
  if (!isUuid(uuid)) return rejected('metadata.invalid_uuid')
  const emisor_rfc = asRfc(field('rfcemisor') ?? '')
  const receptor_rfc = asRfc(field('rfcreceptor') ?? '')
  if (!isRfc(emisor_rfc) || !isRfc(receptor_rfc)) return rejected('metadata.invalid_rfc')
  const total = field('monto')?.replace(/^\$\s*|,/g, '') ?? null
  if (total !== null && !isAmount(total)) return rejected('metadata.invalid_amount')
  const estatus = field('estatus')?.toLowerCase()
  return {
    row: {
      uuid,
      emisor_rfc,
      emisor_nombre: field('nombreemisor'),
      receptor_rfc,
      receptor_nombre: field('nombrereceptor'),
      pac_rfc: asRfc(field('rfcpac') ?? '') || null,
      fecha: literalTime(field('fechaemision')),
      certified_at: literalTime(field('fechacertificacionsat')),
      total,
      tipo_comprobante: field('efectocomprobante')?.slice(0, 1).toUpperCase() ?? null,
      cancelled: estatus === '0' || estatus === 'cancelado',
      cancelled_at: literalTime(field('fechacancelacion')),
      cancellation_reason: /^0[1-4]$/.exec(field('motivo') ?? '')?.[0] ?? null,
      folio_sustitucion: field('foliosustitucion')?.toUpperCase() ?? null,
    },
  }
}

const TIME = /^(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))[ T]((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)/

const literalTime = (value: string | null): string | null => {
  const [, day, time] = TIME.exec(value ?? '') ?? []
  return day !== undefined && isRealDay(day) ? `${day}T${time}` : null
}
