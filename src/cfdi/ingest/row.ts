import { centralTime, instantOf } from '../../platform/time/zone-of-postcode.ts'
import { type Applied, balanceOf } from '../balances.ts'
import { type Micros, micros } from '../money.ts'
import type { MetadataRow } from '../package/metadata.ts'
import type { cfdi, cfdiLines } from '../tables.ts'
import { inMxn, rateOf } from '../totals.ts'
import type { CfdiDocument } from '../xml/document.ts'
import { bounded, RowRejected } from './row-rejected.ts'
import { taxesOf } from './taxes.ts'

type Money = 'total_micros' | 'iva_trasladado' | 'iva_retenido' | 'isr_retenido' | 'ieps_trasladado' | 'total_mxn'
type Stored = typeof cfdi.$inferSelect

/** A row of `cfdi` before it is stored: its micros are bigints, and the book that it goes into is said apart. */
export type CfdiRow = Omit<Stored, 'entity' | Money | 'paid' | 'credited'> &
  Record<Money, Micros | null> & { paid: Micros; credited: Micros }

export type LineRow = Omit<typeof cfdiLines.$inferSelect, 'entity'>

/** Where the compressed bytes of a document's XML are going to be. */
export type XmlColumns = Pick<Stored, 'xml_object' | 'xml_offset' | 'xml_length' | 'xml_method' | 'xml_size' | 'xml_crc'>

/** What the authority says of a document besides the document itself. */
export type Status = Pick<CfdiRow, 'estatus' | 'cancelled' | 'cancelled_at' | 'cancellation_reason' | 'folio_sustitucion'>

const VALID: Status = { estatus: 'vigente', cancelled: 0, cancelled_at: null, cancellation_reason: null, folio_sustitucion: null }
const NO_XML: XmlColumns = { xml_object: null, xml_offset: null, xml_length: null, xml_method: null, xml_size: null, xml_crc: null }
/** D1 refuses rows and parameters over 2 MB. */
const MOST_BYTES = 1_500_000

/** The status of a document as the metadata says it. */
export const statusOf = (row: MetadataRow | undefined): Status =>
  row?.cancelled !== true
    ? VALID
    : {
        estatus: 'cancelado',
        cancelled: 1,
        cancelled_at: row.cancelled_at && centralTime(row.cancelled_at),
        cancellation_reason: row.cancellation_reason,
        folio_sustitucion: row.folio_sustitucion,
      }

/** The row of a document in the book of an RFC, nothing applied to it yet. Throws RowRejected. */
export function rowOf(document: CfdiDocument, book: string, status: Status, now: number): CfdiRow {
  const { uuid, retencion, currency, tipo_cambio } = document
  if (uuid === null) throw new RowRejected('cfdi.unstamped', 'The document has no TimbreFiscalDigital.')
  const total = retencion ? retencion.monto_total_operacion : document.total
  const total_micros = bounded(micros(total))
  const row: CfdiRow = {
    uuid,
    ...sides(document, book),
    ...status,
    ...instantOf(document.fecha, document.lugar_expedicion),
    fecha: document.fecha,
    kind: document.kind,
    version: document.version,
    tipo_comprobante: document.tipo_comprobante,
    serie: document.serie,
    folio: document.folio,
    certified_at: document.certified_at,
    pac_rfc: document.pac_rfc,
    emisor_nombre: document.emisor_nombre,
    emisor_regimen_fiscal: document.emisor_regimen_fiscal,
    receptor_nombre: document.receptor_nombre,
    receptor_regimen_fiscal: document.receptor_regimen_fiscal,
    receptor_domicilio_fiscal: document.receptor_domicilio_fiscal,
    uso_cfdi: document.uso_cfdi,
    metodo_pago: document.metodo_pago,
    forma_pago: document.forma_pago,
    condiciones_pago: document.condiciones_pago,
    currency,
    tipo_cambio,
    subtotal: document.subtotal,
    descuento: document.descuento,
    total,
    exportacion: document.exportacion,
    lugar_expedicion: document.lugar_expedicion,
    total_micros,
    ...taxesOf(document),
    total_mxn: total_micros === null ? null : bounded(inMxn(total_micros, rateOf(currency, tipo_cambio))),
    ...UNPAID,
    ...NO_XML,
    first_seen_at: now,
    updated_at: now,
    related: null,
    detail: detailOf(document),
  }
  return withBalance(row, [])
}

/** The row of a document of which only metadata is known. Throws RowRejected. */
export function rowOfMetadata(metadata: MetadataRow, book: string, now: number): CfdiRow {
  const { fecha, uuid, total } = metadata
  if (fecha === null) throw new RowRejected('cfdi.invalid_date', 'FechaEmision is not a date and time.')
  const total_micros = bounded(micros(total))
  return {
    ...EMPTY,
    uuid,
    ...sides(metadata, book),
    ...statusOf(metadata),
    ...instantOf(fecha, null),
    fecha,
    tipo_comprobante: metadata.tipo_comprobante,
    certified_at: metadata.certified_at,
    pac_rfc: metadata.pac_rfc,
    emisor_nombre: metadata.emisor_nombre,
    receptor_nombre: metadata.receptor_nombre,
    total,
    total_micros,
    // Metadata does not say in what currency its amount is.
    total_mxn: null,
    first_seen_at: now,
    updated_at: now,
  }
}

/** The row with what is applied to it reckoned in. */
export const withBalance = (row: CfdiRow, applications: readonly Applied[]): CfdiRow => Object.assign(row, balanceOf(row, applications))

/** The lines of a document, counted from 1. */
export const linesOf = (document: CfdiDocument, uuid: string): LineRow[] =>
  document.conceptos.map(({ impuestos, a_cuenta_terceros_rfc, cuenta_predial, pedimentos, ...columns }, i) => ({
    uuid,
    n: i + 1,
    ...columns,
    detail: JSON.stringify({ impuestos, a_cuenta_terceros_rfc, cuenta_predial, pedimentos }),
  }))

/** Leaves out a detail that is too long to be kept, for the XML has it. Throws RowRejected when that is not enough. */
export function keepWithinLimits(row: CfdiRow, lines: readonly LineRow[]): void {
  if (bytesOf(row) > MOST_BYTES) row.detail = null
  if (bytesOf(row) > MOST_BYTES || lines.some((line) => bytesOf(line) > MOST_BYTES)) {
    throw new RowRejected('cfdi.too_large', 'A text of the document is too long to be kept.')
  }
}

const bytesOf = (row: object): number =>
  Object.values(row).reduce((sum, value) => sum + (typeof value === 'string' ? utf8.encode(JSON.stringify(value)).length : 30), 0)

const utf8 = new TextEncoder()

const UNPAID = { payment_status: null, paid: 0n, credited: 0n, last_payment_at: null, fully_paid_at: null, applied_until: null }

const EMPTY = {
  ...UNPAID,
  ...NO_XML,
  kind: 'cfdi',
  version: null,
  serie: null,
  folio: null,
  emisor_regimen_fiscal: null,
  receptor_regimen_fiscal: null,
  receptor_domicilio_fiscal: null,
  uso_cfdi: null,
  metodo_pago: null,
  forma_pago: null,
  condiciones_pago: null,
  currency: null,
  tipo_cambio: null,
  subtotal: null,
  descuento: null,
  exportacion: null,
  lugar_expedicion: null,
  iva_trasladado: null,
  iva_retenido: null,
  isr_retenido: null,
  ieps_trasladado: null,
  related: null,
  detail: null,
}

function sides({ emisor_rfc, receptor_rfc }: { emisor_rfc: string; receptor_rfc: string }, book: string) {
  if (emisor_rfc === book) return { direction: 0, emisor_rfc, receptor_rfc, counterparty_rfc: receptor_rfc }
  if (receptor_rfc === book) return { direction: 1, emisor_rfc, receptor_rfc, counterparty_rfc: emisor_rfc }
  throw new RowRejected('cfdi.foreign_rfc', 'The RFC is neither the issuer nor the receiver.')
}

/** What neither columns nor lines hold. */
function detailOf(document: CfdiDocument): string {
  return JSON.stringify({
    impuestos: document.impuestos,
    impuestos_locales: document.impuestos_locales ?? undefined,
    informacion_global: document.informacion_global ?? undefined,
    relacionados: some(document.relacionados),
    pagos: some(document.pagos),
    nominas: some(document.nominas),
    retencion: document.retencion ?? undefined,
    complementos: document.complementos,
    receptor_residencia_fiscal: document.receptor_residencia_fiscal ?? undefined,
    receptor_num_reg_id_trib: document.receptor_num_reg_id_trib ?? undefined,
    no_certificado: document.no_certificado,
    sello_ultimos_8: document.sello_ultimos_8,
    has_addenda: document.has_addenda,
    repairs: some(document.repairs),
  } satisfies { [K in keyof CfdiDocument]?: CfdiDocument[K] | undefined })
}

const some = <T>(list: T[]): T[] | undefined => (list.length > 0 ? list : undefined)
