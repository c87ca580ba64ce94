import type { DoctoRelacionado, Tax } from './document.ts'
import { amount, dateTime, text, upper } from './fields.ts'
import { add, children, type Node, type ParseState, path } from './parse-state.ts'
import type { Attributes } from './xml.ts'

const docto = (state: ParseState, a: Attributes, equivalencia: string): void => {
  const read: DoctoRelacionado = {
    uuid: upper(a, 'IdDocumento') ?? '',
    serie: text(a, 'Serie'),
    folio: text(a, 'Folio'),
    moneda_dr: upper(a, 'MonedaDR'),
    equivalencia_dr: amount(a, equivalencia),
    metodo_pago_dr: text(a, 'MetodoDePagoDR'),
    num_parcialidad: text(a, 'NumParcialidad'),
    imp_saldo_ant: amount(a, 'ImpSaldoAnt'),
    imp_pagado: amount(a, 'ImpPagado'),
    imp_saldo_insoluto: amount(a, 'ImpSaldoInsoluto'),
    objeto_imp_dr: text(a, 'ObjetoImpDR'),
    impuestos_dr: { traslados: [], retenciones: [] },
  }
  state.docto = read
  add(state.doctos, read, 'paid documents')
  state.pago?.documentos.push(read)
}

const taxDR = (a: Attributes): Tax => ({
  impuesto: text(a, 'ImpuestoDR') ?? '',
  tipo_factor: text(a, 'TipoFactorDR'),
  tasa_o_cuota: amount(a, 'TasaOCuotaDR'),
  base: amount(a, 'BaseDR'),
  importe: amount(a, 'ImporteDR'),
})

const impuestosDR = path({
  TrasladosDR: path({ TrasladoDR: { open: (state, a) => state.docto?.impuestos_dr.traslados.push(taxDR(a)) } }),
  RetencionesDR: path({ RetencionDR: { open: (state, a) => state.docto?.impuestos_dr.retenciones.push(taxDR(a)) } }),
})

const pago = (equivalencia: string, inside: Record<string, Node>): Node => ({
  open: (state, a) => {
    state.pago = {
      fecha_pago: dateTime(a, 'FechaPago') ?? '',
      forma_pago_p: text(a, 'FormaDePagoP'),
      moneda_p: upper(a, 'MonedaP'),
      tipo_cambio_p: amount(a, 'TipoCambioP'),
      monto: amount(a, 'Monto'),
      num_operacion: text(a, 'NumOperacion'),
      documentos: [],
    }
    state.document.pagos.push(state.pago)
  },
  close: ({ pago: read }) => {
    const only = read?.documentos.length === 1 ? read.documentos[0] : undefined
    // Only Pagos 1.0 may omit ImpPagado: then the whole payment goes to the only document, in one currency.
    if (read && only && equivalencia === 'TipoCambioDR' && only.equivalencia_dr === null && only.moneda_dr === read.moneda_p)
      only.imp_pagado ??= read.monto
  },
  children: children({ DoctoRelacionado: { open: (state, a) => docto(state, a, equivalencia), ...path(inside) } }),
})

/** Recepción de pagos 1.0. */
export const pagos10 = path({ Pago: pago('TipoCambioDR', {}) })

/** Recepción de pagos 2.0. */
export const pagos20 = path({ Pago: pago('EquivalenciaDR', { ImpuestosDR: impuestosDR }) })
