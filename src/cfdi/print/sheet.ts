import type { Block, PrintedCell, PrintedField, Row } from '../../platform/pdf/drawing.ts'
import type { Steps } from '../../platform/work/pause.ts'
import { readingLines, readingTree, type XmlElement } from '../xml/tree.ts'
import { codeNameOf, type Language, reasonOf } from './catalogs.ts'
import { cadenaOf, cartaPorteAddress, verificationOf } from './certification.ts'
import { amountInWords, labelOf, WORDS } from './labels.ts'

/** What the authority says of a document beside its XML. */
export interface PrintedState {
  estatus: 'vigente' | 'cancelado'
  /** Days. */
  cancelled_on: string | null
  checked_on: string | null
  cancellation_reason: string | null
  substitute: string | null
  isSandbox: boolean
}

export interface Sheet {
  title: string
  uuid: string
  /** FechaTimbrado. */
  certified: string | null
  isCancelled: boolean
  blocks: readonly Block[]
}

type Attributes = Map<string, [name: string, value: string]>

/** The attributes of an element by their names in lower case, as 3.2 writes them. What is taken is not shown again. */
const attributesOf = (node: XmlElement | undefined): Attributes => {
  const all = Object.entries(node?.attributes ?? {}).map((one): [string, [string, string]] => [one[0].toLowerCase(), one])
  return new Map(all.sort(([a], [b]) => (RANKS.get(a) ?? ORDER.length) - (RANKS.get(b) ?? ORDER.length)))
}

const said = (attributes: Attributes, name: string): string | undefined => attributes.get(name.toLowerCase())?.[1]

const isNamed = (node: XmlElement, name: string): boolean => node.name.toLowerCase() === name.toLowerCase()

/** The order in which attributes are read. Others follow as the XML has them. */
const ORDER = [
  ...['claveprodserv', 'descripcion', 'cantidad', 'claveunidad', 'valorunitario', 'descuento'],
  ...['iddocumento', 'numparcialidad', 'monedadr', 'equivalenciadr', 'impsaldoant', 'imppagado', 'impsaldoinsoluto'],
  ...['nombre', 'rfc', 'regimenfiscal', 'regimenfiscalreceptor', 'domiciliofiscalreceptor', 'usocfdi'],
  ...['tipopercepcion', 'tipodeduccion', 'tipootropago', 'clave', 'concepto', 'importegravado', 'importeexento'],
  ...['impuesto', 'tipofactor', 'tasaocuota', 'tasa', 'base', 'impuestodr', 'tipofactordr', 'tasaocuotadr', 'basedr', 'importedr'],
  ...[
    'imploctrasladado',
    'implocretenido',
    'tasadetraslado',
    'tasaderetencion',
    'impuestop',
    'tipofactorp',
    'tasaocuotap',
    'basep',
    'importep',
    'importe',
  ],
]
const RANKS = new Map(ORDER.map((name, n) => [name, n]))

/** Elements that stand for themselves, however many there are. */
const OWN = new Set(['pago', 'nomina', 'receptor', 'emisor'])
/** An element with more inside it is no row. */
const MOST_INSIDE = 24

const sizeOf = (node: XmlElement): number => node.children.reduce((sum, child) => sum + 1 + sizeOf(child), 0)

const isRow = (node: XmlElement): boolean =>
  !OWN.has(node.name.toLowerCase()) && Object.keys(node.attributes).length > 0 && sizeOf(node) <= MOST_INSIDE

/** What an element says, as a text: its attributes and what is inside it. */
class Teller {
  readonly #language: Language

  constructor(language: Language) {
    this.#language = language
  }

  field = (name: string, value: string): PrintedField => ({ label: labelOf(name, this.#language), value: this.valueOf(name, value) })

  valueOf(name: string, value: string): string {
    const text = codeNameOf(name, value, this.#language)
    return text === undefined ? value : `${value} – ${text}`
  }

  /** Everything that an element and those inside it say. */
  allOf(node: XmlElement | undefined, around = ''): PrintedField[] {
    if (node === undefined) return []
    const own = this.fieldsOf(attributesOf(node)).map(({ label, value }) => ({
      label: around === '' ? label : `${around}: ${label}`,
      value,
    }))
    const text = node.text === null ? [] : [{ label: around, value: node.text }]
    return [...own, ...text, ...node.children.flatMap((child) => this.allOf(child, labelOf(child.name, this.#language)))]
  }

  fieldsOf = (attributes: Attributes): PrintedField[] => [...attributes.values()].map(([name, value]) => this.field(name, value))

  rowOf(node: XmlElement, lookAside: readonly string[] = []): Row {
    const attributes = attributesOf(node)
    const aside = lookAside.flatMap((name) => this.take(attributes, name))
    const cells = [...attributes.values()].map(([name, value]): PrintedCell => ({ name: name.toLowerCase(), ...this.field(name, value) }))
    const details = [...(aside.length > 0 ? [spoken(aside)] : []), ...this.#inside(node)]
    return { cells, details: node.text === null ? details : [node.text, ...details] }
  }

  /** Takes attributes out, in this order. */
  take = (attributes: Attributes, ...names: string[]): PrintedField[] =>
    names.flatMap((one) => {
      const found = attributes.get(one.toLowerCase())
      attributes.delete(one.toLowerCase())
      return found ? [this.field(...found)] : []
    })

  #inside(node: XmlElement, around = ''): string[] {
    return node.children.flatMap((child) => {
      const fields = this.fieldsOf(attributesOf(child))
      const name = `${around}${labelOf(child.name, this.#language)}`
      const texts = [spoken(fields), child.text].filter(Boolean).join(' · ')
      const isSaid = texts !== '' || child.children.length === 0
      return [...(isSaid ? [texts === '' ? name : `${name}: ${texts}`] : []), ...this.#inside(child, isSaid ? `${name} › ` : around)]
    })
  }
}

const spoken = (fields: readonly PrintedField[]): string => fields.map(({ label, value }) => `${label} ${value}`).join(' · ')

/** Writes an element and everything in it. Elements of the same name are a table, one after the other. */
function writeElement(
  write: (block: Block) => void,
  tell: Teller,
  language: Language,
  node: XmlElement,
  level: number,
  name = labelOf(node.name, language),
): void {
  const fields = tell.fieldsOf(attributesOf(node))
  const [only, ...others] = node.children
  // Around one kind of rows, an element that says nothing itself names them.
  const isAround = fields.length === 0 && node.text === null && only !== undefined && isListed(only)
  if (isAround && others.every((one) => one.name === only.name && isRow(one)) && isRow(only)) {
    writeTable(write, tell, node.children, level, name)
    return
  }
  write({ kind: 'heading', level: Math.min(level, 6), text: name })
  if (fields.length > 0) write({ kind: 'fields', fields })
  if (node.text !== null) write({ kind: 'text', text: node.text })
  writeChildren(write, tell, language, node.children, level + 1)
}

/** Rows of a table that are told before others go on. */
const ROWS_AT_ONCE = 50

function writeTable(write: (block: Block) => void, tell: Teller, rows: readonly XmlElement[], level: number, label: string): void {
  write({ kind: 'heading', level: Math.min(level, 6), text: label })
  write({
    kind: 'table',
    label,
    *each(take) {
      for (const [n, one] of rows.entries()) {
        take(tell.rowOf(one))
        if (n % ROWS_AT_ONCE === 0) yield
      }
    },
  })
}

function writeChildren(
  write: (block: Block) => void,
  tell: Teller,
  language: Language,
  children: readonly XmlElement[],
  level: number,
): void {
  for (let from = 0; from < children.length; ) {
    const first = children[from]!
    let to = from + 1
    if (isRow(first)) while (to < children.length && children[to]!.name === first.name && isRow(children[to]!)) to++
    const group = children.slice(from, to)
    if (isRow(first) && (group.length > 1 || isListed(first))) writeTable(write, tell, group, level, labelOf(first.name, language))
    else for (const one of group) writeElement(write, tell, language, one, level)
    from = to
  }
}

/** Elements that are rows also where there is one alone. */
const LISTED = new Set([
  ...[
    'doctorelacionado',
    'percepcion',
    'deduccion',
    'otropago',
    'horasextra',
    'incapacidad',
    'traslado',
    'retencion',
    'trasladop',
    'retencionp',
  ],
  ...['ubicacion', 'mercancia', 'impretenidos', 'cfdirelacionado', 'trasladoslocales', 'retencioneslocales', 'remolque'],
])
const isListed = ({ name }: XmlElement): boolean => LISTED.has(name.toLowerCase())

/** The order of the columns of a line, and what stands below them. */
const LINE_ASIDE = ['NoIdentificacion', 'ObjetoImp', 'Unidad']

/**
 * The sheet of a document in the order of Anexo 20 and rule 2.7.1.7: what its parts mean is known, and everything else follows with its own
 * names, so that nothing of the XML is left out but its Addenda. Throws CfdiRejected.
 */
export function* readingSheet(bytes: Uint8Array, state: PrintedState, language: Language): Steps<Sheet> {
  const t = WORDS[language]
  const tell = new Teller(language)
  const { xml, complement_trees, left_out } = yield* readingTree(bytes)
  const root: XmlElement = xml ?? { name: 'Comprobante', namespace: null, attributes: {}, text: null, children: [] }
  const header = attributesOf(root)
  const stampNode = complement_trees.find(({ name }) => name === 'TimbreFiscalDigital')
  const stamp = attributesOf(stampNode)
  const isRetenciones = root.name === 'Retenciones'
  const kind = isRetenciones ? t.retenciones : (t.tipo[(said(header, 'TipoDeComprobante') ?? '')[0]?.toUpperCase() ?? ''] ?? 'CFDI')
  const uuid = (said(stamp, 'UUID') ?? '').toUpperCase()
  const folio = [said(header, 'Serie'), said(header, 'Folio') ?? said(header, 'FolioInt')].filter(Boolean).join(' ')
  const certified = said(stamp, 'FechaTimbrado') ?? null
  const verification = verificationOf(root, said(stamp, 'UUID') ?? '')
  const cadena = cadenaOf(stamp)

  const blocks: Block[] = []
  const write = (block: Block) => void blocks.push(block)
  const child = (name: string) => root.children.find((one) => isNamed(one, name))
  write({ kind: 'heading', level: 1, text: [kind, folio].filter(Boolean).join(' ') })
  if (state.isSandbox) write({ kind: 'text', text: t.sandbox, look: 'strong' })
  write({ kind: 'text', text: isRetenciones ? t.representationOfRetenciones : t.representation })
  writeState(write, state, language)
  const total = header.get('total')?.[1]
  const currency = said(header, 'Moneda')
  const money = tell.take(header, 'SubTotal', 'Descuento', 'MotivoDescuento', 'Total')
  const payment = tell.take(
    header,
    ...['FormaPago', 'FormaDePago', 'MetodoPago', 'MetodoDePago', 'CondicionesDePago', 'Moneda', 'TipoCambio', 'NumCtaPago'],
  )
  const seal = tell.take(header, 'Sello')
  const last = tell.take(header, 'Certificado', 'Cert', 'xsi:schemaLocation')
  const head = [
    ...tell.take(header, 'TipoDeComprobante', 'CveRetenc', 'DescRetenc', 'Serie', 'Folio', 'FolioInt'),
    ...tell.take(stamp, 'UUID'),
    ...tell.take(header, 'Fecha', 'FechaExp'),
    ...tell.take(stamp, 'FechaTimbrado'),
    ...tell.take(header, 'LugarExpedicion', 'LugarExpRetenc', 'Exportacion', 'NoCertificado', 'NumCert'),
    ...tell.take(stamp, 'NoCertificadoSAT', 'RfcProvCertif'),
    ...tell.fieldsOf(header),
  ]
  write({ kind: 'fields', fields: head })
  const own = ['Emisor', 'Receptor']
  const [left, right] = own.map((name) => ({ heading: labelOf(name, language), fields: tell.allOf(child(name)) }))
  write({ kind: 'sides', left: left!, right: right! })
  const rest = root.children.filter(({ name }) => !own.includes(name) && name !== 'Impuestos')
  writeChildren(write, tell, language, rest, 2)
  if (!isRetenciones) {
    write({ kind: 'heading', level: 2, text: labelOf('Conceptos', language) })
    write({
      kind: 'table',
      label: labelOf('Conceptos', language),
      each: (take) => readingLines(bytes, (line) => take(tell.rowOf(line, LINE_ASIDE))),
    })
    for (const node of root.children.filter((one) => isNamed(one, 'Impuestos'))) writeElement(write, tell, language, node, 2)
  }
  const words = total === undefined ? null : amountInWords(total, currency, language)
  const inWords = words === null ? [] : [{ label: t.inWords, value: words }]
  if (money.length + payment.length > 0)
    write({
      kind: 'sides',
      left: { heading: t.payment, fields: [...inWords, ...payment] },
      right: { heading: t.totals, fields: money, areAmounts: true },
    })
  writeChildren(
    write,
    tell,
    language,
    complement_trees.filter((one) => one !== stampNode),
    2,
  )
  for (const one of complement_trees) {
    const address = cartaPorteAddress(one, certified)
    if (address) write({ kind: 'code', text: address, alt: t.qrOfCartaPorte, fields: [{ label: t.verifyAt, value: address }] })
  }
  write({ kind: 'heading', level: 2, text: t.certification })
  const seals = [...tell.take(stamp, 'SelloCFD', 'SelloSAT'), ...(cadena ? [{ label: t.cadena, value: cadena }] : [])]
  const both = [...(seals.some(({ value }) => value === seal[0]?.value) ? [] : seal), ...seals]
  if (verification) write({ kind: 'code', text: verification, alt: t.qr, fields: [...both, { label: t.verifyAt, value: verification }] })
  else if (both.length > 0) write({ kind: 'fields', fields: both })
  const others = [...tell.fieldsOf(stamp), ...last]
  for (const { label, value } of others) write({ kind: 'text', text: `${label}: ${value}`, look: 'small' })
  const lacking = left_out.xml + left_out.complement_trees
  if (lacking > 0) write({ kind: 'text', text: t.leftOut(lacking), look: 'strong' })
  const title = [kind, folio, uuid].filter(Boolean).join(' ')
  return { title, uuid, certified, isCancelled: state.estatus === 'cancelado', blocks }
}

/** What the authority says of the document now. */
function writeState(write: (block: Block) => void, state: PrintedState, language: Language): void {
  const t = WORDS[language]
  const { estatus, cancelled_on, cancellation_reason: reason, substitute, checked_on } = state
  if (estatus === 'cancelado') {
    const why = reason && [reason, reasonOf(reason, language)].filter(Boolean).join(' – ')
    write({ kind: 'text', text: [t.cancelled(cancelled_on), why && t.reason(why)].filter(Boolean).join(' '), look: 'strong' })
    if (substitute) write({ kind: 'text', text: t.substitute(substitute), look: 'strong', address: substituteAddress(substitute) })
  } else write({ kind: 'text', text: checked_on === null ? t.valid : t.validOn(checked_on) })
}

const substituteAddress = (uuid: string): string => `https://verificacfdi.facturaelectronica.sat.gob.mx/default.aspx?id=${uuid}`
