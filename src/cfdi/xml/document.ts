import { textOf } from '../../platform/xml-reader.ts'
import { EMPTY_HEADER, type Header, isIn } from '../columns.ts'
import { namesOf, nulls, picker } from '../pick.ts'
import { type Attributes, CfdiRejected, type Element } from './xml.ts'

const documentText = null as string | null

// In the objects below, the spread stands first and the literal follows: the runtime builds such objects fastest.

/** A document before anything has been read. Required text fields are empty strings. */
export const newDocument = (kind: Header['kind'], version: string) => ({
  ...EMPTY_HEADER,
  kind,
  version,
  /** UUID of the first TimbreFiscalDigital directly under a top-level Complemento; null when the document is not stamped. */
  uuid: documentText,
  fecha: '',
  /** The offset from UTC in minutes that Fecha states itself, as 3.2 and retenciones 1.0 may. */
  utc_offset: null as number | null,
  emisor_rfc: '',
  receptor_rfc: '',
  // The members from here on have no columns in `cfdi`: they are the detail of the document.
  receptor_residencia_fiscal: documentText,
  receptor_num_reg_id_trib: documentText,
  no_certificado: documentText,
  /** The last eight characters of Sello, which the status service asks for. */
  sello_ultimos_8: documentText,
  informacion_global: null as { periodicidad: string | null; meses: string | null; anio: string | null } | null,
  impuestos: { total_trasladados: documentText, total_retenidos: documentText, traslados: [] as Tax[], retenciones: [] as Tax[] },
  /** Of the complement implocal. */
  impuestos_locales: null as { traslados: LocalTax[]; retenciones: LocalTax[] } | null,
  relacionados: [] as { tipo_relacion: string; uuid: string }[],
  conceptos: [] as Concepto[],
  pagos: [] as Pago[],
  nominas: [] as Nomina[],
  retencion: null as Retencion | null,
  /** `LocalName:version` of each child of every top-level Complemento, sorted, each once. */
  complementos: [] as string[],
  has_addenda: false,
  /** How the text was repaired before it could be read, and what is odd about it. `bom`: it had more than one byte order mark. */
  repairs: [] as Repair[],
})

/**
 * The contents of the XML of a CFDI, before any rule of the service is applied. Text is trimmed; its inner white space is collapsed as the
 * schema asks, and that of a line stays. Amounts are the document's decimal text; UUIDs and RFCs are in upper case. What the document does
 * not say is null or an empty list.
 */
export type CfdiDocument = ReturnType<typeof newDocument>

/** The members of a document that have no column in `cfdi`. */
export type DocumentDetail = Omit<CfdiDocument, keyof Header | 'uuid' | 'utc_offset'>
export const DETAIL = namesOf(newDocument('cfdi', '')).filter(
  (name) => !isIn([...namesOf(EMPTY_HEADER), 'uuid', 'utc_offset'], name),
) as (keyof DocumentDetail)[]

/** Copies the detail out of a document. */
export const detailOf = picker(DETAIL, DETAIL)

/** The members of a line that are attributes of Concepto. */
export const LINE_HEADER = [
  ...(['clave_prod_serv', 'no_identificacion', 'cantidad', 'clave_unidad', 'unidad', 'descripcion', 'valor_unitario'] as const),
  ...(['importe', 'descuento', 'objeto_imp'] as const),
]
const EMPTY_LINE: Record<(typeof LINE_HEADER)[number], string | null> = nulls(LINE_HEADER)

/** A line before anything has been read. */
export const newConcepto = () => ({
  ...EMPTY_LINE,
  impuestos: { traslados: [] as Tax[], retenciones: [] as Tax[] },
  /** RFC of the third party on whose behalf the line is invoiced (4.0). */
  a_cuenta_terceros_rfc: documentText,
  cuenta_predial: [] as string[],
  pedimentos: [] as string[],
  /** Of the complement iedu: the student of a line of tuition. */
  iedu: null as Iedu | null,
})
export type Concepto = ReturnType<typeof newConcepto>

/** The relations of a document, separated by commas, with one more, unless it has that or it is no code of two digits. */
export const withRelation = (known: string | null, relation: string): string | null =>
  !/^\d{2}$/.test(relation) || known?.includes(relation) ? known : known === null ? relation : `${known},${relation}`

export const REPAIRS = [
  ...(['bom', 'encoding_fallback', 'trimmed_junk', 'control_characters', 'addenda_cut'] as const),
  ...(['several_timbres', 'negative_total', 'unknown_version', 'related_cut'] as const),
]
export type Repair = (typeof REPAIRS)[number]

export interface Iedu {
  nombre_alumno: string | null
  curp: string | null
  nivel_educativo: string | null
  aut_rvoe: string | null
  /** RFC of who paid, when that is not the receiver. */
  rfc_pago: string | null
}

export interface Tax {
  /** 001 ISR, 002 IVA, 003 IEPS (the names of 3.2 are mapped); any other value as it is. */
  impuesto: string
  tipo_factor: string | null
  /** A ratio as the document states it; the percentage of 3.2 divided by 100, with six decimals. */
  tasa_o_cuota: string | null
  base: string | null
  importe: string | null
}

interface LocalTax {
  nombre: string
  tasa: string | null
  importe: string
}

export interface Pago {
  fecha_pago: string
  forma_pago_p: string | null
  moneda_p: string | null
  tipo_cambio_p: string | null
  monto: string | null
  num_operacion: string | null
  documentos: DoctoRelacionado[]
}

export interface DoctoRelacionado {
  /** IdDocumento in upper case; empty when it is absent. It need not be a UUID: the schema also allows 000-00-000000000. */
  uuid: string
  serie: string | null
  folio: string | null
  moneda_dr: string | null
  /** EquivalenciaDR, or TipoCambioDR of Pagos 1.0: units of the document's currency for one unit of the payment's. */
  equivalencia_dr: string | null
  metodo_pago_dr: string | null
  num_parcialidad: string | null
  imp_saldo_ant: string | null
  /** In the document's currency. Pagos 1.0 may omit it when the payment has one document only: then it is Monto. */
  imp_pagado: string | null
  imp_saldo_insoluto: string | null
  objeto_imp_dr: string | null
  impuestos_dr: { traslados: Tax[]; retenciones: Tax[] }
}

export interface Nomina {
  /** As the Nómina states it. */
  version: string | null
  tipo_nomina: string | null
  fecha_pago: string | null
  fecha_inicial_pago: string | null
  fecha_final_pago: string | null
  num_dias_pagados: string | null
  total_percepciones: string | null
  total_deducciones: string | null
  total_otros_pagos: string | null
  total_gravado: string | null
  total_exento: string | null
  /** The sum of the Deducciones of type 002. */
  isr_retenido: string | null
  num_empleado: string | null
  curp: string | null
  num_seguridad_social: string | null
  tipo_contrato: string | null
  tipo_regimen: string | null
  periodicidad_pago: string | null
  salario_diario_integrado: string | null
  antiguedad: string | null
}

export interface Retencion {
  clave: string
  descripcion: string | null
  mes_inicial: string | null
  mes_final: string | null
  ejercicio: string | null
  nacionalidad_receptor: string | null
  monto_total_operacion: string | null
  monto_total_gravado: string | null
  monto_total_exento: string | null
  monto_total_retenido: string | null
  impuestos: { base: string | null; impuesto: string | null; monto: string | null; tipo_pago: string | null }[]
}

const SPACES = /[\t\n\r]| {2}/
/** The schemas of 3.3 and later allow 18 digits before the point, and that of 3.2 any number of them. */
const AMOUNT = /^[+-]?(?:\d{1,40}(?:\.\d{0,30})?|\.\d{1,30})$/
const DATE_TIME =
  /^(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.\d{1,9})?(Z|[+-](?:0\d|1[0-4]):[0-5]\d)?$/
const DAY = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])/
const RFC = /^[A-ZÑ&]{3,4}\d{6}[A-Z\d]{3}$/
const UUID = /^[\dA-F]{8}-[\dA-F]{4}-[\dA-F]{4}-[\dA-F]{4}-[\dA-F]{12}$/

/** The text of an attribute that is not a line's, with its white space collapsed, as the schemas ask; null when it is absent or blank. */
export const text = (attributes: Attributes, name: string): string | null => {
  const value = attributes[name]?.trim()
  if (!value) return null
  return SPACES.test(value) ? collapsed(value) : value
}

const WHITE: ReadonlySet<number> = new Set([' ', '\t', '\n', '\r'].map((character) => character.charCodeAt(0)))

/** A text with one space for all white space between two characters. */
const collapsed = (value: string): string =>
  textOf((put) => {
    for (let at = 0; at < value.length; at++) {
      const code = value.charCodeAt(at)
      if (!WHITE.has(code)) put(code)
      else if (!WHITE.has(value.charCodeAt(at - 1))) put(32)
    }
  })

/** The text of a line's attribute. It is only trimmed, because spaces and line breaks inside it may be intended. */
export const freeText = (attributes: Attributes, name: string): string | null => attributes[name]?.trim() || null

/** Decimal text, exactly as the document has it. Throws CfdiRejected cfdi.invalid_amount for any other text. */
export const amount = (attributes: Attributes, name: string): string | null => {
  const value = attributes[name]?.trim()
  if (!value) return null
  if (!AMOUNT.test(value)) throw new CfdiRejected('cfdi.invalid_amount', `${name} is not a decimal amount.`)
  return value
}

/** A literal local time, `YYYY-MM-DDTHH:mm:ss`, without fractions and offset. Throws CfdiRejected cfdi.invalid_date. */
export const dateTime = (attributes: Attributes, name: string): string | null => {
  const value = attributes[name]?.trim()
  if (!value) return null
  const literal = DATE_TIME.exec(value)?.[1]
  if (literal === undefined || !isRealDay(literal)) throw new CfdiRejected('cfdi.invalid_date', `${name} is not a date and time.`)
  return literal
}

/** A date that says no more than when something was paid. Null when it is not a day of the years in which there are CFDIs. */
export const dayIfReal = (attributes: Attributes, name: string): string | null => {
  const value = text(attributes, name)
  return value !== null && DAY.test(value) && isRealDay(value) && isIssueDate(value) ? value : null
}

/** The offset from UTC in minutes that a valid date and time states; null when it states none. */
const offsetOf = (value: string | undefined): number | null => {
  const offset = DATE_TIME.exec(value?.trim() ?? '')?.[2]
  if (offset === undefined) return null
  const minutes = offset === 'Z' ? 0 : Number(offset.slice(1, 3)) * 60 + Number(offset.slice(4))
  return offset.startsWith('-') ? -minutes : minutes
}

/** Whether a CFDI can be of this date. The first ones are of 2004. */
export const isIssueDate = (fecha: string): boolean => fecha >= '2004' && fecha < '2101'

export const outOfRange = (name: string): string => `${name} is not in the years 2004 to 2100.`

/** The code of a tax: 001 ISR, 002 IVA, 003 IEPS. 3.2 has their names, and retenciones 1.0 two digits. Any other text stays as it is. */
export const taxCode = (stated: string): string => TAXES.get(stated.toUpperCase()) ?? stated

const TAXES: ReadonlyMap<string, string> = new Map(
  ['ISR', 'IVA', 'IEPS'].flatMap((name, i) => [name, `0${i + 1}`].map((stated) => [stated, `00${i + 1}`] as const)),
)

export const versionOf = (a: Attributes): string => (a['Version'] ?? a['version'] ?? '').trim()

/** Whether the day exists in its month. The text begins with `YYYY-MM-DD` and has a month from 1 to 12. */
export const isRealDay = (date: string): boolean => {
  const day = Number(date.slice(8, 10))
  return day <= 28 || day <= new Date(Date.UTC(Number(date.slice(0, 4)), Number(date.slice(5, 7)), 0)).getUTCDate()
}

/** An RFC in upper case, empty when there is none. Its check digit is not verified. Throws CfdiRejected cfdi.invalid_rfc. */
export const rfc = (attributes: Attributes, name: string, owner: 'Emisor' | 'Receptor'): string => {
  const value = asRfc(attributes[name] ?? '')
  if (value !== '' && !isRfc(value)) throw new CfdiRejected('cfdi.invalid_rfc', `${owner}@${name} is not an RFC.`)
  return value
}

export const asRfc = (value: string): string => value.trim().toUpperCase().normalize('NFC')

export const isRfc = (value: string): boolean => RFC.test(value)

/** A document's own UUID, in upper case; null when it is absent. Throws CfdiRejected cfdi.invalid_uuid. */
export const uuid = (attributes: Attributes, name: string): string | null => {
  const value = upper(attributes, name)
  if (value !== null && !UUID.test(value)) throw new CfdiRejected('cfdi.invalid_uuid', `${name} is not a UUID.`)
  return value
}

/** Whether a document can have this UUID: any but the nil UUID, which demonstrations have instead of a stamp. */
export const isUuid = (value: string): boolean => UUID.test(value) && /[1-9A-F]/.test(value)

export const isAmount = (value: string): boolean => AMOUNT.test(value)

export const upper = (attributes: Attributes, name: string): string | null => attributes[name]?.trim().toUpperCase() || null

/** The last eight characters of a Sello. */
export const lastEight = (sello: string | undefined): string | null => sello?.slice(-64).replace(/\s+/g, '').slice(-8) || null

/** Throws CfdiRejected cfdi.incomplete. */
export const missing = (name: string): never => {
  throw new CfdiRejected('cfdi.incomplete', `${name} is missing.`)
}

/** A document that is being read, with the parts of it that are open. */
export interface ParseState {
  readonly document: CfdiDocument
  readonly complementos: Set<string>
  /** The oddities of the document, besides the repairs of its text. */
  readonly oddities: Set<Repair>
  /** The elements that came and may not come again. */
  readonly opened: Set<string>
  timbres: number
  /** The parts of the document, with those of the line that is open, and without these. */
  parts: number
  partsBefore: number
  tipo_relacion: string
  concepto: Concepto | null
  /** Takes a line that has been read. */
  readonly take: LineReader['take']
  pago: Pago | null
  docto: DoctoRelacionado | null
  /** The documents of all payments. */
  readonly doctos: DoctoRelacionado[]
  nomina: Nomina | null
}

export type Node = Element<ParseState>

/** The children of an element, by name. */
export const children = (named: Record<string, Node>): ReadonlyMap<string, Node> => new Map(Object.entries(named))

/** An element that is read only for its children. */
export const path = (named: Record<string, Node>): Node => ({ children: children(named) })

/** Children that a document has once, each or of all of them. Refuses another one, because nobody could say which of them counts. */
export const single = (named: Record<string, Node>, of?: string): Record<string, Node> =>
  Object.fromEntries(Object.entries(named).map(([name, node]) => [name, once(of ?? name, node)]))

const once = (name: string, node: Node): Node => ({
  ...node,
  open: (state, a, local, namespace) => {
    if (state.opened.has(name)) throw new CfdiRejected('cfdi.repeated_element', `The document has more than one ${name}.`)
    state.opened.add(name)
    node.open?.(state, a, local, namespace)
  },
})

/** Reads when the document was issued. Throws CfdiRejected cfdi.invalid_date, also for a year in which there are no CFDIs. */
export const readFecha = ({ document }: ParseState, a: Attributes, name: string): void => {
  const fecha = dateTime(a, name)
  if (fecha === null) return
  if (!isIssueDate(fecha)) throw new CfdiRejected('cfdi.invalid_date', outOfRange(name))
  document.fecha = fecha
  document.utc_offset = offsetOf(a[name])
}

/** How many documents a document may name, and how many it may pay. Each becomes a row of its invoice, so more would fill a database. */
export const MOST_RELATED = 10_000

/** Adds a document that a document names or pays. One beyond the limit is left out, and the document says so. Returns whether it is added. */
export const addRelated = <Part>({ oddities }: ParseState, list: Part[], part: Part): boolean => {
  const isWithin = list.length < MOST_RELATED
  if (isWithin) list.push(part)
  else oddities.add('related_cut')
  return isWithin
}

/** Adds a text, if there is one. */
export const addText = (state: ParseState, list: string[] | undefined, value: string | null): void => {
  if (value !== null) addPart(state, list, value)
}

export const beginLine = (state: ParseState, concepto: Concepto): void => {
  state.concepto = concepto
  state.partsBefore = state.parts
}

export const endLine = (state: ParseState): void => {
  if (state.concepto !== null) state.take(state.concepto)
  state.concepto = null
  state.parts = state.partsBefore
}

/**
 * How many taxes, payments and other parts a line may have, and a document besides its lines. A payment of 10,000 documents has six for each
 * at the most.
 */
const MOST_PARTS = 60_000

/** Counts a part. Throws CfdiRejected cfdi.too_complex beyond the limit. */
export const countPart = (state: ParseState): void => {
  if (++state.parts > MOST_PARTS) throw new CfdiRejected('cfdi.too_complex', 'The document has too many parts.')
}

/** Adds a part to a list of what is open, if that is there. Throws as countPart does. */
export const addPart = <Part>(state: ParseState, list: Part[] | undefined, part: Part): void => {
  countPart(state)
  list?.push(part)
}

/** Takes the lines of a document, one at a time, so that no document has all of them in memory as objects. */
export interface LineReader {
  /** The document is read, or read again after a repair. */
  begin(): void
  take(concepto: Concepto): void
}

export function newParseState(kind: CfdiDocument['kind'], version: string, lines: LineReader | null): ParseState {
  const document = newDocument(kind, version)
  lines?.begin()
  return { ...EMPTY_STATE(document), take: lines ? (concepto) => lines.take(concepto) : (concepto) => document.conceptos.push(concepto) }
}

const EMPTY_STATE = (document: CfdiDocument): Omit<ParseState, 'take'> => ({
  document,
  complementos: new Set(),
  oddities: new Set(),
  opened: new Set(),
  timbres: 0,
  parts: 0,
  partsBefore: 0,
  tipo_relacion: '',
  concepto: null,
  pago: null,
  docto: null,
  doctos: [],
  nomina: null,
})
