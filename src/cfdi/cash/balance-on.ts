import { creditOf } from '../balances.ts'
import type { Micros } from '../money.ts'
import type { Measurable } from './measure.ts'

/** A row of `openInvoices`. */
export interface OpenRow {
  uuid: string
  issued_at: number
  day: string
  applied: string
  source: string
}

type Source = [currency: string | null, tipo_cambio: string | null, total: string | number]
type AppliedPart = [day: string, amount: string | number, kind: 'P' | 'E', currency: string | null, tipo_cambio: string | null]

/** Less than half a cent is nothing. */
const LEAST = 5_000n

/** What is left to pay of an invoice at the end of a day, in micros of its currency; zero before it was issued. */
export function balanceOn({ day, applied, source }: OpenRow, on: string): Micros {
  if (day > on) return 0n
  const [currency, tipo_cambio, total] = JSON.parse(source) as Source
  let left = BigInt(total)
  for (const [paidOn, amount, kind, ...money] of JSON.parse(applied) as AppliedPart[]) {
    if (paidOn > on) continue
    const credit = { amount: BigInt(amount), currency: money[0], tipo_cambio: money[1] }
    left -= kind === 'P' ? credit.amount : (creditOf({ version: '4.0', currency, tipo_cambio }, credit) ?? 0n)
  }
  return left >= LEAST ? left : 0n
}

/** A part of an invoice at its own exchange rate, or that of its day, for `measure`. */
export function partOf({ day, source }: OpenRow, amount: Micros): Measurable {
  const invoice = JSON.parse(source) as Source
  const [currency, rate] = invoice
  const conversion = `1 ${Number(rate) > 0 ? rate : currency}`
  return { tipo: 'P', day, source: JSON.stringify([amount.toString(), currency, conversion, null, ...invoice]) }
}
