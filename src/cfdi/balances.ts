import { dividedBy, type Micros, times } from './money.ts'
import { rateOf } from './totals.ts'

/** What the balance of a document depends on, besides the applications. */
export interface Payable {
  /** 0 issued, 1 received. */
  direction: 0 | 1
  tipo_comprobante: string | null
  metodo_pago: string | null
  total_micros: Micros | null
  currency: string | null
  tipo_cambio: string | null
}

/** A payment (P) or a credit note (E), as far as it is applied to one invoice. */
export interface Applied {
  kind: 'P' | 'E'
  /** Micros in the invoice's currency for a P, in `currency` for an E. */
  amount: Micros
  currency: string | null
  tipo_cambio: string | null
  /** Literal local time. */
  fecha_pago: string
  /** Direction of the payment or credit note. */
  direction: 0 | 1
  /** When the payment or credit note was issued, in seconds since 1970. */
  issued_at: number
  /** Whether the payment or credit note is cancelled. */
  cancelled: boolean
}

export interface Balance {
  /** Micros in the invoice's currency. */
  paid: Micros
  credited: Micros
  payment_status: 'paid' | 'partially_paid' | 'unpaid' | null
  /** Literal local times, from the payment complements. */
  last_payment_at: string | null
  fully_paid_at: string | null
  /** Greatest issued_at of the applications that count, in seconds; null when none does. */
  applied_until: number | null
}

/** Whether applications change the balance of a document: only invoices that are paid in parts or later (PPD) have such a balance. */
export const isDeferred = ({ tipo_comprobante, metodo_pago }: Pick<Payable, 'tipo_comprobante' | 'metodo_pago'>): boolean =>
  tipo_comprobante === 'I' && metodo_pago === 'PPD'

/**
 * Computes the balance of a document from everything that is applied to it. Only applications of valid documents count, and only those of
 * the invoice's own direction: a document of the other direction has another issuer, who cannot settle the invoice. An invoice that is
 * paid at once (PUE) counts as paid; documents that are not invoices have no payment status. Source: decisions.md 7, insights.md 8.0.
 */
export function balanceOf(invoice: Payable, applications: readonly Applied[]): Balance {
  const total = invoice.total_micros ?? 0n
  const none: Balance = { paid: 0n, credited: 0n, payment_status: null, last_payment_at: null, fully_paid_at: null, applied_until: null }
  if (!isDeferred(invoice)) {
    return invoice.tipo_comprobante === 'I' && invoice.metodo_pago === 'PUE' ? { ...none, paid: total, payment_status: 'paid' } : none
  }
  const balance = none
  const valid = applications
    .filter(({ cancelled, direction }) => !cancelled && direction === invoice.direction)
    .sort((a, b) => (a.fecha_pago < b.fecha_pago ? -1 : a.fecha_pago > b.fecha_pago ? 1 : 0))
  for (const application of valid) {
    balance.applied_until = Math.max(balance.applied_until ?? application.issued_at, application.issued_at)
    if (application.kind === 'P') {
      balance.paid += application.amount
      balance.last_payment_at = application.fecha_pago
    } else balance.credited += creditOf(invoice, application)
    if (balance.fully_paid_at === null && balance.paid + balance.credited >= total) balance.fully_paid_at = application.fecha_pago
  }
  if (balance.paid + balance.credited >= total) balance.payment_status = 'paid'
  else {
    balance.fully_paid_at = null
    balance.payment_status = balance.paid + balance.credited > 0n ? 'partially_paid' : 'unpaid'
  }
  return balance
}

/** The amount of a credit note in the invoice's currency: converted through MXN, or as it is when a rate is not known. */
export function creditOf(invoice: Payable, { amount, currency, tipo_cambio }: Applied): Micros {
  if ((currency ?? 'MXN') === (invoice.currency ?? 'MXN')) return amount
  const from = rateOf(currency, tipo_cambio)
  const to = rateOf(invoice.currency, invoice.tipo_cambio)
  return from === null || to === null ? amount : dividedBy(times(amount, from), to)
}
