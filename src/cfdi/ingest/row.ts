import { Buffer } from 'node:buffer'
import { fits, micros } from '../../platform/money.ts'
import { centralTime, instantOf, lastDayOf } from '../../platform/time/months.ts'
import { earliestOf, latestOf } from '../../taxpayers/visibility/window.ts'
import { type CfdiRow, EMPTY_ROW, rowWithHeader } from '../columns.ts'
import type { MetadataRow } from '../package/package.ts'
import type { ReportedStatus } from '../package/rejections.ts'
import { termDaysOf } from '../payment-terms.ts'
import { breakdownOf, type LineTaxes, taxesOf } from '../taxes/taxes.ts'
import { type Applied, balanceOf, inMxn, rateOf } from '../totals.ts'
import type { CfdiDocument } from '../xml/document.ts'
import { isIssueDate, isUuid, outOfRange } from '../xml/document.ts'
import type { XmlLocation } from '../xml/xml-store.ts'

/** A document that cannot be stored in this partition. The message contains no RFC. */
export class RowRejected extends Error {
  readonly code: 'cfdi.unstamped' | 'cfdi.foreign_rfc' | 'cfdi.invalid_uuid' | 'cfdi.invalid_date' | 'cfdi.too_large'

  constructor(code: RowRejected['code'], message: string) {
    super(message)
    this.code = code
  }
}

/** The status that the authority gives a document. */
export type StatusColumns = Pick<CfdiRow, 'estatus' | 'cancelled' | 'cancelled_at' | 'cancellation_reason' | 'folio_sustitucion'>

/** A cancellation that somebody reports. */
export type ReportedCancellation = ReportedStatus & { uuid: string }

/** Whether a report adds to a stored document that it is cancelled, or when. The status service reports no time. */
export const hasNews = (
  reported: Omit<ReportedStatus, 'folio_sustitucion'>,
  stored: { cancelled: number; cancelled_at: string | null },
): boolean => reported.cancelled && (stored.cancelled === 0 || (stored.cancelled_at === null && reported.cancelled_at !== null))

const VALID: StatusColumns = { estatus: 'vigente', cancelled: 0, cancelled_at: null, cancellation_reason: null, folio_sustitucion: null }
/** For a document that is only known to be cancelled. */
export const CANCELLED: StatusColumns = { ...VALID, estatus: 'cancelado', cancelled: 1 }

/** The status that metadata gives a document. Without metadata the document is valid. */
export const statusOf = (metadata: ReportedStatus | undefined): StatusColumns =>
  metadata?.cancelled !== true
    ? VALID
    : {
        estatus: 'cancelado',
        cancelled: 1,
        cancelled_at: metadata.cancelled_at && centralTime(metadata.cancelled_at),
        cancellation_reason: metadata.cancellation_reason,
        folio_sustitucion: metadata.folio_sustitucion,
      }

/** The row of a document in a partition of an RFC, before anything is applied to it. `now` in milliseconds. Throws RowRejected. */
export function rowOf(document: CfdiDocument, lines: LineTaxes, rfc: string, status: StatusColumns, now: number): CfdiRow {
  const { uuid, retencion, currency, tipo_cambio } = document
  if (uuid === null) throw new RowRejected('cfdi.unstamped', 'The document has no TimbreFiscalDigital.')
  if (!isUuid(uuid)) throw new RowRejected('cfdi.invalid_uuid', 'UUID is the nil UUID, which no stamp has.')
  const total = retencion ? retencion.monto_total_operacion : document.total
  const total_micros = micros(total)
  const total_mxn = total_micros === null ? null : inMxn(total_micros, rateOf(currency, tipo_cambio))
  const taxes = taxesOf(document, lines)
  const row: CfdiRow = {
    ...rowWithHeader(document),
    uuid,
    ...partiesOf(document, rfc),
    ...status,
    ...issuedAt(document),
    total,
    total_micros,
    ...taxes,
    ...breakdownOf(document, lines, taxes),
    ...paidDaysOf(document, taxes),
    terms_days: document.tipo_comprobante === 'I' ? termDaysOf(document.condiciones_pago) : null,
    total_mxn: total_mxn !== null && fits(total_mxn) ? total_mxn : null,
    paid: 0n,
    credited: 0n,
    updated_at: now,
  }
  return withBalance(row, [])
}

const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/

/** The months of a period of InformacionGlobal: one, or two from 13 on. */
const monthsOf = (meses: string): [first: string, last: string] | null => {
  const n = Number(meses)
  const [first, last] = n <= 12 ? [n, n] : [2 * (n - 12) - 1, 2 * (n - 12)]
  return Number.isInteger(n) && n >= 1 && n <= 18 ? [String(first).padStart(2, '0'), String(last).padStart(2, '0')] : null
}

/** The last day of the period of a global invoice whose Fecha is outside of it. */
function globalDayOf({ informacion_global, fecha }: CfdiDocument): string | null {
  const { meses, anio } = informacion_global ?? {}
  const months = meses == null ? null : monthsOf(meses)
  if (months === null || !MONTH.test(`${anio}-${months[0]}`) || !isIssueDate(`${anio}-${months[1]}`)) return null
  const [first, last] = months.map((month) => `${anio}-${month}`)
  return fecha.slice(0, 7) >= first! && fecha.slice(0, 7) <= last! ? null : lastDayOf(last!)
}

/** Marks a credit note that may count on another day than its own, until the day of `last` (`cfdi_elsewhere`). */
export const markedElsewhere = (fecha: string, last = fecha): Pick<CfdiRow, 'first_paid_on' | 'last_paid_on'> => ({
  first_paid_on: fecha.slice(0, 10),
  last_paid_on: (last > fecha ? last : fecha).slice(0, 10),
})

/**
 * The first and the last day of the payments of a P or N; for a CFDI de retenciones, the last day of its period; see tables.ts for an I and
 * an E.
 */
function paidDaysOf(
  document: CfdiDocument,
  { iva_retenido }: Pick<CfdiRow, 'iva_retenido'>,
): Pick<CfdiRow, 'first_paid_on' | 'last_paid_on'> {
  const { pagos, nominas, retencion, tipo_comprobante, fecha, relacionados } = document
  if (tipo_comprobante === 'I') {
    const day = globalDayOf(document)
    return { first_paid_on: day, last_paid_on: day }
  }
  if (tipo_comprobante === 'E')
    return (iva_retenido ?? 0n) !== 0n || relacionados.some(({ tipo_relacion }) => tipo_relacion === '07')
      ? markedElsewhere(fecha)
      : { first_paid_on: null, last_paid_on: null }
  if (retencion || tipo_comprobante === 'N') {
    const month = `${retencion?.ejercicio}-${retencion?.mes_final?.padStart(2, '0')}`
    const isMonth = MONTH.test(month) && isIssueDate(month)
    const day = (isMonth ? lastDayOf(month) : (nominas[0]?.fecha_pago ?? fecha)).slice(0, 10)
    return { first_paid_on: day, last_paid_on: day }
  }
  const days = pagos.flatMap(({ fecha_pago }) => (fecha_pago === '' ? [] : [fecha_pago.slice(0, 10)])).sort()
  return { first_paid_on: days[0] ?? null, last_paid_on: days.at(-1) ?? null }
}

/** The row of a document that is known from metadata only. `now` in milliseconds. Throws RowRejected. */
export function rowOfMetadata(metadata: MetadataRow, rfc: string, now: number): CfdiRow {
  const { fecha, uuid, total } = metadata
  if (fecha === null) throw new RowRejected('cfdi.invalid_date', 'FechaEmision is not a date and time.')
  if (!isIssueDate(fecha)) throw new RowRejected('cfdi.invalid_date', outOfRange('FechaEmision'))
  return {
    ...EMPTY_ROW,
    kind: metadata.kind,
    uuid,
    ...partiesOf(metadata, rfc),
    ...statusOf(metadata),
    ...instantOf(fecha, null),
    fecha,
    tipo_comprobante: metadata.tipo_comprobante,
    certified_at: metadata.certified_at,
    pac_rfc: metadata.pac_rfc,
    emisor_nombre: metadata.emisor_nombre,
    receptor_nombre: metadata.receptor_nombre,
    total,
    // There is no total_mxn: metadata does not state the currency of its amount.
    total_micros: micros(total),
    paid: 0n,
    credited: 0n,
    updated_at: now,
  }
}

/**
 * When a document was issued: at the offset that its Fecha states, else in the zone of its place of issue. An offset that Mexico does not
 * have could put the instant outside the document's day, where no search by days would find it.
 */
function issuedAt({ fecha, lugar_expedicion, utc_offset }: CfdiDocument): Pick<CfdiRow, 'issued_at' | 'utc_offset'> {
  if (utc_offset === null) return instantOf(fecha, lugar_expedicion)
  const day = fecha.slice(0, 10)
  const instant = Date.parse(`${fecha}Z`) / 1_000 - utc_offset * 60
  return { issued_at: Math.min(Math.max(instant, earliestOf(day)), latestOf(day)), utc_offset }
}

/** Sets the balance of a row from everything that is applied to it. */
export const withBalance = (row: CfdiRow, applications: readonly Applied[]): CfdiRow => Object.assign(row, balanceOf(row, applications))

/** The schemas of the authority allow at most 1,000 characters in a text, and hardly 2,500 in all that stand in a row. */
const MOST_CHARACTERS = 2_000
const MOST_IN_ALL = 8_000
/** Columns that the service makes of many members of a document. */
const LISTS: ReadonlySet<string> = new Set(['related', 'products', 'taxes', 'status_checks', 'beyond_advances'])

/**
 * Throws RowRejected when a text is longer than any real one, or all of them together. A page of rows with longer texts would not fit into
 * memory, and SQLite copies a long row wherever it compares its key.
 */
export function refuseLongTexts(row: object): void {
  let all = 0
  for (const [name, value] of Object.entries(row)) {
    if (typeof value !== 'string' || LISTS.has(name)) continue
    all += value.length
    if (value.length > MOST_CHARACTERS || all > MOST_IN_ALL)
      throw new RowRejected('cfdi.too_large', 'A text of the document is too long to be stored.')
  }
}

type Parties = Pick<CfdiRow, 'direction' | 'emisor_rfc' | 'receptor_rfc' | 'counterparty_rfc'>

function partiesOf({ emisor_rfc, receptor_rfc }: { emisor_rfc: string; receptor_rfc: string }, rfc: string): Parties {
  if (emisor_rfc === rfc) return { direction: 0, emisor_rfc, receptor_rfc, counterparty_rfc: receptor_rfc }
  if (receptor_rfc === rfc) return { direction: 1, emisor_rfc, receptor_rfc, counterparty_rfc: emisor_rfc }
  throw new RowRejected('cfdi.foreign_rfc', 'The RFC is neither the issuer nor the receiver.')
}

/** What one import says of one document: its XML, its metadata, or both. Several imports can hold a document. */
export interface ImportSource {
  uuid: string
  xml: StoredXml | null
  metadata: MetadataRow | null
}

/** Where the import's own copy of an XML is, and the CRC and size of its bytes. */
export interface StoredXml extends XmlLocation {
  xml_size: number
  xml_crc: number
}

/** Import sources that one commit adds, in the order in which they came. */
export interface ImportSourcePart {
  part: number
  importSources: ImportSource[]
}

/** More parts than one commit can add. */
const PARTS_PER_COMMIT = 1_000
/** The most JSON of the import sources of a part, in bytes. 1,000 usual ones have a third of it. */
const MOST_BYTES = 1024 * 1024
/** The bytes of an import source besides the texts of its metadata. */
const IMPORT_SOURCE_BYTES = 250

/** Divides the import sources of a commit into parts. */
export function importSourceParts(importSources: readonly ImportSource[], sequence: number): ImportSourcePart[] {
  const parts: ImportSourcePart[] = []
  let bytes = MOST_BYTES
  for (const importSource of importSources) {
    const size = IMPORT_SOURCE_BYTES + (importSource.metadata === null ? 0 : Buffer.byteLength(JSON.stringify(importSource.metadata)))
    bytes += size
    if (bytes > MOST_BYTES) {
      parts.push({ part: sequence * PARTS_PER_COMMIT + parts.length, importSources: [] })
      bytes = size
    }
    parts.at(-1)!.importSources.push(importSource)
  }
  return parts
}

/** The parts that a `stored` column names. */
export const partsIn = (stored: string | null): number[] => (stored === null ? [] : stored.split(',').map(Number))

/** The combination of import sources. */
export interface Combined {
  /** The first XML; null when only metadata is known. */
  xml: StoredXml | null
  /** The first metadata; null when an XML came first. */
  metadata: MetadataRow | null
  status: StatusColumns
}

/**
 * Combines import sources in the order of their imports: the first XML stays, the first metadata counts until there is an XML, and a
 * document that is cancelled never becomes valid again. Null without import sources.
 */
export function combine(importSources: readonly ImportSource[]): Combined | null {
  let combined: Combined | null = null
  for (const { xml, metadata } of importSources) {
    if (xml === null && metadata === null) continue
    combined ??= { xml, metadata: xml === null ? metadata : null, status: statusOf(metadata ?? undefined) }
    combined.xml ??= xml
    if (combined.status.cancelled === 0 && metadata?.cancelled) combined.status = statusOf(metadata)
  }
  return combined
}
