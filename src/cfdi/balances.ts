import { dividedBy, type Micros, times } from '../platform/money.ts'
import { rateOf } from './totals.ts'

/** What the balance of a document depends on, besides the applications. */
export interface Payable {
  emisor_rfc: string
  receptor_rfc: string
  /** Null while only metadata is known, which does not state the currency. */
  version: string | null
  tipo_comprobante: string | null
  metodo_pago: string | null
  total_micros: Micros | null
  currency: string | null
  tipo_cambio: string | null
}

/** A payment (P) or a credit note (E), as far as it is applied to one invoice. */
export interface Applied {
  kind: 'P' | 'E'
  /** Micros in `currency`. */
  amount: Micros
  /** MonedaDR of a P, which states the invoice's currency; the currency of an E. */
  currency: string | null
  tipo_cambio: string | null
  /** Literal local time. */
  fecha_pago: string
  /** The parties of the payment or credit note. */
  emisor_rfc: string
  receptor_rfc: string
  /** When the payment or credit note was issued, in seconds since 1970. */
  issued_at: number
  /** Whether the payment or credit note is cancelled. */
  cancelled: boolean
  /** From which ceiling on, in seconds, the payment or credit note is known to be substituted; null when it is not. */
  substituted_from: number | null
}

/** Why an application does not count. When there are several reasons, the first one is given. */
export const NOT_COUNTED_REASONS = ['cancelled', 'other_parties', 'currency_mismatch', 'missing_rate', 'substituted'] as const
export type NotCountedReason = (typeof NOT_COUNTED_REASONS)[number]

export interface Balance {
  /** Micros in the invoice's currency. */
  paid: Micros
  credited: Micros
  payment_status: 'paid' | 'partially_paid' | 'unpaid' | null
  /** Literal local times, from the payment complements. */
  last_payment_at: string | null
  fully_paid_at: string | null
  /** From which ceiling on, in seconds, everything is known that the balance depends on; null when it depends on nothing. */
  applied_until: number | null
}

/** Whether applications change the balance of a document: only invoices that are paid in parts or later (PPD) have such a balance. */
export const isDeferred = ({ tipo_comprobante, metodo_pago }: Pick<Payable, 'tipo_comprobante' | 'metodo_pago'>): boolean =>
  tipo_comprobante === 'I' && metodo_pago === 'PPD'

/**
 * Returns why an application does not count for an invoice; null when it counts. Only what the invoice's issuer issued settles it. A credit
 * note must have its receiver too; a payment may have another one, because a third party can pay. A payment must state the invoice's
 * currency, and a credit note in another currency must be convertible. Source: decisions.md 7.
 */
export function notCountedReason(invoice: Payable, applied: Applied): NotCountedReason | null {
  const { kind, emisor_rfc, currency, cancelled, substituted_from } = applied
  if (cancelled) return 'cancelled'
  if (emisor_rfc !== invoice.emisor_rfc || (kind === 'E' && hasOtherReceiver(invoice, applied))) return 'other_parties'
  const expected = invoice.currency ?? (invoice.version === null ? currency : 'MXN')
  if (kind === 'P' && (currency ?? expected) !== expected) return 'currency_mismatch'
  if (kind === 'E' && creditOf(invoice, applied) === null) return 'missing_rate'
  return substituted_from === null ? null : 'substituted'
}

/** Whether a payment or credit note has another receiver than the invoice. */
export const hasOtherReceiver = (invoice: Pick<Payable, 'receptor_rfc'>, applied: Pick<Applied, 'receptor_rfc'>): boolean =>
  applied.receptor_rfc !== invoice.receptor_rfc

/** Half a cent. A balance that rounds to 0.00 is paid. */
const HALF_CENT = 5_000n

/** Whether nothing is left to pay of a total when this much of it is paid or credited. */
export const isFullyPaid = (total: Micros, sum: Micros): boolean => total - sum < HALF_CENT

/**
 * Computes the balance of a document from everything that is applied to it and counts. An invoice that is paid at once (PUE) counts as
 * paid; documents that are not invoices have no payment status. Source: decisions.md 7, insights.md 8.0.
 */
export function balanceOf(invoice: Payable, applications: readonly Applied[]): Balance {
  const total = invoice.total_micros ?? 0n
  const none: Balance = { paid: 0n, credited: 0n, payment_status: null, last_payment_at: null, fully_paid_at: null, applied_until: null }
  if (!isDeferred(invoice)) {
    return invoice.tipo_comprobante === 'I' && invoice.metodo_pago === 'PUE' ? { ...none, paid: total, payment_status: 'paid' } : none
  }
  const balance = none
  const sorted = [...applications].sort((a, b) => (a.fecha_pago < b.fecha_pago ? -1 : a.fecha_pago > b.fecha_pago ? 1 : 0))
  for (const application of sorted) {
    const reason = notCountedReason(invoice, application)
    if (reason !== null && reason !== 'substituted') continue
    balance.applied_until = Math.max(balance.applied_until ?? 0, application.substituted_from ?? application.issued_at)
    if (reason !== null) continue
    if (application.kind === 'P') {
      balance.paid += application.amount
      balance.last_payment_at = application.fecha_pago
    } else balance.credited += creditOf(invoice, application)!
    if (balance.fully_paid_at === null && isFullyPaid(total, balance.paid + balance.credited))
      balance.fully_paid_at = application.fecha_pago
  }
  if (isFullyPaid(total, balance.paid + balance.credited)) balance.payment_status = 'paid'
  else {
    balance.fully_paid_at = null
    balance.payment_status = balance.paid + balance.credited > 0n ? 'partially_paid' : 'unpaid'
  }
  return balance
}

/**
 * The amount of a credit note in the invoice's currency, converted through MXN; as it is when only metadata of the invoice is known, and
 * null when a rate is not.
 */
export function creditOf(
  invoice: Pick<Payable, 'version' | 'currency' | 'tipo_cambio'>,
  { amount, currency, tipo_cambio }: Pick<Applied, 'amount' | 'currency' | 'tipo_cambio'>,
): Micros | null {
  if (invoice.version === null || (currency ?? 'MXN') === (invoice.currency ?? 'MXN')) return amount
  const from = rateOf(currency, tipo_cambio)
  const to = rateOf(invoice.currency, invoice.tipo_cambio)
  return from === null || to === null ? null : dividedBy(times(amount, from), to)
}
