import * as saxes from 'saxes'
import { CfdiRejected } from './rejected.ts'

export type Attributes = Readonly<Record<string, string>>

/** What to do with an element and which of its children to look at; a child that is not listed is skipped with all it holds. */
export interface Element<D> {
  readonly open?: (draft: D, attributes: Attributes, name: string) => void
  readonly close?: (draft: D) => void
  /** By local name in the root's namespace, by `alias:LocalName` in another that the grammar knows. */
  readonly children?: ReadonlyMap<string, Element<D>>
  /** A child that `children` does not list. */
  readonly other?: Element<D>
}

export interface Grammar<D> {
  /** Namespace to alias. */
  readonly namespaces: ReadonlyMap<string, string>
  /** Throws CfdiRejected when the root is not one of ours. */
  readonly root: (namespace: string, name: string, attributes: Attributes) => { draft: D; element: Element<D> }
}

/** The text is not well-formed XML. */
export class Malformed extends Error {
  /** Where the root's Addenda begins, how the root is called, and whether the parser was still inside; null when it saw no Addenda. */
  readonly addenda: { at: number; root: string; inside: boolean } | null

  constructor(message: string, addenda: Malformed['addenda']) {
    super(message)
    this.addenda = addenda
  }
}

const MAX_DEPTH = 64
const MAX_ATTRIBUTES = 512
const MAX_ELEMENTS = 200_000

interface Name {
  readonly key: string
  readonly local: string
}

class Scope {
  readonly outer: Scope | null
  readonly depth: number
  readonly bindings = new Map<string, string>()
  readonly names = new Map<string, Name>()

  constructor(outer: Scope | null, depth: number) {
    this.outer = outer
    this.depth = depth
  }

  namespaceOf(prefix: string): string {
    for (let scope: Scope | null = this; scope !== null; scope = scope.outer) {
      const namespace = scope.bindings.get(prefix)
      if (namespace !== undefined) return namespace
    }
    return ''
  }
}

/**
 * Drives a grammar over a document. Namespaces decide, never prefixes. The Addenda is skipped whatever it holds, however deep; outside
 * it 64 levels and 512 attributes an element, 200,000 elements in all. One walker reads one document at a time.
 */
export class Walker<D> {
  readonly #grammar: Grammar<D>
  readonly #parser = new saxes.SaxesParser<{ xmlns?: false; position: boolean }>({ position: false })
  #text = ''
  #draft: D | undefined
  #stack: Element<D>[] = []
  #scope = new Scope(null, 0)
  #declared: [string, string][] = []
  #rootNamespace = ''
  #rootName = ''
  #depth = 0
  #skipped = 0
  #attributes = 0
  #elements = 0
  #inAddenda = false
  #addendaAt = -1

  constructor(grammar: Grammar<D>) {
    this.#grammar = grammar
    const parser = this.#parser
    parser.on('attribute', ({ name, value }) => this.#onAttribute(name, value))
    parser.on('opentag', (tag) => this.#onOpen(tag.name, tag.attributes))
    parser.on('closetag', () => this.#onClose())
    parser.on('doctype', () => {
      throw new CfdiRejected('cfdi.doctype', 'The document has a DOCTYPE, which a CFDI cannot have.')
    })
  }

  /** Throws Malformed, or CfdiRejected from the limits and the grammar; after a throw this walker is spent. */
  walk(text: string): { draft: D; addenda: boolean } {
    this.#text = text
    this.#draft = undefined
    this.#scope = new Scope(null, 0)
    this.#elements = 0
    this.#addendaAt = -1
    try {
      this.#parser.write(text).close()
    } catch (error) {
      if (error instanceof CfdiRejected) throw error
      throw this.#malformed(error)
    }
    const draft = this.#draft as D
    this.#text = ''
    this.#draft = undefined
    return { draft, addenda: this.#addendaAt >= 0 }
  }

  #malformed(error: unknown): Malformed {
    const reason = error instanceof Error ? (error.message.split(/[:.]/, 1)[0] ?? '') : ''
    const addenda = this.#addendaAt < 0 ? null : { at: this.#addendaAt, root: this.#rootName, inside: this.#inAddenda }
    return new Malformed(`The XML is not well formed at line ${this.#parser.line}: ${reason}.`, addenda)
  }

  #onAttribute(name: string, value: string): void {
    if (this.#skipped > 0) {
      if (!this.#inAddenda && ++this.#attributes > MAX_ATTRIBUTES) throw tooComplex('attributes in one element')
      return
    }
    if (++this.#attributes > MAX_ATTRIBUTES) throw tooComplex('attributes in one element')
    if (name.charCodeAt(0) !== 120 || !name.startsWith('xmlns')) return
    if (name.length === 5) this.#declared.push(['', value.trim()])
    else if (name.charCodeAt(5) === 58) this.#declared.push([name.slice(6), value.trim()])
  }

  #onOpen(qualified: string, attributes: Attributes): void {
    this.#attributes = 0
    if (++this.#elements > MAX_ELEMENTS) throw this.#inAddenda ? new Error('too many elements') : tooComplex('elements')
    if (this.#skipped > 0) {
      this.#skipped++
      if (!this.#inAddenda) this.#checkDepth()
      return
    }
    this.#checkDepth()
    if (this.#declared.length > 0) this.#declare()
    if (this.#depth === 0) {
      this.#openRoot(qualified, attributes)
      return
    }
    const name = this.#scope.names.get(qualified) ?? this.#resolve(qualified)
    const parent = this.#stack[this.#depth - 1] as Element<D>
    const element = parent.children?.get(name.key) ?? parent.other
    if (element === undefined) {
      this.#skipped = 1
      if (this.#depth === 1 && name.key === 'Addenda') this.#enterAddenda()
      return
    }
    this.#stack[this.#depth++] = element
    element.open?.(this.#draft as D, attributes, name.local)
  }

  #openRoot(qualified: string, attributes: Attributes): void {
    const colon = qualified.indexOf(':')
    this.#rootName = qualified
    this.#rootNamespace = this.#scope.namespaceOf(colon < 0 ? '' : qualified.slice(0, colon))
    const { draft, element } = this.#grammar.root(this.#rootNamespace, qualified.slice(colon + 1), attributes)
    this.#draft = draft
    this.#stack[0] = element
    this.#depth = 1
    element.open?.(draft, attributes, qualified.slice(colon + 1))
  }

  #enterAddenda(): void {
    this.#inAddenda = true
    // An attribute cannot hold a raw '<': the last one is the tag's.
    if (this.#addendaAt < 0) this.#addendaAt = this.#text.lastIndexOf('<', this.#parser.position - 1)
  }

  #onClose(): void {
    if (this.#skipped > 0) {
      if (--this.#skipped > 0) return
      this.#inAddenda = false
      if (this.#scope.depth === this.#depth + 1) this.#scope = this.#scope.outer as Scope
      return
    }
    if (this.#scope.depth === this.#depth) this.#scope = this.#scope.outer as Scope
    this.#stack[--this.#depth]?.close?.(this.#draft as D)
  }

  #checkDepth(): void {
    if (this.#depth + this.#skipped >= MAX_DEPTH)
      throw new CfdiRejected('cfdi.too_deep', `Elements are nested deeper than ${MAX_DEPTH} levels.`)
  }

  #declare(): void {
    this.#scope = new Scope(this.#scope, this.#depth + 1)
    for (const [prefix, namespace] of this.#declared) this.#scope.bindings.set(prefix, namespace)
    this.#declared = []
  }

  #resolve(qualified: string): Name {
    const colon = qualified.indexOf(':')
    const local = qualified.slice(colon + 1)
    const namespace = this.#scope.namespaceOf(colon < 0 ? '' : qualified.slice(0, colon))
    const key = namespace === this.#rootNamespace ? local : `${this.#grammar.namespaces.get(namespace) ?? ''}:${local}`
    const name = { key, local }
    this.#scope.names.set(qualified, name)
    return name
  }
}

const tooComplex = (what: string): CfdiRejected => new CfdiRejected('cfdi.too_complex', `The document has too many ${what}.`)
