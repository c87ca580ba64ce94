import { inOneGo, type Steps } from '../../platform/work/pause.ts'
import { versionOf } from './document.ts'
import { readBy } from './parse.ts'
import type { Attributes, Element, Grammar } from './xml.ts'

/** An element as the XML states it. */
export interface XmlElement {
  /** Without its prefix. */
  name: string
  /** Null for that of the element around it. */
  namespace: string | null
  /** Without the declarations of namespaces. */
  attributes: Record<string, string>
  text: string | null
  children: XmlElement[]
}

/** What a document states beyond its members. Each part is bounded: `left_out` counts the elements beyond. */
export interface XmlTree {
  /** The root, without lines, complements and Addenda. Null when it is left out. */
  xml: XmlElement | null
  /** Each child of every top-level Complemento. */
  complement_trees: XmlElement[]
  /** By the index of the line, if it has any: the children of its ComplementoConcepto, and those of its own that its members do not state whole. */
  lines: Map<number, Line>
  left_out: Record<Part, number>
}

export const PARTS = ['xml', 'conceptos', 'complement_trees'] as const
type Part = (typeof PARTS)[number]

const MIB = 1024 ** 2
/** What the elements of a part may take together: their characters, and what an element and an attribute take besides. */
const MOST: Record<Part, number> = { xml: MIB, conceptos: 4 * MIB, complement_trees: 4 * MIB }
const [PER_ELEMENT, PER_ATTRIBUTE] = [200, 50]

/** An open element. Its node is null when only its children are kept, and these are when it is left out. */
interface Level {
  part: Part
  namespace: string
  node: XmlElement | null
  children: XmlElement[] | null
}

interface TreeState extends Omit<XmlTree, 'xml'> {
  readonly levels: Level[]
  readonly left: Record<Part, number>
  line: number
}

const last = ({ levels }: TreeState): Level => levels.at(-1)!

/** Takes from what is left of a part. Once something does not fit, all that follows is left out. */
function takes({ left, left_out }: TreeState, part: Part, size: number): boolean {
  left[part] = size > left[part] ? -1 : left[part] - size
  if (left[part] < 0) left_out[part]++
  return left[part] >= 0
}

const isDeclaration = (name: string): boolean => name === 'xmlns' || name.startsWith('xmlns:')

function openNode(state: TreeState, a: Attributes, name: string, namespace: string): void {
  const around = last(state)
  const { part } = around
  const attributes = Object.entries(a).filter(([one]) => !isDeclaration(one))
  const size = attributes.reduce((sum, [one, value]) => sum + PER_ATTRIBUTE + one.length + value.length, PER_ELEMENT + name.length)
  const node: XmlElement | null = takes(state, part, size)
    ? {
        name,
        namespace: namespace === around.namespace ? null : namespace,
        attributes: Object.fromEntries(attributes),
        text: null,
        children: [],
      }
    : null
  if (node) around.children!.push(node)
  state.levels.push({ part, namespace, node, children: node?.children ?? null })
}

function close({ levels }: TreeState): void {
  const node = levels.pop()?.node
  if (node?.text) node.text = node.text.trim()
}

/** An element that is kept with everything in it. */
const kept: Element<TreeState> = {
  open: openNode,
  close,
  get other() {
    return kept
  },
}

/** An element whose children alone are kept. */
const around = (
  part: Part,
  of: (state: TreeState) => XmlElement[],
  inside: Omit<Element<TreeState>, 'open' | 'close'>,
): Element<TreeState> => ({
  open: (state, _, __, namespace) => state.levels.push({ part, namespace, node: null, children: of(state) }),
  close,
  ...inside,
})

type Line = { complement_trees: XmlElement[]; other_elements: XmlElement[] }

const lineOf = ({ lines, line }: TreeState): Line => lines.get(line)!

function beginLine(state: TreeState): Line {
  state.lines.set(++state.line, { complement_trees: [], other_elements: [] })
  return lineOf(state)
}

/** A line. Those of its elements that its members state whole are not kept. */
const conceptos = (...stated: string[]): Element<TreeState> => {
  const concepto: Element<TreeState> = {
    ...around('conceptos', (state) => beginLine(state).other_elements, {
      children: new Map([
        ...stated.map((name) => [name, {}] as const),
        ['ComplementoConcepto', around('conceptos', (state) => lineOf(state).complement_trees, { other: kept })],
      ]),
      other: kept,
    }),
    close: (state) => {
      close(state)
      const { complement_trees, other_elements } = lineOf(state)
      if (complement_trees.length + other_elements.length === 0) state.lines.delete(state.line)
    },
  }
  return around('conceptos', () => [], { children: new Map([['Concepto', concepto]]) })
}

const root = (inside: Record<string, Element<TreeState>>): Element<TreeState> => ({
  open: openNode,
  close,
  children: new Map([
    ['Complemento', around('complement_trees', ({ complement_trees }) => complement_trees, { other: kept })],
    ...Object.entries(inside),
  ]),
  other: kept,
})

// Of names, these know those alone that the grammars of `readCfdi` know too: an undeclared prefix of any other refuses no document.
const COMPROBANTE = root({ Conceptos: conceptos('Impuestos', 'CuentaPredial') })
const COMPROBANTE32 = root({ Conceptos: conceptos('CuentaPredial') })
const RETENCIONES = root({})

const GRAMMAR: Grammar<TreeState> = {
  namespaces: new Map(),
  root: (_, name, a) => ({
    state: {
      ...{ complement_trees: [], lines: new Map(), left_out: { xml: 0, conceptos: 0, complement_trees: 0 } },
      ...{ levels: [{ part: 'xml', namespace: '', node: null, children: [] }], left: { ...MOST }, line: -1 },
    },
    element: name === 'Retenciones' ? RETENCIONES : versionOf(a) === '3.2' ? COMPROBANTE32 : COMPROBANTE,
  }),
  text: (state, text) => {
    const { part, node } = last(state)
    if (node && /\S/.test(text) && takes(state, part, text.length)) node.text = `${node.text ?? ''}${text}`
  },
}

/** `readingTree` in one go. */
export const readTree = (bytes: Uint8Array): XmlTree => inOneGo(readingTree(bytes))

/** Hands over a line whole, and forgets it. */
const handedOver = (take: (line: XmlElement) => void): Element<TreeState> => ({
  open: (state, ...opened) => {
    state.left.conceptos = MOST.conceptos
    openNode(state, ...opened)
  },
  close: (state) => {
    const { node } = last(state)
    close(state)
    last(state).children!.length = 0
    if (node) take(node)
  },
  other: kept,
})

/** Reads the lines of a document one after the other, each with everything in it. Throws CfdiRejected. */
export function* readingLines(bytes: Uint8Array, take: (line: XmlElement) => void): Steps<void> {
  const lines = around('conceptos', () => [], { children: new Map([['Concepto', handedOver(take)]]) })
  yield* readBy(bytes, {
    ...GRAMMAR,
    root: (...opened) => ({ ...GRAMMAR.root(...opened), element: { open: openNode, close, children: new Map([['Conceptos', lines]]) } }),
  })
}

/** Reads a document as trees of its elements. It takes any document that `readCfdi` takes, in bounded memory. Throws CfdiRejected. */
export function* readingTree(bytes: Uint8Array): Steps<XmlTree> {
  const { levels, complement_trees, lines, left_out } = (yield* readBy(bytes, GRAMMAR)).state
  return { xml: levels[0]!.children![0] ?? null, complement_trees, lines, left_out }
}
