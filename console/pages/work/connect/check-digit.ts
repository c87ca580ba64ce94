const VALUES = '0123456789ABCDEFGHIJKLMN&OPQRSTUVWXYZ Ñ'
const SHAPE = /^[A-ZÑ&]{3,4}\d{6}[A-Z\d]{2}[A\d]$/

/** Whether an RFC ends with another check digit than its other characters give. Some real ones do, most are mistyped. */
export function isOddRfc(rfc: string): boolean {
  if (!SHAPE.test(rfc)) return false
  const sum = [...rfc.padStart(13, ' ')].slice(0, 12).reduce((all, one, at) => all + VALUES.indexOf(one) * (13 - at), 0)
  const digit = 11 - (sum % 11)
  return rfc.at(-1) !== (digit === 11 ? '0' : digit === 10 ? 'A' : String(digit))
}
