import { type Applied, creditOf, isDeferred, type Payable } from './balances.ts'
import type { Micros } from './money.ts'

/**
 * What was applied to a document, as far as an organization's view of it depends on its ceiling: from which issued_at on, in seconds, a
 * reader knows of it. Null: never.
 */
export interface PaymentThresholds {
  /** The status that no application changes; null for invoices that are paid in parts or later. */
  fixed: 'paid' | 'not_applicable' | null
  /** A payment complement refers to the document. */
  has_payment: number | null
  /** Something of it is paid or credited. */
  is_begun: number | null
  /** All of it is paid or credited. */
  is_paid: number | null
}

/** Known from the first second on. */
const ALWAYS = 0

/** Computes the thresholds of a document from everything that is applied to it. What counts is what counts in `balanceOf`. */
export function thresholdsOf(invoice: Payable, applications: readonly Applied[]): PaymentThresholds {
  const counted = applications
    .filter(({ cancelled, direction }) => !cancelled && direction === invoice.direction)
    .sort((a, b) => a.issued_at - b.issued_at)
  const has_payment = counted.find(({ kind }) => kind === 'P')?.issued_at ?? null
  if (!isDeferred(invoice)) {
    const isPaidAtOnce = invoice.tipo_comprobante === 'I' && invoice.metodo_pago === 'PUE'
    return { fixed: isPaidAtOnce ? 'paid' : 'not_applicable', has_payment, is_begun: null, is_paid: null }
  }
  const total = invoice.total_micros ?? 0n
  const thresholds: PaymentThresholds = { fixed: null, has_payment, is_begun: null, is_paid: total <= 0n ? ALWAYS : null }
  let sum: Micros = 0n
  for (const application of counted) {
    sum += application.kind === 'P' ? application.amount : creditOf(invoice, application)
    if (sum > 0n) thresholds.is_begun ??= application.issued_at
    if (sum >= total) thresholds.is_paid ??= application.issued_at
  }
  return thresholds
}

const isKnown = (from: number | null, until: number | null): boolean => from !== null && (until === null || from <= until)

/** The payment status for a ceiling in seconds, null without one: the same as `balanceOf` with what was issued up to the ceiling. */
export const paymentStatusAt = ({ fixed, is_begun, is_paid }: PaymentThresholds, until: number | null) =>
  fixed ?? (isKnown(is_paid, until) ? 'paid' : isKnown(is_begun, until) ? 'partially_paid' : 'unpaid')

/** Whether payments were applied, for a ceiling in seconds: it was paid at once, or a payment complement refers to it. */
export const hasAppliedPayments = ({ fixed, has_payment }: PaymentThresholds, until: number | null): boolean =>
  fixed === 'paid' || isKnown(has_payment, until)
