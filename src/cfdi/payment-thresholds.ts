import type { Micros } from '../platform/money.ts'
import { type Applied, creditOf, isDeferred, isFullyPaid, notCountedReason, type Payable } from './totals.ts'

type PaymentStatus = 'paid' | 'partially_paid' | 'unpaid' | 'not_applicable'

/**
 * The applications to a document, as far as an organization's view depends on its ceiling: the payment status from an instant on, in
 * seconds, and whether payments were applied then: it was paid at once, or a payment complement refers to it. By instant, from 0 on.
 */
export type PaymentThresholds = readonly PaymentThreshold[]
export type PaymentThreshold = readonly [from: number, status: PaymentStatus, has_payments: boolean]

/** Computes the thresholds of a document from everything that is applied to it. What counts is what counts in `balanceOf`. */
export function thresholdsOf(invoice: Payable, applications: readonly Applied[]): PaymentThresholds {
  const isPaidAtOnce = invoice.tipo_comprobante === 'I' && invoice.metodo_pago === 'PUE'
  const changes = applications
    .filter((application) => notCountedReason(invoice, { ...application, substituted_from: null }) === null)
    .flatMap((application) => {
      const [amount, payments] = application.kind === 'P' ? [application.amount, 1] : [creditOf(invoice, application)!, 0]
      const begins = { at: application.issued_at, amount, payments }
      const { substituted_from } = application
      return substituted_from === null ? [begins] : [begins, { at: substituted_from, amount: -amount, payments: -payments }]
    })
    .sort((a, b) => a.at - b.at)
  let [sum, payments]: [Micros, number] = [0n, 0]
  const thresholdFrom = (from: number): PaymentThreshold => [from, statusOf(invoice, sum), isPaidAtOnce || payments > 0]
  const thresholds = [thresholdFrom(0)]
  for (const [i, change] of changes.entries()) {
    sum += change.amount
    payments += change.payments
    if (changes[i + 1]?.at === change.at) continue
    const [, status, has_payments] = thresholds.at(-1)!
    const threshold = thresholdFrom(change.at)
    if (threshold[1] !== status || threshold[2] !== has_payments) thresholds.push(threshold)
  }
  return thresholds
}

function statusOf(invoice: Payable, sum: Micros): PaymentStatus {
  if (!isDeferred(invoice)) return invoice.tipo_comprobante === 'I' && invoice.metodo_pago === 'PUE' ? 'paid' : 'not_applicable'
  if (isFullyPaid(invoice.total_micros ?? 0n, sum)) return 'paid'
  return sum > 0n ? 'partially_paid' : 'unpaid'
}

const thresholdAt = (thresholds: PaymentThresholds, until: number | null): PaymentThreshold =>
  thresholds.findLast(([from]) => until === null || from <= until) ?? thresholds[0]!

/** The payment status for a ceiling in seconds, null without one: the same as `balanceOf` with what was issued up to the ceiling. */
export const paymentStatusAt = (thresholds: PaymentThresholds, until: number | null): PaymentStatus => thresholdAt(thresholds, until)[1]

/** Whether payments were applied, for a ceiling in seconds: it was paid at once, or a payment complement refers to it. */
export const hasAppliedPayments = (thresholds: PaymentThresholds, until: number | null): boolean => thresholdAt(thresholds, until)[2]
