import type { Micros } from '../../platform/money.ts'
import type { RateOfDay } from '../cash/exact-amounts.ts'
import { converted } from '../taxes/breakdown.ts'
import { inMxn, rateOf } from '../totals.ts'

/** The `exactRow` of a paid part, parsed. */
type ExactRow = [
  amount: string | number,
  conversion: string | null,
  day: string,
  currency: string | null,
  tipo_cambio: string | null,
  invoiced: string,
]

/** Computes what a part pays in micros of MXN at the rates of the invoice and of the payment. Null where a rate is not known. */
export function exactPaidPart(exactRow: string, rateOfDay: RateOfDay): { booked: Micros | null; paid: Micros | null } {
  const [amount, conversion, day, currency, tipo_cambio, invoiced] = JSON.parse(exactRow) as ExactRow
  const own = rateOf(currency, tipo_cambio)
  const isPesos = rateOf(currency, null) !== null
  return {
    booked: inMxn(BigInt(amount), own ?? rateOfDay(currency!, invoiced)),
    paid: isPesos ? BigInt(amount) : conversion === null ? null : converted(BigInt(amount), conversion, (code) => rateOfDay(code, day)),
  }
}

/** The rates that `exactPaidPart` looks up. */
export function ratesOfPaidPart(exactRow: string): { currency: string; day: string }[] {
  const wanted: { currency: string; day: string }[] = []
  exactPaidPart(exactRow, (currency, day) => {
    wanted.push({ currency, day })
    return '1'
  })
  return wanted
}
