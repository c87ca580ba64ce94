import { COMPLEMENT_NAMESPACES } from './complemento.ts'
import { comprobante } from './comprobante.ts'
import { comprobante32 } from './comprobante32.ts'
import { decode } from './decode.ts'
import type { CfdiDocument, Repair } from './document.ts'
import { missing, versionOf } from './fields.ts'
import { type LineReader, type Node, newParseState, type ParseState } from './parse-state.ts'
import { CfdiRejected } from './rejected.ts'
import { retenciones10, retenciones20 } from './retenciones.ts'
import { type Attributes, type Grammar, Malformed, Walker } from './xml.ts'

/** The size limit of a document, in bytes as they were delivered. */
export const MAX_XML_BYTES = 4 * 1024 * 1024

const ROOTS: ReadonlyMap<string, Node> = new Map([
  ['http://www.sat.gob.mx/cfd/3 Comprobante 3.2', comprobante32],
  ['http://www.sat.gob.mx/cfd/3 Comprobante 3.3', comprobante],
  ['http://www.sat.gob.mx/cfd/4 Comprobante 4.0', comprobante],
  ['http://www.sat.gob.mx/esquemas/retencionpago/1 Retenciones 1.0', retenciones10],
  ['http://www.sat.gob.mx/esquemas/retencionpago/2 Retenciones 2.0', retenciones20],
])

const OURS = /^http:\/\/www\.sat\.gob\.mx\/(?:cfd\/\d+ Comprobante|esquemas\/retencionpago\/\d+ Retenciones)$/

const root = (namespace: string, name: string, a: Attributes): { state: ParseState; element: Node } => {
  if (name.toLowerCase() === 'html') throw webPage()
  if (!OURS.test(`${namespace} ${name}`)) throw new CfdiRejected('cfdi.not_a_cfdi', 'The root element is not that of a CFDI.')
  const version = versionOf(a)
  const element = ROOTS.get(`${namespace} ${name} ${version}`)
  if (element === undefined)
    throw new CfdiRejected('cfdi.unknown_version', 'The version must be 3.2, 3.3 or 4.0, or 1.0 or 2.0 for retenciones.')
  return { state: newParseState(name === 'Comprobante' ? 'cfdi' : 'retenciones', version, lineReader), element }
}

const GRAMMAR: Grammar<ParseState> = { namespaces: COMPLEMENT_NAMESPACES, root }

/** Takes the lines of the document that is being read; without one they are in its `conceptos`. */
let lineReader: LineReader | null = null

const walk = (text: string): { state: ParseState; addenda: boolean } => {
  refuseDoctype(text)
  return new Walker(GRAMMAR).walk(text)
}

/**
 * Reads a CFDI that has everything a CFDI must have. Only the stamp may be missing: then its `uuid` is null. `lines` takes its lines one by
 * one; its `conceptos` are empty then. Throws CfdiRejected.
 */
export const parseCfdi = (bytes: Uint8Array, lines: LineReader | null = null): CfdiDocument => {
  const document = withLines(lines, () => readCfdi(bytes))
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
 * when the document is not a CFDI. Source: sat.md 3 and 11; reliability.md 4 group X.
 */
export const readCfdi = (bytes: Uint8Array): CfdiDocument => {
  if (bytes.length > MAX_XML_BYTES) throw new CfdiRejected('cfdi.too_large', 'The document is larger than 4 MiB.')
  const { text, repairs } = decode(bytes)
  if (text.trim() === '') throw new CfdiRejected('cfdi.empty', 'The file is empty.')
  return finish(read(text, repairs), repairs)
}

const withLines = <T>(lines: LineReader | null, read: () => T): T => {
  lineReader = lines
  try {
    return read()
  } finally {
    lineReader = null
  }
}

const finish = ({ state, addenda }: { state: ParseState; addenda: boolean }, repairs: Repair[]): CfdiDocument => {
  const { document } = state
  if (state.timbres > 1) repairs.push('several_timbres')
  if ((document.retencion?.monto_total_operacion ?? document.total)?.startsWith('-')) state.oddities.add('negative_total')
  repairs.push(...state.oddities)
  document.complementos = [...state.complementos].sort()
  document.has_addenda = addenda || repairs.includes('addenda_cut')
  document.repairs = repairs
  return document
}

const read = (text: string, repairs: Repair[]): { state: ParseState; addenda: boolean } => {
  let current = text
  for (;;) {
    try {
      return walk(current)
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
