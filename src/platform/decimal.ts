/** Exact arithmetic on decimal text: an optional sign, digits, and digits after a point. */

interface Decimal {
  digits: bigint
  /** How many of the digits are behind the point. */
  scale: number
}

const DECIMAL = /^([+-]?)(\d*)\.?(\d*)$/

const parsed = (text: string): Decimal => {
  const [, sign, whole = '', fraction = ''] = DECIMAL.exec(text) ?? []
  if (whole + fraction === '') throw new TypeError('The text is not a decimal.')
  return { digits: BigInt(whole + fraction) * (sign === '-' ? -1n : 1n), scale: fraction.length }
}

const power = (exponent: number): bigint => 10n ** BigInt(exponent)

/** A quotient as an integer, rounded half up in its size. */
function quotient(dividend: bigint, divisor: bigint): bigint {
  const [over, under] = divisor < 0n ? [-dividend, -divisor] : [dividend, divisor]
  const size = over < 0n ? -over : over
  const rounded = (2n * size + under) / (2n * under)
  return over < 0n ? -rounded : rounded
}

/** The decimal times 10 to a power, as an integer, rounded half up in its size. */
export function shifted(text: string, places: number): bigint {
  const { digits, scale } = parsed(text)
  return places >= scale ? digits * power(places - scale) : quotient(digits, power(scale - places))
}

/** An integer times a decimal, rounded half up in its size. */
export function product(integer: bigint, text: string): bigint {
  const { digits, scale } = parsed(text)
  return quotient(integer * digits, power(scale))
}

/** An integer divided by a decimal, rounded half up in its size. Throws RangeError when the decimal is zero. */
export function ratioOf(integer: bigint, text: string): bigint {
  const { digits, scale } = parsed(text)
  return quotient(integer * power(scale), digits)
}

/** Formats an integer of units of 10 to the power of −`places`. */
export function fixed(integer: bigint, places: number): string {
  const digits = (integer < 0n ? -integer : integer).toString().padStart(places + 1, '0')
  const whole = digits.slice(0, digits.length - places)
  return `${integer < 0n ? '-' : ''}${whole}${places === 0 ? '' : `.${digits.slice(-places)}`}`
}

const places = (text: string): number => (text.includes('.') ? text.length - text.indexOf('.') - 1 : 0)

/** The sum of two decimals with as many decimal places as the one that has more. */
export function sumOf(a: string, b: string): string {
  const scale = Math.max(places(a), places(b))
  return fixed(shifted(a, scale) + shifted(b, scale), scale)
}
