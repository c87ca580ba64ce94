import Big from 'big.js'

/** Money that is added is an integer number of millionths (micros), a bigint here and a decimal text on its way to and from SQL. */
export type Micros = bigint

const MICROS = 1_000_000
const PLAIN = /^(\d{1,9})(?:\.(\d{0,6}))?$/

/** Decimal text in micros, rounded half up at the sixth decimal; null for no text. */
export function micros(text: string | null): Micros | null {
  if (text === null) return null
  const plain = PLAIN.exec(text)
  if (plain) return BigInt(Number(plain[1]) * MICROS + Number((plain[2] ?? '').padEnd(6, '0')))
  return BigInt(new Big(text).times(MICROS).round(0, Big.roundHalfUp).toFixed(0))
}

/** Micros times a decimal rate, rounded half up. */
export const times = (amount: Micros, rate: string): Micros =>
  BigInt(new Big(amount.toString()).times(rate).round(0, Big.roundHalfUp).toFixed(0))

/** Micros divided by a decimal rate, rounded half up. */
export const dividedBy = (amount: Micros, rate: string): Micros =>
  BigInt(new Big(amount.toString()).div(rate).round(0, Big.roundHalfUp).toFixed(0))

/** Decimal text of micros, rounded half up to two places (or as many as said). */
export const decimal = (amount: Micros | string, places = 2): string => {
  const value = BigInt(amount)
  const unit = 10n ** BigInt(6 - places)
  const rounded = ((value < 0n ? -value : value) + unit / 2n) / unit
  const digits = rounded.toString().padStart(places + 1, '0')
  return `${value < 0n && rounded > 0n ? '-' : ''}${digits.slice(0, -places)}.${digits.slice(-places)}`
}
