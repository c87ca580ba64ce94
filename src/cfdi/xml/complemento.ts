import { fixed, shifted, sumOf } from '../../platform/money.ts'
import {
  addPart,
  addRelated,
  addText,
  amount,
  asRfc,
  beginLine,
  children,
  countPart,
  type DoctoRelacionado,
  dateTime,
  dayIfReal,
  endLine,
  freeText,
  isAmount,
  lastEight,
  type Node,
  type Nomina,
  newConcepto,
  type ParseState,
  path,
  readFecha,
  rfc,
  single,
  type Tax,
  taxCode,
  text,
  upper,
  uuid,
  versionOf,
} from './document.ts'
import type { Attributes } from './xml.ts'

const ISR = '002'

const common = (a: Attributes): Nomina => ({
  version: versionOf(a) || null,
  tipo_nomina: text(a, 'TipoNomina'),
  fecha_pago: dayIfReal(a, 'FechaPago'),
  fecha_inicial_pago: text(a, 'FechaInicialPago'),
  fecha_final_pago: text(a, 'FechaFinalPago'),
  num_dias_pagados: amount(a, 'NumDiasPagados'),
  total_percepciones: amount(a, 'TotalPercepciones'),
  total_deducciones: amount(a, 'TotalDeducciones'),
  total_otros_pagos: amount(a, 'TotalOtrosPagos'),
  total_gravado: null,
  total_exento: null,
  isr_retenido: null,
  num_empleado: null,
  curp: null,
  num_seguridad_social: null,
  tipo_contrato: null,
  tipo_regimen: null,
  periodicidad_pago: null,
  salario_diario_integrado: null,
  antiguedad: null,
})

const worker = (a: Attributes, curp: string, antiguedad: string): Partial<Nomina> => ({
  num_empleado: text(a, 'NumEmpleado'),
  curp: upper(a, curp),
  num_seguridad_social: text(a, 'NumSeguridadSocial'),
  tipo_contrato: text(a, 'TipoContrato'),
  tipo_regimen: text(a, 'TipoRegimen'),
  periodicidad_pago: text(a, 'PeriodicidadPago'),
  salario_diario_integrado: amount(a, 'SalarioDiarioIntegrado'),
  antiguedad: text(a, antiguedad),
})

const addIsr = (state: ParseState, a: Attributes, ...importes: string[]): void => {
  const { nomina } = state
  if (nomina === null || text(a, 'TipoDeduccion') !== ISR) return
  for (const name of importes) {
    const importe = amount(a, name)
    if (importe !== null) nomina.isr_retenido = nomina.isr_retenido === null ? importe : sumOf(nomina.isr_retenido, importe)
  }
}

const percepciones: Node = {
  open: ({ nomina }, a) => {
    if (nomina === null) return
    nomina.total_gravado = amount(a, 'TotalGravado')
    nomina.total_exento = amount(a, 'TotalExento')
  },
}

const start = (state: ParseState, nomina: Nomina): void => {
  state.nomina = nomina
  addPart(state, state.document.nominas, nomina)
}

/** Nómina 1.1: the root element has everything about the worker. */
const nomina11: Node = {
  open: (state, a) => start(state, { ...common(a), ...worker(a, 'CURP', 'Antiguedad') }),
  ...path({
    Percepciones: percepciones,
    Deducciones: path({ Deduccion: { open: (state, a) => addIsr(state, a, 'ImporteGravado', 'ImporteExento') } }),
  }),
}

/** Nómina 1.2. */
const nomina12: Node = {
  open: (state, a) => start(state, common(a)),
  ...path({
    Receptor: { open: ({ nomina }, a) => void (nomina && Object.assign(nomina, worker(a, 'Curp', 'Antigüedad'))) },
    Percepciones: percepciones,
    Deducciones: path({ Deduccion: { open: (state, a) => addIsr(state, a, 'Importe') } }),
  }),
}

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
  if (addRelated(state, state.doctos, read)) state.pago?.documentos.push(read)
}

const taxDR = (a: Attributes): Tax => ({
  impuesto: text(a, 'ImpuestoDR') ?? '',
  tipo_factor: text(a, 'TipoFactorDR'),
  tasa_o_cuota: amount(a, 'TasaOCuotaDR'),
  base: amount(a, 'BaseDR'),
  importe: amount(a, 'ImporteDR'),
})

const impuestosDR = path({
  TrasladosDR: path({ TrasladoDR: { open: (state, a) => addPart(state, state.docto?.impuestos_dr.traslados, taxDR(a)) } }),
  RetencionesDR: path({ RetencionDR: { open: (state, a) => addPart(state, state.docto?.impuestos_dr.retenciones, taxDR(a)) } }),
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
    addPart(state, state.document.pagos, state.pago)
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
const pagos10 = path({ Pago: pago('TipoCambioDR', {}) })

/** Recepción de pagos 2.0. */
const pagos20 = path({ Pago: pago('EquivalenciaDR', { ImpuestosDR: impuestosDR }) })

/** The namespaces of the complements that are read, each with the alias that the grammar uses for it. */
export const COMPLEMENT_NAMESPACES: ReadonlyMap<string, string> = new Map([
  ['http://www.sat.gob.mx/TimbreFiscalDigital', 'tfd'],
  ['http://www.sat.gob.mx/Pagos', 'pago10'],
  ['http://www.sat.gob.mx/Pagos20', 'pago20'],
  ['http://www.sat.gob.mx/nomina', 'nomina11'],
  ['http://www.sat.gob.mx/nomina12', 'nomina12'],
  ['http://www.sat.gob.mx/implocal', 'implocal'],
  ['http://www.sat.gob.mx/iedu', 'iedu'],
])

const timbre: Node = {
  open: (state, a) => {
    state.timbres++
    if (state.timbres > 1) return
    state.document.uuid = uuid(a, 'UUID')
    state.document.certified_at = dateTime(a, 'FechaTimbrado')
    state.document.pac_rfc = asRfc(a['RfcProvCertif'] ?? '') || null
  },
}

const impuestosLocales: Node = {
  open: ({ document }) => {
    document.impuestos_locales ??= { traslados: [], retenciones: [] }
  },
  children: children({
    TrasladosLocales: {
      open: (state, a) => {
        addPart(state, state.document.impuestos_locales?.traslados, {
          nombre: text(a, 'ImpLocTrasladado') ?? '',
          tasa: amount(a, 'TasadeTraslado'),
          importe: amount(a, 'Importe') ?? '',
        })
      },
    },
    RetencionesLocales: {
      open: (state, a) => {
        addPart(state, state.document.impuestos_locales?.retenciones, {
          nombre: text(a, 'ImpLocRetenido') ?? '',
          tasa: amount(a, 'TasadeRetencion'),
          importe: amount(a, 'Importe') ?? '',
        })
      },
    },
  }),
}

const prefixed = (alias: string, node: Node): Node =>
  node.children === undefined
    ? node
    : { ...node, children: new Map([...node.children].map(([name, child]) => [`${alias}:${name}`, prefixed(alias, child)])) }

const listed = (node: Node, versions?: readonly string[]): Node => ({
  ...node,
  open: (state, a, name, namespace) => {
    const version = versionOf(a)
    countPart(state)
    state.complementos.add(`${name}:${version}`)
    if (versions?.includes(version) === false) state.oddities.add('unknown_version')
    node.open?.(state, a, name, namespace)
  },
})

/**
 * A top-level Complemento; a document may have several. Every child is listed in `complementos`. The known ones are read, and those of
 * another version like them.
 */
export const complemento: Node = {
  children: new Map(
    (
      [
        ['tfd', 'TimbreFiscalDigital', timbre, '1.0', '1.1'],
        ['implocal', 'ImpuestosLocales', impuestosLocales, '1.0'],
        ['pago10', 'Pagos', pagos10, '1.0'],
        ['pago20', 'Pagos', pagos20, '2.0'],
        ['nomina11', 'Nomina', nomina11, '1.1'],
        ['nomina12', 'Nomina', nomina12, '1.2'],
      ] as const
    ).map(([alias, name, node, ...versions]) => [`${alias}:${name}`, listed(prefixed(alias, node), versions)]),
  ),
  // Other versions may have another namespace.
  other: listed({ open: ({ oddities }, _, name) => void (/^(?:Pagos|Nomina)$/.test(name) && oddities.add('unknown_version')) }),
}

/** The ComplementoConcepto of a line. The complement of schools is read. */
export const complementoConcepto: Node = path({
  'iedu:instEducativas': {
    open: ({ concepto }, a) => {
      if (concepto === null) return
      concepto.iedu = {
        ...{ nombre_alumno: text(a, 'nombreAlumno'), curp: upper(a, 'CURP'), nivel_educativo: text(a, 'nivelEducativo') },
        ...{ aut_rvoe: text(a, 'autRVOE'), rfc_pago: asRfc(a['rfcPago'] ?? '') || null },
      }
    },
  },
})

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

/** Our metodo_pago, from the words of the `formaDePago` of 3.2. */
const metodoPago = (formaDePago: string | null): string | null => {
  const words = (formaDePago ?? '').normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
  if (/parcial|diferid/.test(words)) return 'PPD'
  return /una?\s*(?:sola|unica)?\s*exhib|^pue$/.test(words) ? 'PUE' : words === 'ppd' ? 'PPD' : null
}

const PESOS = /^(?:\$|PESOS?|NUEVOS?|MEXICAN[AO]S?|MEXICO|MONEDA|NACIONAL(?:ES)?|NAL|DE|MN|MXN|MXP|MEX|MX)+$/
/** Names that only Mexican pesos have. */
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
    InformacionAduanera: { open: (state, a) => addText(state, state.concepto?.pedimentos, freeText(a, 'numero')) },
    CuentaPredial: { open: (state, a) => addText(state, state.concepto?.cuenta_predial, freeText(a, 'numero')) },
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
    Traslados: path({ Traslado: { open: (state, a) => addPart(state, state.document.impuestos.traslados, traslado(a)) } }),
    Retenciones: path({
      Retencion: {
        open: (state, a) =>
          addPart(state, state.document.impuestos.retenciones, {
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
