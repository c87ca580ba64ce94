import { complemento, complementoConcepto } from './complemento.ts'
import { newConcepto, type Tax, withRelation } from './document.ts'
import { amount, asRfc, freeText, lastEight, rfc, text, upper } from './fields.ts'
import { add, append, beginLine, children, endLine, type Node, path, readFecha, single } from './parse-state.ts'
import type { Attributes } from './xml.ts'

const tax = (a: Attributes): Tax => ({
  impuesto: text(a, 'Impuesto') ?? '',
  tipo_factor: text(a, 'TipoFactor'),
  tasa_o_cuota: amount(a, 'TasaOCuota'),
  base: amount(a, 'Base'),
  importe: amount(a, 'Importe'),
})

const relacionados: Node = {
  open: (state, a) => {
    state.tipo_relacion = text(a, 'TipoRelacion') ?? ''
    state.document.tipo_relacion = withRelation(state.document.tipo_relacion, state.tipo_relacion)
  },
  ...path({
    CfdiRelacionado: {
      open: ({ document, tipo_relacion }, a) => {
        const uuid = upper(a, 'UUID')
        if (uuid !== null) add(document.relacionados, { tipo_relacion, uuid }, 'related documents')
      },
    },
  }),
}

const emisor: Node = {
  open: ({ document }, a) => {
    document.emisor_rfc = rfc(a, 'Rfc', 'Emisor')
    document.emisor_nombre = text(a, 'Nombre')
    document.emisor_regimen_fiscal = text(a, 'RegimenFiscal')
  },
}

const receptor: Node = {
  open: ({ document }, a) => {
    document.receptor_rfc = rfc(a, 'Rfc', 'Receptor')
    document.receptor_nombre = text(a, 'Nombre')
    document.receptor_regimen_fiscal = text(a, 'RegimenFiscalReceptor')
    document.receptor_domicilio_fiscal = text(a, 'DomicilioFiscalReceptor')
    document.receptor_residencia_fiscal = text(a, 'ResidenciaFiscal')
    document.receptor_num_reg_id_trib = text(a, 'NumRegIdTrib')
    document.uso_cfdi = text(a, 'UsoCFDI')
  },
}

const concepto: Node = {
  open: (state, a) => {
    const read = newConcepto()
    read.clave_prod_serv = freeText(a, 'ClaveProdServ')
    read.no_identificacion = freeText(a, 'NoIdentificacion')
    read.cantidad = amount(a, 'Cantidad')
    read.clave_unidad = freeText(a, 'ClaveUnidad')
    read.unidad = freeText(a, 'Unidad')
    read.descripcion = freeText(a, 'Descripcion')
    read.valor_unitario = amount(a, 'ValorUnitario')
    read.importe = amount(a, 'Importe')
    read.descuento = amount(a, 'Descuento')
    read.objeto_imp = freeText(a, 'ObjetoImp')
    beginLine(state, read)
  },
  close: endLine,
  ...path({
    Impuestos: path({
      Traslados: path({ Traslado: { open: (state, a) => state.concepto?.impuestos.traslados.push(tax(a)) } }),
      Retenciones: path({ Retencion: { open: (state, a) => state.concepto?.impuestos.retenciones.push(tax(a)) } }),
    }),
    ACuentaTerceros: {
      open: (state, a) => {
        if (state.concepto) state.concepto.a_cuenta_terceros_rfc = asRfc(a['RfcACuentaTerceros'] ?? '') || null
      },
    },
    InformacionAduanera: { open: (state, a) => append(state.concepto?.pedimentos, freeText(a, 'NumeroPedimento')) },
    CuentaPredial: { open: (state, a) => append(state.concepto?.cuenta_predial, freeText(a, 'Numero')) },
    ComplementoConcepto: complementoConcepto,
  }),
}

const impuestos: Node = {
  open: ({ document }, a) => {
    document.impuestos.total_trasladados = amount(a, 'TotalImpuestosTrasladados')
    document.impuestos.total_retenidos = amount(a, 'TotalImpuestosRetenidos')
  },
  ...path({
    Traslados: path({ Traslado: { open: ({ document }, a) => document.impuestos.traslados.push(tax(a)) } }),
    Retenciones: path({ Retencion: { open: ({ document }, a) => document.impuestos.retenciones.push(tax(a)) } }),
  }),
}

const informacionGlobal: Node = {
  open: ({ document }, a) => {
    document.informacion_global = { periodicidad: text(a, 'Periodicidad'), meses: text(a, 'Meses'), anio: text(a, 'Año') }
  },
}

/** Comprobante 3.3 and 4.0: their attributes have the same names. Source: sat.md 3.2, Annex A. */
export const comprobante: Node = {
  open: (state, a) => {
    const { document } = state
    readFecha(state, a, 'Fecha')
    document.serie = text(a, 'Serie')
    document.folio = text(a, 'Folio')
    document.tipo_comprobante = text(a, 'TipoDeComprobante')
    document.metodo_pago = text(a, 'MetodoPago')
    document.forma_pago = text(a, 'FormaPago')
    document.condiciones_pago = text(a, 'CondicionesDePago')
    document.currency = upper(a, 'Moneda')
    document.tipo_cambio = amount(a, 'TipoCambio')
    document.subtotal = amount(a, 'SubTotal')
    document.descuento = amount(a, 'Descuento')
    document.total = amount(a, 'Total')
    document.exportacion = text(a, 'Exportacion')
    document.lugar_expedicion = text(a, 'LugarExpedicion')
    document.no_certificado = text(a, 'NoCertificado')
    document.sello_ultimos_8 = lastEight(a['Sello'])
  },
  children: children({
    ...single({
      InformacionGlobal: informacionGlobal,
      Emisor: emisor,
      Receptor: receptor,
      Conceptos: path({ Concepto: concepto }),
      Impuestos: impuestos,
    }),
    CfdiRelacionados: relacionados,
    Complemento: complemento,
  }),
}
