import { createHash, createVerify, X509Certificate } from 'node:crypto'
import { type SaxesAttributeNS, SaxesParser } from 'saxes'

/** Verifies signed requests as a web service does: with another XML parser, canonicalization and cryptography than the service's. */

interface SignedElement {
  prefix: string
  local: string
  uri: string
  attributes: SaxesAttributeNS[]
  children: (SignedElement | string)[]
}

export function parsed(xml: string): SignedElement {
  const root: SignedElement = { prefix: '', local: '', uri: '', attributes: [], children: [] }
  const open = [root]
  const parser = new SaxesParser({ xmlns: true })
  parser.on('opentag', ({ prefix, local, uri, attributes }) => {
    const element = { prefix, local, uri, attributes: Object.values(attributes), children: [] }
    open.at(-1)!.children.push(element)
    open.push(element)
  })
  parser.on('closetag', () => open.pop())
  parser.on('text', (text) => open.length > 1 && open.at(-1)!.children.push(text))
  parser.write(xml).close()
  return elementsOf(root)[0]!
}

const elementsOf = ({ children }: SignedElement): SignedElement[] => children.filter((child) => typeof child !== 'string')
const textOf = ({ children }: SignedElement): string => children.filter((child) => typeof child === 'string').join('')

/** All elements of a local name. */
export const named = (element: SignedElement, local: string): SignedElement[] => [
  ...(element.local === local ? [element] : []),
  ...elementsOf(element).flatMap((child) => named(child, local)),
]
const one = (element: SignedElement, local: string): SignedElement => {
  const [found, ...others] = named(element, local)
  if (!found || others.length > 0) throw new Error(`There is not exactly one ${local}.`)
  return found
}
export const attributeOf = ({ attributes }: SignedElement, local: string): string | undefined =>
  attributes.find((attribute) => attribute.local === local)?.value

const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', '\t': '&#x9;', '\n': '&#xA;', '\r': '&#xD;' } as Record<
  string,
  string
>
const escaped = (text: string, special: RegExp): string => text.replace(special, (character) => ENTITIES[character]!)

/** Exclusive XML Canonicalization without comments (https://www.w3.org/TR/xml-exc-c14n), of an element without one of its descendants. */
function canonical(element: SignedElement, without: SignedElement | null, rendered: ReadonlyMap<string, string> = new Map()): string {
  const own = element.attributes.filter(({ prefix, name }) => prefix !== 'xmlns' && name !== 'xmlns')
  const used = new Map([
    [element.prefix, element.uri],
    ...own.filter(({ prefix }) => prefix).map(({ prefix, uri }) => [prefix, uri] as const),
  ])
  const fresh = [...used].filter(([prefix, uri]) => (rendered.get(prefix) ?? '') !== uri).sort(([a], [b]) => (a < b ? -1 : 1))
  const declarations = fresh.map(([prefix, uri]) => ` xmlns${prefix && `:${prefix}`}="${uri}"`)
  const key = ({ uri, local }: SaxesAttributeNS) => `${uri} ${local}`
  const attributes = own.sort((a, b) => (key(a) < key(b) ? -1 : 1)).map(({ name, value }) => ` ${name}="${escaped(value, /[&<"\t\n\r]/g)}"`)
  const name = element.prefix ? `${element.prefix}:${element.local}` : element.local
  const inside = element.children
    .filter((child) => child !== without)
    .map((child) => (typeof child === 'string' ? escaped(child, /[&<>\r]/g) : canonical(child, without, new Map([...rendered, ...fresh]))))
  return `<${name}${declarations.join('')}${attributes.join('')}>${inside.join('')}</${name}>`
}

/** The certificate with which a request is signed. Throws an error unless digest and signature are right. */
export function verified(xml: string): X509Certificate {
  const envelope = parsed(xml)
  const signature = one(envelope, 'Signature')
  const signedInfo = one(signature, 'SignedInfo')
  const uri = attributeOf(one(signedInfo, 'Reference'), 'URI')
  const isLogin = uri !== ''
  const target = isLogin ? one(envelope, 'Timestamp') : elementsOf(one(envelope, 'Body'))[0]!
  if (isLogin && attributeOf(target, 'Id') !== uri?.slice(1)) throw new Error('The reference is to nothing.')
  const digest = createHash('sha1').update(canonical(target, signature)).digest('base64')
  if (digest !== textOf(one(signedInfo, 'DigestValue'))) throw new Error('The digest is wrong.')
  const certificate = new X509Certificate(Buffer.from(textOf(one(envelope, isLogin ? 'BinarySecurityToken' : 'X509Certificate')), 'base64'))
  const verify = createVerify('RSA-SHA1').update(canonical(signedInfo, null))
  if (!verify.verify(certificate.publicKey, textOf(one(signature, 'SignatureValue')), 'base64')) throw new Error('The signature is wrong.')
  return certificate
}
