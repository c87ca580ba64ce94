import { inOneGo, type Steps } from '../../platform/work/pause.ts'
import { FOREIGN_RFC } from '../../taxpayers/rfc.ts'
import { COMPLEMENT_NAMESPACES, complemento, complementoConcepto, comprobante32 } from './complemento.ts'
import {
  addPart,
  addRelated,
  addText,
  amount,
  asRfc,
  beginLine,
  type CfdiDocument,
  children,
  endLine,
  freeText,
  type LineReader,
  lastEight,
  missing,
  type Node,
  newConcepto,
  newParseState,
  type ParseState,
  path,
  type Repair,
  type Retencion,
  readFecha,
  rfc,
  single,
  type Tax,
  text,
  upper,
  versionOf,
  withRelation,
} from './document.ts'
import { type Attributes, CfdiRejected, type Grammar, Malformed, Walker } from './xml.ts'

/** The attribute names in which the two versions differ. */
interface Names {
  certificado: string
  emisor: string
  receptor: string
  nacionalidad: string
  numRegIdTrib: string
  ejercicio: string
  totales: 'mont' | 'Mont'
  impuesto: string
  monto: string
}

const V1: Names = {
  certificado: 'NumCert',
  emisor: 'RFCEmisor',
  receptor: 'RFCRecep',
  nacionalidad: 'Nacionalidad',
  numRegIdTrib: 'NumRegIdTrib',
  ejercicio: 'Ejerc',
  totales: 'mont',
  impuesto: 'Impuesto',
  monto: 'montoRet',
}

const V2: Names = {
  certificado: 'NoCertificado',
  emisor: 'RfcE',
  receptor: 'RfcR',
  nacionalidad: 'NacionalidadR',
  numRegIdTrib: 'NumRegIdTribR',
  ejercicio: 'Ejercicio',
  totales: 'Mont',
  impuesto: 'ImpuestoRet',
  monto: 'MontoRet',
}

const open = (state: ParseState, a: Attributes, names: Names): void => {
  const { document } = state
  readFecha(state, a, 'FechaExp')
  document.folio = text(a, 'FolioInt')
  document.lugar_expedicion = text(a, 'LugarExpRetenc')
  document.no_certificado = text(a, names.certificado)
  document.sello_ultimos_8 = lastEight(a['Sello'])
  document.retencion = {
    clave: text(a, 'CveRetenc') ?? '',
    descripcion: text(a, 'DescRetenc'),
    mes_inicial: null,
    mes_final: null,
    ejercicio: null,
    nacionalidad_receptor: null,
    monto_total_operacion: null,
    monto_total_gravado: null,
    monto_total_exento: null,
    monto_total_retenido: null,
    impuestos: [],
  }
}

const retencion = (state: ParseState): Retencion => state.document.retencion as Retencion

const retencionesReceptor = (names: Names): Node => ({
  open: (state, a) => {
    retencion(state).nacionalidad_receptor = text(a, names.nacionalidad)
  },
  ...path(
    single(
      {
        Nacional: {
          open: ({ document }, a) => {
            document.receptor_rfc = rfc(a, names.receptor, 'Receptor')
            document.receptor_nombre = text(a, 'NomDenRazSocR')
            document.receptor_domicilio_fiscal = text(a, 'DomicilioFiscalR')
          },
        },
        Extranjero: {
          open: ({ document }, a) => {
            document.receptor_rfc = FOREIGN_RFC
            document.receptor_nombre = text(a, 'NomDenRazSocR')
            document.receptor_num_reg_id_trib = text(a, names.numRegIdTrib)
          },
        },
      },
      'Receptor’s Nacional or Extranjero',
    ),
  ),
})

const totales = (names: Names): Node => ({
  open: (state, a) => {
    const read = retencion(state)
    read.monto_total_operacion = amount(a, `${names.totales}oTotOperacion`)
    read.monto_total_gravado = amount(a, `${names.totales}oTotGrav`)
    read.monto_total_exento = amount(a, `${names.totales}oTotExent`)
    read.monto_total_retenido = amount(a, `${names.totales}oTotRet`)
  },
  ...path({
    ImpRetenidos: {
      open: (state, a) => {
        addPart(state, retencion(state).impuestos, {
          base: amount(a, 'BaseRet'),
          impuesto: text(a, names.impuesto),
          monto: amount(a, names.monto),
          tipo_pago: text(a, 'TipoPagoRet'),
        })
      },
    },
  }),
})

const retenciones = (names: Names): Node => ({
  open: (state, a) => open(state, a, names),
  ...path({
    ...single({
      CfdiRetenRelacionados: {
        open: (state, a) => {
          const { document } = state
          const uuid = upper(a, 'UUID')
          const tipo_relacion = text(a, 'TipoRelacion') ?? ''
          document.tipo_relacion = withRelation(document.tipo_relacion, tipo_relacion)
          if (uuid !== null) addRelated(state, document.relacionados, { tipo_relacion, uuid })
        },
      },
      Emisor: {
        open: ({ document }, a) => {
          document.emisor_rfc = rfc(a, names.emisor, 'Emisor')
          document.emisor_nombre = text(a, 'NomDenRazSocE')
          document.emisor_regimen_fiscal = text(a, 'RegimenFiscalE')
        },
      },
      Receptor: retencionesReceptor(names),
      Periodo: {
        open: (state, a) => {
          const read = retencion(state)
          read.mes_inicial = text(a, 'MesIni')
          read.mes_final = text(a, 'MesFin')
          read.ejercicio = text(a, names.ejercicio)
        },
      },
      Totales: totales(names),
    }),
    Complemento: complemento,
  }),
})

/** CFDI de retenciones e información de pagos 1.0. */
const retenciones10 = retenciones(V1)

/** CFDI de retenciones e información de pagos 2.0. */
const retenciones20 = retenciones(V2)

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
      open: (state, a) => {
        const uuid = upper(a, 'UUID')
        if (uuid !== null) addRelated(state, state.document.relacionados, { tipo_relacion: state.tipo_relacion, uuid })
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
      Traslados: path({ Traslado: { open: (state, a) => addPart(state, state.concepto?.impuestos.traslados, tax(a)) } }),
      Retenciones: path({ Retencion: { open: (state, a) => addPart(state, state.concepto?.impuestos.retenciones, tax(a)) } }),
    }),
    ACuentaTerceros: {
      open: (state, a) => {
        if (state.concepto) state.concepto.a_cuenta_terceros_rfc = asRfc(a['RfcACuentaTerceros'] ?? '') || null
      },
    },
    InformacionAduanera: { open: (state, a) => addText(state, state.concepto?.pedimentos, freeText(a, 'NumeroPedimento')) },
    CuentaPredial: { open: (state, a) => addText(state, state.concepto?.cuenta_predial, freeText(a, 'Numero')) },
    ComplementoConcepto: complementoConcepto,
  }),
}

const impuestos: Node = {
  open: ({ document }, a) => {
    document.impuestos.total_trasladados = amount(a, 'TotalImpuestosTrasladados')
    document.impuestos.total_retenidos = amount(a, 'TotalImpuestosRetenidos')
  },
  ...path({
    Traslados: path({ Traslado: { open: (state, a) => addPart(state, state.document.impuestos.traslados, tax(a)) } }),
    Retenciones: path({ Retencion: { open: (state, a) => addPart(state, state.document.impuestos.retenciones, tax(a)) } }),
  }),
}

const informacionGlobal: Node = {
  open: ({ document }, a) => {
    document.informacion_global = { periodicidad: text(a, 'Periodicidad'), meses: text(a, 'Meses'), anio: text(a, 'Año') }
  },
}

/** Comprobante 3.3 and 4.0: their attributes have the same names. */
const comprobante: Node = {
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

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const DECLARED = /^\s*<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z][\w.:-]{0,39})["']/

/**
 * Decodes a document's bytes by their byte order mark, else by the encoding of the XML declaration, else as UTF-8; bytes that are not in
 * that encoding are read as windows-1252. Letters in valid UTF-8 are read as such whatever is declared: as single bytes they would be
 * garbage. No byte order mark is left. Repairs: `bom` when there was more than one, `encoding_fallback`
 * when the bytes were not in the encoding that they claim. Never throws.
 */
const decode = (bytes: Uint8Array): { text: string; repairs: Repair[] } => {
  const repairs: Repair[] = []
  const declared = encodingOf(bytes)
  let text = declared.startsWith('utf') ? undefined : lettersInUtf8(bytes)
  if (text !== undefined) repairs.push('encoding_fallback')
  else text = withEncoding(bytes, declared)
  if (text === undefined) {
    text = new TextDecoder('windows-1252').decode(bytes)
    repairs.push('encoding_fallback')
    text = text.replace(/^(?:ï»¿)+/, '')
  }
  let marks = 0
  while (text.charCodeAt(marks) === 0xfeff) marks++
  if (marks > 1) repairs.unshift('bom')
  return { text: marks > 0 ? text.slice(marks) : text, repairs }
}

/** The text of bytes that are UTF-8, and not in ASCII alone; otherwise undefined. */
const lettersInUtf8 = (bytes: Uint8Array): string | undefined => {
  try {
    const text = utf8.decode(bytes)
    return text.length < bytes.length ? text : undefined
  } catch {
    return undefined
  }
}

const encodingOf = (bytes: Uint8Array): string => {
  const a = bytes[0]
  const b = bytes[1]
  const c = bytes[2]
  const d = bytes[3]
  if (a === 0xff && b === 0xfe) return 'utf-16le'
  if (a === 0xfe && b === 0xff) return 'utf-16be'
  if (a === 0x3c && b === 0 && c !== 0 && d === 0) return 'utf-16le'
  if (a === 0 && b === 0x3c && c === 0 && d !== 0) return 'utf-16be'
  if (a === 0xef && b === 0xbb && c === 0xbf) return 'utf-8'
  const declared = DECLARED.exec(ascii(bytes.subarray(0, 256)))?.[1]?.toLowerCase() ?? 'utf-8'
  // The declaration could be read as ASCII, so the document cannot be in UTF-16 or UCS-2 even if it says so.
  return /^(?:utf-?16|utf-?32|ucs)/.test(declared) ? 'utf-8' : declared
}

const withEncoding = (bytes: Uint8Array, encoding: string): string | undefined => {
  try {
    return (encoding === 'utf-8' ? utf8 : new TextDecoder(encoding, { fatal: true, ignoreBOM: true })).decode(bytes)
  } catch {
    if (encoding === 'utf-8') return undefined
    return encoding.startsWith('utf-16') ? new TextDecoder(encoding).decode(bytes) : withEncoding(bytes, 'utf-8')
  }
}

const ascii = (bytes: Uint8Array): string => String.fromCharCode.apply(null, bytes as unknown as number[])

/** The size limit of a document, in bytes as they were delivered. Addendas alone have several megabytes. */
export const MAX_XML_BYTES = 10 * 1024 * 1024

const ROOTS: ReadonlyMap<string, Node> = new Map([
  ['http://www.sat.gob.mx/cfd/3 Comprobante 3.2', comprobante32],
  ['http://www.sat.gob.mx/cfd/3 Comprobante 3.3', comprobante],
  ['http://www.sat.gob.mx/cfd/4 Comprobante 4.0', comprobante],
  ['http://www.sat.gob.mx/esquemas/retencionpago/1 Retenciones 1.0', retenciones10],
  ['http://www.sat.gob.mx/esquemas/retencionpago/2 Retenciones 2.0', retenciones20],
])

const OURS = /^http:\/\/www\.sat\.gob\.mx\/(?:cfd\/\d+ Comprobante|esquemas\/retencionpago\/\d+ Retenciones)$/

const rootOf = (namespace: string, name: string, a: Attributes, lines: LineReader | null): { state: ParseState; element: Node } => {
  if (name.toLowerCase() === 'html') throw webPage()
  if (!OURS.test(`${namespace} ${name}`)) throw new CfdiRejected('cfdi.not_a_cfdi', 'The root element is not that of a CFDI.')
  const version = versionOf(a)
  const element = ROOTS.get(`${namespace} ${name} ${version}`)
  if (element === undefined)
    throw new CfdiRejected('cfdi.unknown_version', 'The version must be 3.2, 3.3 or 4.0, or 1.0 or 2.0 for retenciones.')
  return { state: newParseState(name === 'Comprobante' ? 'cfdi' : 'retenciones', version, lines), element }
}

const grammarFor = (lines: LineReader | null): Grammar<ParseState> => ({
  namespaces: COMPLEMENT_NAMESPACES,
  root: (namespace, name, a) => rootOf(namespace, name, a, lines),
})

/** `parsingCfdi` in one go. */
export const parseCfdi = (bytes: Uint8Array, lines: LineReader | null = null): CfdiDocument => inOneGo(parsingCfdi(bytes, lines))

/**
 * Reads a CFDI that has everything a CFDI must have. Only the stamp may be missing: then its `uuid` is null. `lines` takes its lines one by
 * one; its `conceptos` are empty then. Throws CfdiRejected.
 */
export function* parsingCfdi(bytes: Uint8Array, lines: LineReader | null): Steps<CfdiDocument> {
  const document = finish(yield* readBy(bytes, grammarFor(lines)))
  const { emisor_rfc, receptor_rfc, fecha, kind, total, retencion, pagos, impuestos_locales: locales } = document
  if (emisor_rfc === '') missing('The RFC of the Emisor')
  if (receptor_rfc === '') missing('The RFC of the Receptor')
  if (fecha === '') missing('Fecha')
  if (kind === 'cfdi' && total === null) missing('Total')
  if (retencion?.clave === '') missing('CveRetenc')
  if (pagos.some(({ fecha_pago }) => fecha_pago === '')) missing('FechaPago')
  if ([...(locales?.traslados ?? []), ...(locales?.retenciones ?? [])].some(({ importe }) => importe === '')) missing('Importe')
  return document
}

/**
 * Reads what a document says. A required text that is missing is empty, and `repairs` lists how the text was repaired. Throws CfdiRejected
 * when the document is not a CFDI.
 */
export const readCfdi = (bytes: Uint8Array): CfdiDocument => finish(inOneGo(readBy(bytes, grammarFor(null))))

/** Reads a document by a grammar, after the repairs that its text needs. Throws CfdiRejected. */
export function* readBy<State>(bytes: Uint8Array, grammar: Grammar<State>): Steps<Read<State> & { repairs: Repair[] }> {
  if (bytes.length > MAX_XML_BYTES) throw new CfdiRejected('cfdi.too_large', 'The document is larger than 10 MiB.')
  const { text, repairs } = decode(bytes)
  if (text.trim() === '') throw new CfdiRejected('cfdi.empty', 'The file is empty.')
  return { ...(yield* read(text, repairs, grammar)), repairs }
}

interface Read<State> {
  state: State
  addenda: boolean
}

const finish = ({ state, addenda, repairs }: Read<ParseState> & { repairs: Repair[] }): CfdiDocument => {
  const { document } = state
  if (state.timbres > 1) repairs.push('several_timbres')
  if ((document.retencion?.monto_total_operacion ?? document.total)?.startsWith('-')) state.oddities.add('negative_total')
  repairs.push(...state.oddities)
  document.complementos = [...state.complementos].sort()
  document.has_addenda = addenda || repairs.includes('addenda_cut')
  document.repairs = repairs
  return document
}

function* read<State>(text: string, repairs: Repair[], grammar: Grammar<State>): Steps<Read<State>> {
  let current = text
  for (;;) {
    try {
      refuseDoctype(current)
      return yield* new Walker(grammar).walk(current)
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
      const repaired = repair(current, error, repairs)
      if (repaired === current) throw new CfdiRejected('cfdi.malformed', error.message)
      current = repaired
    }
  }
}

/** Each repair is made at most once, so that a document is read at most three times. */
const repair = (text: string, { addenda }: Malformed, repairs: Repair[]): string => {
  if (addenda?.inside) return cut(text, addenda, repairs)
  const from = text.indexOf('<')
  const trimmed = from < 0 ? text : text.slice(from, text.lastIndexOf('>') + 1)
  if (trimmed.length < text.length && !repairs.includes('trimmed_junk')) repairs.push('trimmed_junk')
  const clean = trimmed.replace(CONTROLS, '')
  if (clean.length < trimmed.length && !repairs.includes('control_characters')) repairs.push('control_characters')
  return clean === text && addenda !== null ? cut(text, addenda, repairs) : clean
}

const cut = (text: string, { at, root }: { at: number; root: string }, repairs: Repair[]): string => {
  repairs.push('addenda_cut')
  return `${text.slice(0, at)}</${root}>`
}

const CONTROLS = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|&#(?:x0*(?:[0-8bcef]|1[0-9a-f])|0*(?:[0-8]|1[124-9]|2[0-9]|3[01]));/gi

/** Checks the prolog only. Further on, `<!DOCTYPE` is text of a comment or a CDATA section, or the parser refuses it. */
const refuseDoctype = (text: string): void => {
  let at = 0
  for (;;) {
    at = text.indexOf('<', at)
    if (at < 0) return
    if (text.startsWith('<?', at)) at = text.indexOf('?>', at)
    else if (text.startsWith('<!--', at)) at = text.indexOf('-->', at)
    else break
    if (at < 0) return
  }
  if (!/^<!doctype/i.test(text.slice(at, at + 9))) return
  if (/^<!doctype\s+html\b/i.test(text.slice(at, at + 64))) throw webPage()
  throw new CfdiRejected('cfdi.doctype', 'The document has a DOCTYPE, which a CFDI cannot have.')
}

const webPage = (): CfdiRejected => new CfdiRejected('cfdi.html', 'The file is a web page, not a CFDI.')
