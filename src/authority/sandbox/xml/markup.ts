const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

type Attributes = Record<string, string | number | null | undefined>

/** An element; attributes that are null or undefined are left out. */
export function element(name: string, attributes: Attributes, ...children: string[]): string {
  let text = `<${name}`
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) text += ` ${key}="${String(value).replace(/[&<>"]/g, (c) => ESCAPES[c]!)}"`
  }
  const inner = children.join('')
  return inner === '' ? `${text}/>` : `${text}>${inner}</${name}>`
}

/** An element that only exists when it has children. */
export const group = (name: string, attributes: Attributes, ...children: string[]): string =>
  children.some((child) => child !== '') ? element(name, attributes, ...children) : ''

/** 1234567 cents as `12345.67`. */
export function money(cents: number): string {
  const digits = String(cents).padStart(3, '0')
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`
}

/** Whole units of 10^-places as a decimal. */
export function decimal(units: number | bigint, places: number): string {
  const digits = String(units).padStart(places + 1, '0')
  return `${digits.slice(0, -places)}.${digits.slice(-places)}`
}

/** 160000 millionths as `0.160000`. */
export const rate = (millionths: number): string => decimal(millionths, 6)
