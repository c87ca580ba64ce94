import { createRequire } from 'node:module'

// The types of this library are those of a browser's DOM, which contradict a Worker's: hence no import.
interface Dom {
  nodeType: number
  localName: string
  nodeValue: string | null
  childNodes: ArrayLike<Dom>
  attributes?: ArrayLike<{ name: string; value: string }>
}
const { DOMParser } = createRequire(import.meta.url)('@xmldom/xmldom') as {
  DOMParser: new (options: object) => { parseFromString(text: string, type: string): { documentElement: Dom | null } }
}

const [ELEMENT, TEXT, CDATA] = [1, 3, 4]

const fail = (message: unknown) => {
  throw new Error(String(message))
}

/** A value as any member may state it: without white space at its ends, one space for several, and in one case. */
const plain = (text: string): string => text.trim().replace(/\s+/g, ' ').toUpperCase()

/** Every attribute and text of a document but those of its Addenda and the declarations of namespaces, as another parser reads them. */
export function attributesOf(xml: string): [path: string, value: string][] {
  const found: [string, string][] = []
  const walk = (element: Dom, path: string, isRoot: boolean): void => {
    for (const { name, value } of Array.from(element.attributes ?? []))
      if (name !== 'xmlns' && !name.startsWith('xmlns:') && value.trim() !== '') found.push([`${path}@${name}`, plain(value)])
    const nodes = Array.from(element.childNodes)
    const text = nodes.filter(({ nodeType }) => nodeType === TEXT || nodeType === CDATA).map(({ nodeValue }) => nodeValue ?? '')
    if (text.some((one) => one.trim() !== '')) found.push([path, plain(text.join(''))])
    for (const child of nodes)
      if (child.nodeType === ELEMENT && !(isRoot && child.localName === 'Addenda')) walk(child, `${path}/${child.localName}`, false)
  }
  const { documentElement } = new DOMParser({
    onError: (level: string, message: string) => level !== 'warning' && fail(message),
  }).parseFromString(xml, 'text/xml')
  walk(documentElement!, documentElement!.localName, true)
  return found
}

const stringsIn = (value: unknown): string[] =>
  typeof value === 'string' ? [value] : value && typeof value === 'object' ? Object.values(value).flatMap(stringsIn) : []

/** What a document states and an answer does not. */
export function lacking(xml: string, answer: unknown): [path: string, value: string][] {
  const stated = new Set(stringsIn(answer).map(plain))
  return attributesOf(xml).filter(([, value]) => !stated.has(value))
}
