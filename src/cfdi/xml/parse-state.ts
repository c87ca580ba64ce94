import { type CfdiDocument, type Concepto, type DoctoRelacionado, type Nomina, newDocument, type Pago } from './document.ts'
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
  nomina: Nomina | null
}

export type Node = Element<ParseState>

/** The children of an element, by name. */
export const children = (named: Record<string, Node>): ReadonlyMap<string, Node> => new Map(Object.entries(named))

/** An element that is read only for its children. */
export const path = (named: Record<string, Node>): Node => ({ children: children(named) })

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
  nomina: null,
})
