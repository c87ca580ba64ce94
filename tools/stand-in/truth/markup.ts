import { createHash } from 'node:crypto'

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** An element with attributes, of which null ones are left out, and with its content. */
export function tag(name: string, attributes: Record<string, string | null>, ...content: string[]): string {
  const all = Object.entries(attributes).map(([one, value]) =>
    value === null ? '' : ` ${one}="${value.replace(/[&<>"]/g, (special) => ESCAPES[special]!)}"`,
  )
  const inside = content.join('')
  return `<${name}${all.join('')}${inside === '' ? '/>' : `>${inside}</${name}>`}`
}

/** Cents as a decimal. */
export const money = (cents: number): string => (cents / 100).toFixed(2)

/** A number from 0 to 2^32 − 1 that a text always gives. */
export const numberOf = (text: string): number => createHash('sha1').update(text).digest().readUInt32BE()

/** A UUID that a text always gives, in upper case. */
export const uuidOf = (text: string): string => {
  const hex = createHash('sha256').update(text).digest('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`, hex.slice(20, 32)].join('-').toUpperCase()
}

/** Base64 that means nothing, of a text. */
export const sealOf = (text: string, blocks = 4): string =>
  Buffer.concat(Array.from({ length: blocks }, (_, n) => createHash('sha512').update(`${n} ${text}`).digest())).toString('base64')
