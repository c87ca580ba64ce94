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
export function quotient(dividend: bigint, divisor: bigint): bigint {
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

/** An amount that is added up: an integer number of millionths. A bigint here, decimal text on its way to and from SQL. */
export type Micros = bigint

const MICROS = 1_000_000
const PLAIN = /^(\d{1,9})(?:\.(\d{0,6}))?$/

/** Converts decimal text to micros, rounded half up at the sixth decimal. Null stays null. */
export function micros(text: string | null): Micros | null {
  if (text === null) return null
  const plain = PLAIN.exec(text)
  if (plain) return BigInt(Number(plain[1]) * MICROS + Number((plain[2] ?? '').padEnd(6, '0')))
  return shifted(text, 6)
}

/** The schemas allow 18 digits before the point. */
const LIMIT = 10n ** 24n

/** Whether an amount has at most 18 digits before the point. A figure in MXN that has more is left out of every sum. */
export const fits = (amount: Micros): boolean => amount < LIMIT && amount > -LIMIT

/** Multiplies micros by a decimal rate, rounded half up. */
export const times = (amount: Micros, rate: string): Micros => product(amount, rate)

/** Divides micros by a decimal rate, rounded half up. */
export const dividedBy = (amount: Micros, rate: string): Micros => ratioOf(amount, rate)

const PESOS = ['MXN', 'XXX']

/** Whether an amount needs no exchange rate. A document without a currency is in pesos; XXX is that of documents without amounts. */
export const isPesos = (currency: string | null): boolean => currency === null || PESOS.includes(currency)

/** The same as a condition of SQL, on the first of these columns that is not null. */
export const inPesos = (...columns: string[]): string =>
  `coalesce(${columns.join(', ')}, 'MXN') in (${PESOS.map((one) => `'${one}'`).join(', ')})`

const CENT = 10_000
const MAX_EXACT = Number.MAX_SAFE_INTEGER - CENT

/** Converts micros to decimal text, rounded half up to two places. */
export const decimal = (amount: Micros | string): string => {
  const value = Number(amount)
  const size = Math.abs(value)
  const cents = size <= MAX_EXACT ? String(centsOf(size)) : bigCents(BigInt(amount))
  const digits = cents.padStart(3, '0')
  return `${value < 0 && cents !== '0' ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`
}

const centsOf = (size: number): number => {
  const raised = size + CENT / 2
  return (raised - (raised % CENT)) / CENT
}

const bigCents = (value: Micros): string => (((value < 0n ? -value : value) + BigInt(CENT / 2)) / BigInt(CENT)).toString()

export const sumAll = (amounts: Iterable<Micros>): Micros => {
  let sum = 0n
  for (const one of amounts) sum += one
  return sum
}
