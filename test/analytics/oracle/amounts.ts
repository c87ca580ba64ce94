/** Exact decimals as integers of millionths, rounded half up (away from zero) wherever something is rounded. */

export type Micros = bigint
export const ONE = 1_000_000n

const abs = (value: bigint): bigint => (value < 0n ? -value : value)

/** An integer quotient, rounded half up in its size. */
export function quotient(dividend: bigint, divisor: bigint): bigint {
  const size = (2n * abs(dividend) + abs(divisor)) / (2n * abs(divisor))
  return dividend < 0n !== divisor < 0n ? -size : size
}

/** Digits and power of ten of decimal text. */
function parsed(text: string): [digits: bigint, scale: bigint] {
  const [whole = '', fraction = ''] = text.trim().replace('+', '').split('.')
  const digits = BigInt(`${whole.replace('-', '')}${fraction}` || '0')
  return [whole.startsWith('-') ? -digits : digits, 10n ** BigInt(fraction.length)]
}

/** Decimal text in millionths; null is zero. */
export function micros(text: string | null | undefined): Micros {
  if (text === null || text === undefined) return 0n
  const [digits, scale] = parsed(text)
  return quotient(digits * ONE, scale)
}

/** An amount times a decimal. */
export function times(amount: Micros, rate: string): Micros {
  const [digits, scale] = parsed(rate)
  return quotient(amount * digits, scale)
}

/** An amount divided by a decimal. */
export function over(amount: Micros, rate: string): Micros {
  const [digits, scale] = parsed(rate)
  return quotient(amount * scale, digits)
}

export const isZero = (text: string): boolean => parsed(text)[0] === 0n

/** The part of an amount that a numerator is of a denominator; nothing of nothing. */
export const part = (amount: Micros, numerator: Micros, denominator: Micros): Micros =>
  denominator === 0n ? 0n : quotient(amount * numerator, denominator)

export const sum = (amounts: Iterable<Micros>): Micros => [...amounts].reduce((all, one) => all + one, 0n)

function fixed(units: bigint, places: number): string {
  const digits = abs(units)
    .toString()
    .padStart(places + 1, '0')
  return `${units < 0n ? '-' : ''}${digits.slice(0, -places)}.${digits.slice(-places)}`
}

/** Two places, as answers have amounts. */
export const money = (amount: Micros): string => fixed(quotient(amount, 10_000n), 2)

/** Six places, as entries have amounts, and rates. */
export const exact = (amount: Micros): string => fixed(amount, 6)

/** A percentage with two places; null of a whole of nothing or less. */
export const percent = (numerator: bigint, denominator: bigint): string | null =>
  denominator <= 0n ? null : fixed(quotient(numerator * 10_000n, denominator), 2)

/** A ratio with so many places. */
export const ratio = (numerator: bigint, denominator: bigint, places: number): string =>
  fixed(quotient(numerator * 10n ** BigInt(places), denominator), places)
