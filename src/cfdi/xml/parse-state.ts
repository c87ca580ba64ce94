import { type CfdiDocument, type Concepto, type DoctoRelacionado, type Nomina, newDocument, type Pago, type Repair } from './document.ts'
import { dateTime, isIssueDate, offsetOf, outOfRange } from './fields.ts'
import { CfdiRejected } from './rejected.ts'
import type { Attributes, Element } from './xml.ts'

/** A document that is being read, with the parts of it that are open. */
export interface ParseState {
  readonly document: CfdiDocument
  readonly complementos: Set<string>
  /** What is odd about the document, besides the repairs of its text. */
  readonly oddities: Set<Repair>
  /** The elements that came and may not come again. */
  readonly opened: Set<string>
  timbres: number
  tipo_relacion: string
  concepto: Concepto | null
  /** How many lines have begun. */
  lines: number
  /** Takes a line that has been read. */
  readonly take: LineReader['take']
  pago: Pago | null
  docto: DoctoRelacionado | null
  /** Those of all payments. */
  doctos: DoctoRelacionado[]
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
  open: (state, a, local) => {
    if (state.opened.has(name)) throw new CfdiRejected('cfdi.repeated_element', `The document has more than one ${name}.`)
    state.opened.add(name)
    node.open?.(state, a, local)
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

/** The limit of a document's lines, and of the documents that it pays or refers to: all of them are in memory at once. */
const MAX_PARTS = 30_000

const limit = (count: number, what: string): void => {
  if (count > MAX_PARTS) throw new CfdiRejected('cfdi.too_complex', `The document has more than 30,000 ${what}.`)
}

/** Adds one of a document's parts to a list. Throws CfdiRejected beyond the limit. */
export const add = <Part>(list: Part[], part: Part, what: string): void => limit(list.push(part), what)

/** Begins a line. Throws CfdiRejected beyond the limit. */
export const beginLine = (state: ParseState, concepto: Concepto): void => {
  limit(++state.lines, 'lines')
  state.concepto = concepto
}

export const endLine = (state: ParseState): void => {
  if (state.concepto !== null) state.take(state.concepto)
  state.concepto = null
}

/** Adds a text to a list of an open part, if both are there. */
export const append = (list: string[] | undefined, value: string | null): void => {
  if (value !== null) list?.push(value)
}

/** What becomes of the lines of a document, one at a time, so that no document has all of them in memory as objects. */
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
  tipo_relacion: '',
  concepto: null,
  lines: 0,
  pago: null,
  docto: null,
  doctos: [],
  nomina: null,
})
