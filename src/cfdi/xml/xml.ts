import type { Steps } from '../../platform/work/pause.ts'
import { XmlReader } from '../../platform/xml-reader.ts'

/** Why a document cannot be read as a CFDI. */
type RejectionCode =
  | 'cfdi.empty'
  | 'cfdi.too_large'
  | 'cfdi.too_deep'
  | 'cfdi.too_complex'
  | 'cfdi.doctype'
  | 'cfdi.html'
  | 'cfdi.malformed'
  | 'cfdi.repeated_element'
  | 'cfdi.not_a_cfdi'
  | 'cfdi.unknown_version'
  | 'cfdi.incomplete'
  | 'cfdi.invalid_rfc'
  | 'cfdi.invalid_amount'
  | 'cfdi.invalid_date'
  | 'cfdi.invalid_uuid'

/** The bytes cannot be read as a CFDI, now or later. The message names attributes, never their values. */
export class CfdiRejected extends Error {
  readonly code: RejectionCode

  constructor(code: RejectionCode, message: string) {
    super(message)
    this.code = code
  }
}

export type Attributes = Readonly<Record<string, string>>

/** How an element is read. A child that is not listed is skipped with everything inside it. */
export interface Element<State> {
  readonly open?: (state: State, attributes: Attributes, name: string, namespace: string) => void
  readonly close?: (state: State) => void
  /** By local name in the root's namespace, by `alias:LocalName` in another namespace of the grammar. */
  readonly children?: ReadonlyMap<string, Element<State>>
  /** Reads the children that `children` does not list. */
  readonly other?: Element<State>
}

export interface Grammar<State> {
  /** Namespace to alias. */
  readonly namespaces: ReadonlyMap<string, string>
  /** Throws CfdiRejected when no CFDI has this root. */
  readonly root: (namespace: string, name: string, attributes: Attributes) => { state: State; element: Element<State> }
  /** Takes the text inside the element that is open. Without it no text is read. */
  readonly text?: (state: State, text: string) => void
}

/** The text is not well-formed XML. */
export class Malformed extends Error {
  /** Where the root's Addenda begins, the root's name, and whether the parser was still inside. Null when it met no Addenda. */
  readonly addenda: { at: number; root: string; inside: boolean } | null

  constructor(message: string, addenda: Malformed['addenda']) {
    super(message)
    this.addenda = addenda
  }
}

const MAX_DEPTH = 64
const MAX_ATTRIBUTES = 512
const MAX_ADDENDA_ATTRIBUTES = 10_000
const MAX_ELEMENTS = 400_000
/** Names of a scope that are resolved once; any others are resolved wherever they stand. */
const MAX_NAMES = 1_000

interface Name {
  readonly key: string
  readonly local: string
  readonly namespace: string
  /** Whether nothing declares its prefix. */
  readonly isUndeclared: boolean
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
 * Reads one document by a grammar. Elements are recognised by their namespaces, never by prefixes. The Addenda is skipped,
 * whatever it contains. Outside it, a document may have 64 levels and 512 attributes in one element; in all it may have 400,000 elements. An
 * Addenda with more, or with an element of more than 10,000 attributes, is taken for malformed.
 */
export class Walker<State> {
  readonly #grammar: Grammar<State>
  #state: State | undefined
  readonly #stack: Element<State>[] = []
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

  constructor(grammar: Grammar<State>) {
    this.#grammar = grammar
  }

  /** Throws Malformed, or CfdiRejected by the limits and the grammar. */
  *walk(text: string): Steps<{ state: State; addenda: boolean }> {
    const reader = new XmlReader(text)
    const take = this.#grammar.text
    try {
      yield* reader.steps({
        ...(take && { text: (value) => this.#skipped > 0 || take(this.#state as State, value) }),
        attribute: (name, value) => this.#onAttribute(name, value),
        open: (name, attributes, at) => this.#onOpen(name, attributes, at),
        close: () => this.#onClose(),
      })
    } catch (error) {
      if (error instanceof CfdiRejected) throw error
      throw this.#malformed(error, reader.line)
    }
    return { state: this.#state as State, addenda: this.#addendaAt >= 0 }
  }

  #malformed(error: unknown, line: number): Malformed {
    const reason = error instanceof Error ? error.message : ''
    const addenda = this.#addendaAt < 0 ? null : { at: this.#addendaAt, root: this.#rootName, inside: this.#inAddenda }
    return new Malformed(`The XML is not well formed at line ${line}: ${reason}.`, addenda)
  }

  #onAttribute(name: string, value: string): void {
    this.#attributes++
    if (this.#inAddenda && this.#attributes > MAX_ADDENDA_ATTRIBUTES) throw new Error('an element has too many attributes')
    if (!this.#inAddenda && this.#attributes > MAX_ATTRIBUTES) throw tooComplex('attributes in one element')
    if (this.#skipped > 0) return
    if (name.charCodeAt(0) !== 120 || !name.startsWith('xmlns')) return
    if (name.length === 5) this.#declared.push(['', value.trim()])
    else if (name.charCodeAt(5) === 58) this.#declared.push([name.slice(6), value.trim()])
  }

  #onOpen(qualified: string, attributes: Attributes, at: number): void {
    this.#attributes = 0
    if (++this.#elements > MAX_ELEMENTS) throw this.#inAddenda ? new Error('there are too many elements') : tooComplex('elements')
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
    const parent = this.#stack[this.#depth - 1] as Element<State>
    const isAddenda = this.#depth === 1 && name.key === 'Addenda'
    const element = isAddenda ? undefined : (parent.children?.get(name.key) ?? parent.other)
    if (name.isUndeclared) refuseUndeclared(parent, name.local)
    if (element === undefined) {
      this.#skipped = 1
      if (isAddenda) this.#enterAddenda(at)
      return
    }
    this.#stack[this.#depth++] = element
    element.open?.(this.#state as State, attributes, name.local, name.namespace)
  }

  #openRoot(qualified: string, attributes: Attributes): void {
    const colon = qualified.indexOf(':')
    this.#rootName = qualified
    this.#rootNamespace = this.#scope.namespaceOf(colon < 0 ? '' : qualified.slice(0, colon))
    const { state, element } = this.#grammar.root(this.#rootNamespace, qualified.slice(colon + 1), attributes)
    this.#state = state
    this.#stack[0] = element
    this.#depth = 1
    element.open?.(state, attributes, qualified.slice(colon + 1), this.#rootNamespace)
  }

  #enterAddenda(at: number): void {
    this.#inAddenda = true
    if (this.#addendaAt < 0) this.#addendaAt = at
  }

  #onClose(): void {
    if (this.#skipped > 0) {
      if (--this.#skipped > 0) return
      this.#inAddenda = false
      if (this.#scope.depth === this.#depth + 1) this.#scope = this.#scope.outer as Scope
      return
    }
    if (this.#scope.depth === this.#depth) this.#scope = this.#scope.outer as Scope
    this.#stack[--this.#depth]?.close?.(this.#state as State)
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
    const name = { key, local, namespace, isUndeclared: colon >= 0 && namespace === '' }
    if (this.#scope.names.size < MAX_NAMES) this.#scope.names.set(qualified, name)
    return name
  }
}

/** Nobody can say whether such an element is the one of its name that a CFDI has. Throws CfdiRejected. */
const refuseUndeclared = (parent: Element<never>, local: string): void => {
  for (const key of parent.children?.keys() ?? [])
    if (key === local || key.endsWith(`:${local}`))
      throw new CfdiRejected('cfdi.malformed', `The XML declares no namespace for the prefix of ${local}.`)
}

const tooComplex = (what: string): CfdiRejected => new CfdiRejected('cfdi.too_complex', `The document has too many ${what}.`)
