import { type Applied, creditOf, isDeferred, type Payable } from './balances.ts'
import type { Micros } from './money.ts'

/** Up to which issued_at, in seconds, a reader knows the documents of each direction: Infinity for all of them, -Infinity for none. */
export interface Reach {
  issued: number
  received: number
}

/**
 * From which reach on something is so: from the first of these pairs whose issued_at are both reached. Null means that no document of that
 * direction is needed. There is one pair unless payments of both directions are applied to one invoice; of these, the first eight are kept.
 */
export type Threshold = [issued: number | null, received: number | null][]

/** What was applied to a document, as far as any reader's view of it depends on the reach. */
export interface PaymentThresholds {
  /** The status that no application changes; null for invoices that are paid in parts or later. */
  fixed: 'paid' | 'not_applicable' | null
  /** A payment complement refers to the document. */
  has_payment: Threshold
  /** Something of it is paid or credited. */
  is_begun: Threshold
  /** All of it is paid or credited. */
  is_paid: Threshold
}

/** An application with the direction of its source. */
export interface DirectedApplication extends Applied {
  direction: number
}

const MAX_PAIRS = 8

/** Computes the thresholds of a document from everything that is applied to it. Cancelled payments and credit notes do not count. */
export function thresholdsOf(invoice: Payable, applications: readonly DirectedApplication[]): PaymentThresholds {
  const valid = applications.filter(({ cancelled }) => !cancelled)
  const has_payment = thresholdOf(
    valid.filter(({ kind }) => kind === 'P'),
    () => 1n,
    (count) => count > 0n,
  )
  if (!isDeferred(invoice)) {
    const isPaidAtOnce = invoice.tipo_comprobante === 'I' && invoice.metodo_pago === 'PUE'
    return { fixed: isPaidAtOnce ? 'paid' : 'not_applicable', has_payment, is_begun: [], is_paid: [] }
  }
  const amountOf = (application: Applied): Micros => (application.kind === 'P' ? application.amount : creditOf(invoice, application))
  const total = invoice.total_micros ?? 0n
  return {
    fixed: null,
    has_payment,
    is_begun: thresholdOf(valid, amountOf, (sum) => sum > 0n),
    is_paid: thresholdOf(valid, amountOf, (sum) => sum >= total),
  }
}

/** The payment status as a reader with this reach sees it: the same as `balanceOf` with what the reader knows. */
export const paymentStatusAt = ({ fixed, is_begun, is_paid }: PaymentThresholds, reach: Reach) =>
  fixed ?? (isReached(is_paid, reach) ? 'paid' : isReached(is_begun, reach) ? 'partially_paid' : 'unpaid')

/** Whether payments were applied as far as a reader with this reach knows: it was paid at once, or a payment complement refers to it. */
export const hasAppliedPayments = ({ fixed, has_payment }: PaymentThresholds, reach: Reach): boolean =>
  fixed === 'paid' || isReached(has_payment, reach)

const isReached = (threshold: Threshold, { issued, received }: Reach): boolean =>
  threshold.some(([a, b]) => (a === null || a <= issued) && (b === null || b <= received))

/** A sum of the applications up to an issued_at; null before the first. */
interface RunningSum {
  until: number | null
  sum: Micros
}

function runningSums(applications: readonly DirectedApplication[], amountOf: (one: Applied) => Micros): RunningSum[] {
  const sums: RunningSum[] = [{ until: null, sum: 0n }]
  for (const one of applications.toSorted((a, b) => a.issued_at - b.issued_at))
    sums.push({ until: one.issued_at, sum: sums.at(-1)!.sum + amountOf(one) })
  return sums
}

/** The less is received, the more must be issued: the pairs are found in one walk, because sums only grow. */
function thresholdOf(
  applications: readonly DirectedApplication[],
  amountOf: (one: Applied) => Micros,
  isEnough: (sum: Micros) => boolean,
): Threshold {
  const [issued, received] = [0, 1].map((direction) =>
    runningSums(
      applications.filter((one) => one.direction === direction),
      amountOf,
    ),
  ) as [RunningSum[], RunningSum[]]
  const pairs: Threshold = []
  let needed = received.length
  for (const { until, sum } of issued) {
    const before = needed
    while (needed > 0 && isEnough(sum + received[needed - 1]!.sum)) needed--
    if (needed < before) pairs.push([until, received[needed]!.until])
    if (needed === 0 || pairs.length === MAX_PAIRS) break
  }
  return pairs
}
