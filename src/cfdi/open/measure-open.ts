import { fits, type Micros } from '../../platform/money.ts'
import { inMxn, rateOf } from '../totals.ts'
import { LEAST_OPEN, sumOfApplications } from './applications.ts'

/** The `odd` of an open invoice, parsed. */
type Odd = [
  uuid: string,
  day: string,
  currency: string | null,
  tipo_cambio: string | null,
  total: string | number,
  paid: string | number,
  credited: string | number,
  /** What settles it, where that is not what is stored. */
  applied: string | null,
]

/** The currency and the day of an invoice whose exchange rate is that of the table, because it states none; null for another. */
export function rateWanted(odd: string): { currency: string; day: string } | null {
  const [, day, currency, tipo_cambio] = JSON.parse(odd) as Odd
  return currency !== null && rateOf(currency, tipo_cambio) === null ? { currency, day } : null
}

/**
 * Computes the balance of an open invoice in micros of its currency, and in MXN at its own exchange rate or that of the table: null without
 * either. Returns null when it is not open after all, or too large.
 */
export function measureOpen(odd: string, tableRate: string | null): { balance: Micros; pesos: Micros | null } | null {
  const [, , currency, tipo_cambio, total, paid, credited, applied] = JSON.parse(odd) as Odd
  const settled = applied === null ? BigInt(paid) + BigInt(credited) : sumOfApplications(applied, { currency, tipo_cambio })
  const balance = BigInt(total) - settled
  if (balance < LEAST_OPEN) return null
  const rate = rateOf(currency, tipo_cambio) ?? tableRate
  const whole = inMxn(BigInt(total), rate)
  if (whole !== null && !fits(whole)) return null
  return { balance, pesos: inMxn(balance, rate) }
}
