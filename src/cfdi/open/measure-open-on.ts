import type { Micros } from '../../platform/money.ts'
import type { Measurable } from '../cash/measure.ts'
import { LEAST_OPEN, sumOfApplications } from './applications.ts'

/** The `invoice` of a row of `openThrough`, parsed. */
type Invoice = [
  day: string,
  applied: string,
  currency: string | null,
  tipo_cambio: string | null,
  total: string | number,
  ...rest: (string | number | null)[],
]

/** What was left to pay of an invoice at the end of a day, in micros of its currency; zero before it was issued. */
export function measureOpenOn(invoice: string, day: string): Micros {
  const [issued, applied, currency, tipo_cambio, total] = JSON.parse(invoice) as Invoice
  if (issued > day) return 0n
  const left = BigInt(total) - sumOfApplications(applied, { currency, tipo_cambio }, day)
  return left >= LEAST_OPEN ? left : 0n
}

/** A part of an invoice at its own exchange rate, or that of its day, for `measure`. */
export function partOf(invoice: string, amount: Micros): Measurable {
  const [day, , currency, rate, ...more] = JSON.parse(invoice) as Invoice
  const conversion = `1 ${Number(rate) > 0 ? rate : currency}`
  return { tipo: 'P', day, source: JSON.stringify([amount.toString(), currency, conversion, null, currency, rate, ...more]) }
}
