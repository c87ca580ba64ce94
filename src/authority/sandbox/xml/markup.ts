const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

type Attributes = Record<string, string | number | null | undefined>

/** Returns an element. Attributes that are null or undefined are omitted. */
export function element(name: string, attributes: Attributes, ...children: string[]): string {
  let text = `<${name}`
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) text += ` ${key}="${String(value).replace(/[&<>"]/g, (c) => ESCAPES[c]!)}"`
  }
  const inner = children.join('')
  return inner === '' ? `${text}/>` : `${text}>${inner}</${name}>`
}

/** Returns an element, or an empty string when all children are empty. */
export const group = (name: string, attributes: Attributes, ...children: string[]): string =>
  children.some((child) => child !== '') ? element(name, attributes, ...children) : ''

/** Formats cents: 1234567 gives `12345.67`. */
export const money = (cents: number): string => decimal(cents, 2)

/** Formats units of 10^-places as a decimal. */
export function decimal(units: number | bigint, places: number): string {
  const digits = String(units).padStart(places + 1, '0')
  return `${digits.slice(0, -places)}.${digits.slice(-places)}`
}

/** Formats millionths: 160000 gives `0.160000`. */
export const rate = (millionths: number): string => decimal(millionths, 6)
