import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { balanceOf, type Payable } from '../../src/cfdi/balances.ts'
import {
  type DirectedApplication,
  hasAppliedPayments,
  type PaymentThresholds,
  paymentStatusAt,
  type Reach,
  thresholdsOf,
} from '../../src/cfdi/payment-thresholds.ts'

const INVOICE: Payable = { tipo_comprobante: 'I', metodo_pago: 'PPD', total_micros: 1_000n, currency: 'MXN', tipo_cambio: null }
const ALL: Reach = { issued: Number.POSITIVE_INFINITY, received: Number.POSITIVE_INFINITY }
const NONE: Reach = { issued: Number.NEGATIVE_INFINITY, received: Number.NEGATIVE_INFINITY }

const applied = (amount: bigint, issued_at: number, more: Partial<DirectedApplication> = {}): DirectedApplication => ({
  ...{ kind: 'P', amount, currency: 'MXN', tipo_cambio: null, fecha_pago: '2026-03-01T10:00:00', issued_at },
  ...{ cancelled: false, direction: 0 },
  ...more,
})

/** What whoever knows the applications up to this reach computes from them, as the read does. */
const known = (applications: readonly DirectedApplication[], { issued, received }: Reach) =>
  applications.filter(({ direction, issued_at }) => issued_at <= (direction === 0 ? issued : received))

const stored = (thresholds: PaymentThresholds): PaymentThresholds => JSON.parse(JSON.stringify(thresholds))

describe('what is told of payments', () => {
  it('is what the balance of everything within the reach says, for any applications and any reach', () => {
    const application = fc.record({
      kind: fc.constantFrom('P', 'E'),
      amount: fc.bigInt({ min: 0n, max: 700n }),
      currency: fc.constantFrom('MXN', 'USD'),
      tipo_cambio: fc.constantFrom(null, '2'),
      fecha_pago: fc.constantFrom('2026-03-01T10:00:00', '2026-03-02T10:00:00'),
      issued_at: fc.integer({ min: 1, max: 6 }),
      cancelled: fc.boolean(),
      direction: fc.constantFrom(0, 1),
    }) as fc.Arbitrary<DirectedApplication>
    const until = fc.oneof(fc.integer({ min: 0, max: 7 }), fc.constantFrom(Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY))
    const invoice = fc.record({
      tipo_comprobante: fc.constantFrom('I', 'I', 'I', 'E', null),
      metodo_pago: fc.constantFrom('PPD', 'PPD', 'PPD', 'PUE', null),
      total_micros: fc.constantFrom(null, 0n, 1n, 700n, 1_000n),
      currency: fc.constantFrom('MXN', 'USD'),
      tipo_cambio: fc.constantFrom(null, '2'),
    })
    const statuses = new Set<string>()
    fc.assert(
      fc.property(invoice, fc.array(application, { maxLength: 9 }), until, until, (payable, applications, issued, received) => {
        const reach = { issued, received }
        const thresholds = stored(thresholdsOf(payable, applications))
        const balance = balanceOf(payable, known(applications, reach))
        const status = paymentStatusAt(thresholds, reach)
        expect(status).toBe(balance.payment_status ?? 'not_applicable')
        const isPaidAtOnce = payable.tipo_comprobante === 'I' && payable.metodo_pago === 'PUE'
        const hasPayment = known(applications, reach).some(({ kind, cancelled }) => kind === 'P' && !cancelled)
        expect(hasAppliedPayments(thresholds, reach)).toBe(isPaidAtOnce || hasPayment)
        statuses.add(status)
      }),
      { numRuns: 3_000 },
    )
    expect([...statuses].sort()).toEqual(['not_applicable', 'paid', 'partially_paid', 'unpaid'])
  })

  it('changes at the instant of the payment itself', () => {
    const thresholds = thresholdsOf(INVOICE, [applied(400n, 50), applied(600n, 70)])
    const at = (issued: number) => [paymentStatusAt(thresholds, { ...NONE, issued }), hasAppliedPayments(thresholds, { ...NONE, issued })]
    expect([49, 50, 69, 70].map(at)).toEqual([
      ['unpaid', false],
      ['partially_paid', true],
      ['partially_paid', true],
      ['paid', true],
    ])
    expect(paymentStatusAt(thresholds, { ...ALL, issued: 49 })).toBe('unpaid')
  })

  it('is small, however many payments there are', () => {
    const many = Array.from({ length: 5_000 }, (_, n) => applied(1n, 1_760_000_000 + n, { direction: n % 2 }))
    const thresholds = thresholdsOf({ ...INVOICE, total_micros: 2_500n }, many)
    expect(JSON.stringify(thresholds).length).toBeLessThan(500)
    expect(paymentStatusAt(thresholds, ALL)).toBe('paid')
    const ofOneSide = thresholdsOf(
      INVOICE,
      many.map((one) => ({ ...one, direction: 1 })),
    )
    expect(ofOneSide.is_paid).toEqual([[null, 1_760_000_999]])
  })
})
