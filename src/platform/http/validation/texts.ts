import * as z from 'zod'
import { type Fault, MOST_FAULTS } from '../../failures.ts'

/** A value in a request, and where it lies. */
interface Node {
  value: unknown
  key: PropertyKey
  above: Node | null
}

interface TextFault {
  path: PropertyKey[]
  message: string
}

/** The fault that any text in a request may have, whatever it means; null without one. No database keeps such a text as it is. */
export function textFault(text: string): string | null {
  if (!text.isWellFormed()) return 'Must be well-formed Unicode, without half of a surrogate pair.'
  return text.includes('\0') ? 'Must not contain the character U+0000.' : null
}

const pathTo = (node: Node): PropertyKey[] => {
  const path: PropertyKey[] = []
  for (let at: Node | null = node; at?.above; at = at.above) path.push(at.key)
  return path.reverse()
}

/** Items that a schema takes unread: whoever reads them judges each separately. */
const isUnread = (schema: z.ZodType, name: string): boolean => {
  const member = schema instanceof z.ZodObject ? schema.shape[name] : undefined
  return member instanceof z.ZodArray && member.element instanceof z.ZodUnknown
}

/**
 * The first texts and names in a request that are broken, and how many there are. A body can be nested deeper than functions can call
 * themselves, and its paths can be as long.
 */
export function textFaultsOf(schema: z.ZodType, sent: unknown): { faults: TextFault[]; count: number } {
  const faults: TextFault[] = []
  let count = 0
  const found = (node: Node, message: string) => {
    if (count++ < MOST_FAULTS) faults.push({ path: pathTo(node), message })
  }
  const nodes: Node[] = [{ value: sent, key: '', above: null }]
  for (let node = nodes.pop(); node; node = nodes.pop()) {
    const { value, above } = node
    const message = typeof value === 'string' ? textFault(value) : null
    if (message) found(node, message)
    if (typeof value !== 'object' || value === null) continue
    const inner: Node[] = []
    for (const [name, one] of Object.entries(value)) {
      const isBroken = !Array.isArray(value) && textFault(name) !== null
      if (isBroken) found(node, `A name ${textFault(name)!.replace('Must', 'must')}`)
      else if (above !== null || !isUnread(schema, name))
        inner.push({ value: one, key: Array.isArray(value) ? Number(name) : name, above: node })
    }
    for (const one of inner.reverse()) nodes.push(one)
  }
  return { faults, count }
}

/** The parameters of a query whose percent-encoded bytes are not UTF-8. */
export function encodingFaultsOf(url: string): Fault[] {
  const [, query = ''] = /\?([^#]*)/.exec(url) ?? []
  const broken = query.split('&').filter((one) => one.includes('%') && !isDecodable(one))
  return broken.map((one) => {
    const name = one.split('=')[0]!
    return { path: isDecodable(name) ? decodeURIComponent(escaped(name)) : name, message: 'Must be percent-encoded UTF-8.' }
  })
}

/** A percent sign that begins no byte stands for itself. */
const escaped = (text: string): string => text.replace(/%(?![\da-f]{2})/gi, '%25')

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(escaped(text))
    return true
  } catch {
    return false
  }
}
