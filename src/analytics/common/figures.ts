import { fixed, ratioOf } from '../../platform/decimal.ts'
import type { Micros } from '../../platform/money.ts'

/** A quotient as decimal text with so many places, rounded half up. Null when it is not defined. */
export const quotientText = (dividend: bigint, divisor: bigint, places: number): string | null =>
  divisor === 0n ? null : fixed(ratioOf(dividend * 10n ** BigInt(places), divisor.toString()), places)

/** A part of a whole in percent, with two places. Null of nothing, and of a whole that credit notes made negative: nothing is a part of it. */
export const percentOf = (part: bigint, whole: bigint): string | null => (whole <= 0n ? null : quotientText(part * 100n, whole, 2))

/** An amount as decimal text with six places. */
export const exact = (amount: Micros): string => fixed(amount, 6)

export const sumAll = (amounts: Iterable<Micros>): Micros => {
  let sum = 0n
  for (const one of amounts) sum += one
  return sum
}
