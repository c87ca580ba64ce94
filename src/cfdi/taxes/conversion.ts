import { dividedBy, type Micros, times } from '../../platform/money.ts'

/**
 * Converts an amount by the `conversion` of a payment (tables.ts), rounded to millionths at each step. `rateOf` gives the rate of a currency
 * that takes the place of TipoCambioP. Null when there is none.
 */
export function converted(amount: Micros, conversion: string, rateOf: (currency: string) => string | null = () => null): Micros | null {
  const [equivalence = '1', stated = ''] = conversion.split(' ')
  const rate = Number(stated) > 0 ? stated : rateOf(stated)
  return rate === null ? null : times(dividedBy(amount, equivalence), rate)
}
