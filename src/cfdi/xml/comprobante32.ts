import { fixed, shifted } from '../../platform/decimal.ts'
import { complemento, complementoConcepto } from './complemento.ts'
import { newConcepto, type Tax } from './document.ts'
import { amount, freeText, isAmount, lastEight, rfc, taxCode, text, upper } from './fields.ts'
import { append, beginLine, children, endLine, type Node, path, readFecha, single } from './parse-state.ts'
import type { Attributes } from './xml.ts'

const TIPOS: ReadonlyMap<string, string> = new Map([
  ['ingreso', 'I'],
  ['egreso', 'E'],
  ['traslado', 'T'],
])

const impuesto = (a: Attributes): string => taxCode(text(a, 'impuesto') ?? '')

const traslado = (a: Attributes): Tax => {
  const percent = amount(a, 'tasa')
  return {
    impuesto: impuesto(a),
    tipo_factor: percent === null ? null : 'Tasa',
    tasa_o_cuota: percent === null ? null : ratio(percent),
    base: null,
    importe: amount(a, 'importe'),
  }
}

const ratio = (percent: string): string => fixed(shifted(percent, 4), 6)

/** Our metodo_pago, from the words of the `formaDePago` of 3.2. Source: insights.md 7; sat.md 3.2. */
const metodoPago = (formaDePago: string | null): string | null => {
  const words = (formaDePago ?? '').normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
  if (/parcial|diferid/.test(words)) return 'PPD'
  return /una?\s*(?:sola|unica)?\s*exhib|^pue$/.test(words) ? 'PUE' : words === 'ppd' ? 'PPD' : null
}

const PESOS = /^(?:\$|PESOS?|NUEVOS?|MEXICAN[AO]S?|MEXICO|MONEDA|NACIONAL(?:ES)?|NAL|DE|MN|MXN|MXP|MEX|MX)+$/
/** What only the pesos of Mexico are called. */
const MEXICAN = /ME?X|MN|NA/
const DOLLARS = /^(?:DOLAR(?:ES)?|AMERICANOS?|DLLS?|DLS|USD|USA|EUA|US)+$/

/**
 * The currency's code, from the free text of 3.2; other words stay as they are. `Pesos` alone are those of Mexico, unless the exchange rate
 * says that one is worth more or less.
 */
const currencyOf = (stated: string | null, tipo_cambio: string | null): string | null => {
  const words = (stated ?? '').normalize('NFD').replace(/[^A-Z$]/g, '')
  const isPeso = MEXICAN.test(words) || (/\$|PESO/.test(words) && [0, 1].includes(Number(tipo_cambio ?? 1)))
  return isPeso && PESOS.test(words) ? 'MXN' : DOLLARS.test(words) ? 'USD' : stated
}

const concepto: Node = {
  open: (state, a) => {
    const read = newConcepto()
    read.no_identificacion = freeText(a, 'noIdentificacion')
    read.cantidad = amount(a, 'cantidad')
    read.unidad = freeText(a, 'unidad')
    read.descripcion = freeText(a, 'descripcion')
    read.valor_unitario = amount(a, 'valorUnitario')
    read.importe = amount(a, 'importe')
    beginLine(state, read)
  },
  close: endLine,
  ...path({
    InformacionAduanera: { open: (state, a) => append(state.concepto?.pedimentos, freeText(a, 'numero')) },
    CuentaPredial: { open: (state, a) => append(state.concepto?.cuenta_predial, freeText(a, 'numero')) },
    ComplementoConcepto: complementoConcepto,
  }),
}

const emisor: Node = {
  open: ({ document }, a) => {
    document.emisor_rfc = rfc(a, 'rfc', 'Emisor')
    document.emisor_nombre = text(a, 'nombre')
  },
  ...path({
    RegimenFiscal: {
      open: ({ document }, a) => {
        document.emisor_regimen_fiscal ??= text(a, 'Regimen')
      },
    },
  }),
}

const receptor: Node = {
  open: ({ document }, a) => {
    document.receptor_rfc = rfc(a, 'rfc', 'Receptor')
    document.receptor_nombre = text(a, 'nombre')
  },
}

const impuestos: Node = {
  open: ({ document }, a) => {
    document.impuestos.total_trasladados = amount(a, 'totalImpuestosTrasladados')
    document.impuestos.total_retenidos = amount(a, 'totalImpuestosRetenidos')
  },
  ...path({
    Traslados: path({ Traslado: { open: ({ document }, a) => document.impuestos.traslados.push(traslado(a)) } }),
    Retenciones: path({
      Retencion: {
        open: ({ document }, a) =>
          document.impuestos.retenciones.push({
            impuesto: impuesto(a),
            tipo_factor: null,
            tasa_o_cuota: null,
            base: null,
            importe: amount(a, 'importe'),
          }),
      },
    }),
  }),
}

/**
 * Comprobante 3.2. Its `metodoDePago` is our forma_pago, the means of payment; its `formaDePago` says in words what our metodo_pago says,
 * whether the invoice is paid at once or in parts. Its TipoCambio is free text and is kept only when it is a number.
 */
export const comprobante32: Node = {
  open: (state, a) => {
    const { document } = state
    readFecha(state, a, 'fecha')
    const tipo = text(a, 'tipoDeComprobante')
    const stated = text(a, 'TipoCambio')
    const cambio = stated !== null && isAmount(stated) ? stated : null
    document.serie = text(a, 'serie')
    document.folio = text(a, 'folio')
    document.tipo_comprobante = TIPOS.get(tipo?.toLowerCase() ?? '') ?? tipo
    document.metodo_pago = metodoPago(text(a, 'formaDePago'))
    document.forma_pago = text(a, 'metodoDePago')
    document.condiciones_pago = text(a, 'condicionesDePago')
    document.currency = currencyOf(upper(a, 'Moneda'), cambio)
    document.tipo_cambio = cambio
    document.subtotal = amount(a, 'subTotal')
    document.descuento = amount(a, 'descuento')
    document.total = amount(a, 'total')
    document.lugar_expedicion = text(a, 'LugarExpedicion')
    document.no_certificado = text(a, 'noCertificado')
    document.sello_ultimos_8 = lastEight(a['sello'])
  },
  close: ({ document }) => {
    // 3.2 has no type for payroll: it is an egreso with a Nómina.
    if (document.tipo_comprobante === 'E' && document.nominas.length > 0) document.tipo_comprobante = 'N'
  },
  children: children({
    ...single({ Emisor: emisor, Receptor: receptor, Conceptos: path({ Concepto: concepto }), Impuestos: impuestos }),
    Complemento: complemento,
  }),
}
