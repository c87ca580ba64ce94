import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Plain } from '../../../test/cfdi/support/documents.ts'

/** The table as it was when a document's detail and everything else lay in its row (November 2026), with its indexes. */
export const BARE_TABLE = readFileSync(join(import.meta.dirname, 'cfdi.sql'), 'utf8').split('--> statement-breakpoint')

const micros = (amount: string): string => String(BigInt(amount.replace('.', '')) * (amount.includes('.') ? 10_000n : 1_000_000n))

const traslado = (importe: string, base: string) => ({ impuesto: '002', tipo_factor: 'Tasa', tasa_o_cuota: '0.160000', base, importe })

const documentoOf = ({ uuid, moneda, pagado }: Plain['pagos'][number]['documentos'][number]) => ({
  ...{ uuid, serie: null, folio: null, moneda_dr: moneda, equivalencia_dr: '1', metodo_pago_dr: null, num_parcialidad: '1' },
  ...{ imp_saldo_ant: pagado, imp_pagado: pagado, imp_saldo_insoluto: '0', objeto_imp_dr: '02' },
  impuestos_dr: { traslados: [], retenciones: [] },
})

function detailOf({ iva, subtotal, relacion, pagos }: Plain): string {
  const isTaxed = Number(iva) > 0
  return JSON.stringify({
    ...{ no_certificado: '30001000000400002434', sello_ultimos_8: '0IGFtZXQ' },
    impuestos: {
      ...{ total_trasladados: isTaxed ? iva : null, total_retenidos: null },
      ...{ traslados: isTaxed ? [traslado(iva, subtotal)] : [], retenciones: [] },
    },
    ...(relacion && { relacionados: relacion.uuids.map((uuid) => ({ tipo_relacion: relacion.tipo, uuid })) }),
    ...(pagos.length > 0 && {
      pagos: pagos.map(({ fecha, documentos }) => ({
        ...{ fecha_pago: fecha, forma_pago_p: '03', moneda_p: 'MXN', tipo_cambio_p: '1', monto: '1', num_operacion: null },
        documentos: documentos.map(documentoOf),
      })),
    }),
    complementos: [...(pagos.length > 0 ? ['Pagos:2.0'] : []), 'TimbreFiscalDigital:1.1'],
    has_addenda: false,
  })
}

/** The row that the table had for an issued document of `thousand`. */
function rowOf(document: Plain, n: number) {
  const { uuid, tipo, metodo, fecha, emisor, receptor, moneda, subtotal, iva, total, relacion, pagos } = document
  const isInvoice = tipo === 'I'
  const related = relacion?.uuids ?? pagos.flatMap(({ documentos }) => documentos.map((one) => one.uuid))
  return {
    ...{ uuid, direction: 0, cancelled: 0, estatus: 'vigente', issued_at: Date.parse(`${fecha}-06:00`) / 1_000, utc_offset: -360, fecha },
    ...{ kind: 'cfdi', version: '4.0', tipo_comprobante: tipo, serie: 'A', folio: '17', certified_at: fecha, pac_rfc: 'SPR190613I52' },
    ...{ emisor_rfc: emisor, emisor_nombre: 'EMPRESA DE PRUEBA', emisor_regimen_fiscal: '601' },
    ...{ receptor_rfc: receptor, receptor_nombre: 'CLIENTE DE PRUEBA', receptor_regimen_fiscal: '601', receptor_domicilio_fiscal: '06600' },
    ...{ counterparty_rfc: receptor, uso_cfdi: 'G03', metodo_pago: metodo, forma_pago: '99', condiciones_pago: null, currency: moneda },
    ...{ tipo_cambio: null, subtotal, descuento: null, total, exportacion: '01', lugar_expedicion: '06600', total_micros: micros(total) },
    ...{ iva_trasladado: micros(iva), iva_retenido: '0', isr_retenido: '0', ieps_trasladado: '0', total_mxn: micros(total) },
    payment_status: isInvoice ? (metodo === 'PUE' ? 'paid' : 'unpaid') : null,
    ...{ paid: isInvoice && metodo === 'PUE' ? micros(total) : '0', credited: '0', last_payment_at: null, fully_paid_at: null },
    ...{ applied_until: null, substituted_from: null, substitutes_from: null },
    ...{ cancelled_at: null, cancellation_reason: null, folio_sustitucion: null },
    xml_object: 'xml/a0e2ca6d68bb251eab454af14c9daccc39cd38685ff7a5c2f1ad997fc355810b',
    ...{ xml_offset: 950 * n, xml_length: 926, xml_method: 8, xml_size: 4_200, xml_crc: 3_418_730_060 + n, updated_at: 1_795_335_594_244 },
    related: related.length > 0 ? JSON.stringify(related) : null,
    detail: detailOf(document),
  }
}

/** The rows of a package, in the order of their keys. */
export function bareRows(documents: readonly Plain[]): { columns: string[]; values: unknown[][] } {
  const rows = documents.map(rowOf).sort((a, b) => (a.uuid < b.uuid ? -1 : 1))
  return { columns: Object.keys(rows[0]!), values: rows.map((row) => Object.values(row)) }
}
