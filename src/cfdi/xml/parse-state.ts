import { type CfdiDocument, type Concepto, type DoctoRelacionado, type Nomina, newDocument, type Pago } from './document.ts'
import { CfdiRejected } from './rejected.ts'
import type { Element } from './xml.ts'

/** A document that is being read, with the parts of it that are open. */
export interface ParseState {
  readonly document: CfdiDocument
  readonly complementos: Set<string>
  timbres: number
  tipo_relacion: string
  concepto: Concepto | null
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

/** The limit of a document's lines, and of the documents that it pays or refers to: all of them are in memory at once. */
const MAX_PARTS = 30_000

/** Adds one of a document's parts to a list. Throws CfdiRejected beyond the limit. */
export const add = <Part>(list: Part[], part: Part, what: string): void => {
  if (list.length === MAX_PARTS) throw new CfdiRejected('cfdi.too_complex', `The document has more than 30,000 ${what}.`)
  list.push(part)
}

/** Adds a text to a list of an open part, if both are there. */
export const append = (list: string[] | undefined, value: string | null): void => {
  if (value !== null) list?.push(value)
}

export const newParseState = (kind: CfdiDocument['kind'], version: string): ParseState => ({
  document: newDocument(kind, version),
  complementos: new Set(),
  timbres: 0,
  tipo_relacion: '',
  concepto: null,
  pago: null,
  docto: null,
  doctos: [],
  nomina: null,
})
