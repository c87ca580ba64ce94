import { appliedOf, parseApplied } from '../applied/applied.ts'
import { balanceOf } from '../balances.ts'
import { fits, type Micros } from '../money.ts'
import { inMxn, rateOf } from '../totals.ts'

/** The `odd` of an open invoice, parsed. */
type Odd = [
  uuid: string,
  day: string,
  currency: string | null,
  tipo_cambio: string | null,
  total: string | number,
  paid: string | number,
  credited: string | number,
  emisor_rfc: string,
  receptor_rfc: string,
  applied: string | null,
]

/** The currency and the day of an invoice whose exchange rate is that of the table, because it states none; null for another. */
export function rateWanted(odd: string): { currency: string; day: string } | null {
  const [, day, currency, tipo_cambio] = JSON.parse(odd) as Odd
  return currency !== null && rateOf(currency, tipo_cambio) === null ? { currency, day } : null
}

/** Less than half a cent is nothing. */
const LEAST = 5_000n

/**
 * Computes the balance of an open invoice in micros of its currency, and in MXN at its own exchange rate or that of the table: null without
 * either. Returns null when it is not open after all, or too large.
 */
export function measureOpen(odd: string, tableRate: string | null): { balance: Micros; pesos: Micros | null } | null {
  const [, , currency, tipo_cambio, total, paid, credited, emisor_rfc, receptor_rfc, applied] = JSON.parse(odd) as Odd
  const invoice = { emisor_rfc, receptor_rfc, version: '4.0', tipo_comprobante: 'I', metodo_pago: 'PPD', currency, tipo_cambio }
  const settled =
    applied === null
      ? { paid: BigInt(paid), credited: BigInt(credited) }
      : balanceOf({ ...invoice, total_micros: BigInt(total) }, parseApplied(applied).map(appliedOf))
  const balance = BigInt(total) - settled.paid - settled.credited
  if (balance < LEAST) return null
  const rate = rateOf(currency, tipo_cambio) ?? tableRate
  const whole = inMxn(BigInt(total), rate)
  if (whole !== null && !fits(whole)) return null
  return { balance, pesos: inMxn(balance, rate) }
}
