import { XmlReader } from '../../platform/xml-reader.ts'
import { Unanswered } from './unanswered.ts'

/** An element of an answer. Names are without prefixes: the answers use few names, and their prefixes and namespaces vary. */
export interface XmlNode {
  readonly name: string
  readonly attributes: ReadonlyMap<string, string>
  readonly children: readonly XmlNode[]
  /** Its own text, without white space around it. */
  readonly text: string
}

interface OpenXmlNode extends XmlNode {
  text: string
  readonly children: OpenXmlNode[]
}

const MAX_ELEMENTS = 10_000
const MAX_DEPTH = 32

const localName = (name: string): string => name.slice(name.indexOf(':') + 1)

/**
 * Reads the envelope of an answer. Throws Unanswered: `fault` when the body has one, `html` for a page, `truncated` for an envelope that ends
 * too early and for nothing at all, and otherwise `malformed`.
 */
export function envelopeOf(text: string): XmlNode {
  const root = rootOf(text)
  if (root?.name !== 'Envelope') throw notSoap(text)
  const fault = find(root, 'Body', 'Fault')
  if (!fault) return root
  const code = localName(find(fault, 'faultcode')?.text ?? '')
  throw new Unanswered('fault', `The tax authority answered with a fault: ${code}. ${find(fault, 'faultstring')?.text ?? ''}`.trim(), code)
}

/** The element under another one at a path of names. */
export const find = (node: XmlNode, ...path: readonly string[]): XmlNode | undefined =>
  path.reduce<XmlNode | undefined>((at, name) => at?.children.find((child) => child.name === name), node)

function rootOf(text: string): XmlNode | null {
  const document: OpenXmlNode = { name: '', attributes: new Map(), children: [], text: '' }
  const open: OpenXmlNode[] = [document]
  let elements = 0
  try {
    new XmlReader(text).read({
      attribute: () => {},
      open: (name, attributes) => {
        if (++elements > MAX_ELEMENTS || open.length > MAX_DEPTH) throw new Error('The answer is too complex.')
        const named = Object.entries(attributes).map(([one, value]) => [localName(one), value] as const)
        const node: OpenXmlNode = { name: localName(name), attributes: new Map(named), children: [], text: '' }
        open.at(-1)!.children.push(node)
        open.push(node)
      },
      close: () => {
        const node = open.pop()!
        node.text = node.text.trim()
      },
      text: (part) => {
        open.at(-1)!.text += part
      },
    })
  } catch {
    return null
  }
  return document.children[0]!
}

function notSoap(text: string): Unanswered {
  const beginning = text.slice(0, 1000).toLowerCase()
  if (beginning.includes('<!doctype html') || beginning.includes('<html'))
    return new Unanswered('html', 'The tax authority answered with a page instead of SOAP.')
  const isCut = beginning.trim() === '' || (beginning.includes('envelope') && !/Envelope\s*>\s*$/.test(text.slice(-100)))
  return isCut
    ? new Unanswered('truncated', 'The answer of the tax authority ends too early.')
    : new Unanswered('malformed', 'The answer of the tax authority is not SOAP.')
}
