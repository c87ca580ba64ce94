import { offsetText } from '../platform/time/zone-of-postcode.ts'
import { type Applied, type Balance, balanceOf, isDeferred } from './balances.ts'
import type { Cfdi } from './contract.ts'
import { decimal, type Micros } from './money.ts'

/** A row of `cfdi` as the read statements select it (columns.ts). Micros come as text, for they may not fit a number. */
export interface CfdiRow {
  uuid: string
  direction: 0 | 1
  estatus: Cfdi['estatus']
  issued_at: number
  utc_offset: number
  fecha: string
  kind: Cfdi['kind']
  version: string | null
  tipo_comprobante: string | null
  serie: string | null
  folio: string | null
  certified_at: string | null
  pac_rfc: string | null
  emisor_rfc: string
  emisor_nombre: string | null
  emisor_regimen_fiscal: string | null
  receptor_rfc: string
  receptor_nombre: string | null
  receptor_regimen_fiscal: string | null
  receptor_domicilio_fiscal: string | null
  uso_cfdi: string | null
  metodo_pago: string | null
  forma_pago: string | null
  condiciones_pago: string | null
  currency: string | null
  tipo_cambio: string | null
  subtotal: string | null
  descuento: string | null
  total: string | null
  exportacion: string | null
  lugar_expedicion: string | null
  total_micros: string | null
  iva_trasladado: string | null
  iva_retenido: string | null
  isr_retenido: string | null
  ieps_trasladado: string | null
  total_mxn: string | null
  payment_status: Balance['payment_status']
  paid: string
  credited: string
  last_payment_at: string | null
  fully_paid_at: string | null
  applied_until: number | null
  cancelled_at: string | null
  cancellation_reason: string | null
  folio_sustitucion: string | null
  has_xml: 0 | 1
  first_seen_at: number
  updated_at: number
}

/** Where a row was read, and what of it the organization's window lets through. */
export interface Sighting {
  fiscal_entity_id: string
  origin: Cfdi['origin']
  /** What was applied to the document by others that are visible; undefined when the stored balance is known to be of these alone. */
  applied?: readonly Applied[] | undefined
}

const big = (text: string | null): Micros | null => (text === null ? null : BigInt(text))
const money = (text: string | null): string | null => (text === null ? null : decimal(text))
const instant = (milliseconds: number): string => new Date(milliseconds).toISOString()

const localTime = (seconds: number, offset: number): string =>
  `${new Date((seconds + offset * 60) * 1_000).toISOString().slice(0, 19)}${offsetText(offset)}`

/** The balance that the organization may know of: the stored one counts every document that was ever downloaded. */
export function balanceShown(row: CfdiRow, applied: readonly Applied[] | undefined): Balance {
  const { payment_status, last_payment_at, fully_paid_at, applied_until } = row
  if (applied === undefined || !isDeferred(row))
    return { paid: BigInt(row.paid), credited: BigInt(row.credited), payment_status, last_payment_at, fully_paid_at, applied_until }
  return balanceOf({ ...row, total_micros: big(row.total_micros) }, applied)
}

/** What is left to pay of an invoice. */
export const leftOf = ({ total_micros }: CfdiRow, { paid, credited }: Balance): Micros => {
  const left = (big(total_micros) ?? 0n) - paid - credited
  return left > 0n ? left : 0n
}

/** The one door from a row to the wire. */
export function view(row: CfdiRow, { fiscal_entity_id, origin, applied }: Sighting): Cfdi {
  const balance = balanceShown(row, applied)
  const isInvoice = row.tipo_comprobante === 'I'
  const isIssued = row.direction === 0
  return {
    uuid: row.uuid,
    fiscal_entity_id,
    direction: isIssued ? 'issued' : 'received',
    kind: row.kind,
    version: row.version,
    tipo_comprobante: row.tipo_comprobante,
    serie: row.serie,
    folio: row.folio,
    issued_at: localTime(row.issued_at, row.utc_offset),
    fecha: row.fecha,
    certified_at: row.certified_at,
    pac_rfc: row.pac_rfc,
    emisor_rfc: row.emisor_rfc,
    emisor_nombre: row.emisor_nombre,
    emisor_regimen_fiscal: row.emisor_regimen_fiscal,
    receptor_rfc: row.receptor_rfc,
    receptor_nombre: row.receptor_nombre,
    receptor_regimen_fiscal: row.receptor_regimen_fiscal,
    receptor_domicilio_fiscal: row.receptor_domicilio_fiscal,
    counterparty: isIssued ? { rfc: row.receptor_rfc, nombre: row.receptor_nombre } : { rfc: row.emisor_rfc, nombre: row.emisor_nombre },
    uso_cfdi: row.uso_cfdi,
    metodo_pago: row.metodo_pago,
    forma_pago: row.forma_pago,
    condiciones_pago: row.condiciones_pago,
    currency: row.currency,
    moneda: row.currency,
    tipo_cambio: row.tipo_cambio,
    subtotal: row.subtotal,
    descuento: row.descuento,
    total: row.total,
    total_mxn: money(row.total_mxn),
    iva_trasladado: money(row.iva_trasladado),
    iva_retenido: money(row.iva_retenido),
    isr_retenido: money(row.isr_retenido),
    ieps_trasladado: money(row.ieps_trasladado),
    exportacion: row.exportacion,
    lugar_expedicion: row.lugar_expedicion,
    estatus: row.estatus,
    cancelled_at: row.cancelled_at,
    cancellation_reason: row.cancellation_reason,
    folio_sustitucion: row.folio_sustitucion,
    es_cancelable: null,
    estatus_cancelacion: null,
    status_checked_at: null,
    payment_status: balance.payment_status ?? 'not_applicable',
    paid_amount: isInvoice ? decimal(balance.paid) : null,
    credited_amount: isInvoice ? decimal(balance.credited) : null,
    balance: isInvoice ? decimal(leftOf(row, balance)) : null,
    last_payment_at: balance.last_payment_at,
    fully_paid_at: balance.fully_paid_at,
    has_xml: row.has_xml === 1,
    has_pdf: false,
    origin,
    first_seen_at: instant(row.first_seen_at),
    updated_at: instant(row.updated_at),
  }
}
