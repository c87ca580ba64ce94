import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Applied, balanceOf, type Payable } from '../../src/cfdi/balances.ts'
import { hasAppliedPayments, type PaymentThresholds, paymentStatusAt, thresholdsOf } from '../../src/cfdi/payment-thresholds.ts'

const INVOICE: Payable = {
  ...{ direction: 0, tipo_comprobante: 'I', metodo_pago: 'PPD', total_micros: 1_000n, currency: 'MXN', tipo_cambio: null },
}

const applied = (amount: bigint, issued_at: number, more: Partial<Applied> = {}): Applied => ({
  ...{ kind: 'P', amount, currency: 'MXN', tipo_cambio: null, fecha_pago: '2026-03-01T10:00:00', issued_at },
  ...{ cancelled: false, direction: 0 },
  ...more,
})

const stored = (thresholds: PaymentThresholds): PaymentThresholds => JSON.parse(JSON.stringify(thresholds))

describe('what is told of payments', () => {
  it('is what the balance of everything up to the ceiling says, for any applications and any ceiling', () => {
    const application = fc.record({
      kind: fc.constantFrom('P', 'E'),
      amount: fc.bigInt({ min: 0n, max: 700n }),
      currency: fc.constantFrom('MXN', 'USD'),
      tipo_cambio: fc.constantFrom(null, '2'),
      fecha_pago: fc.constantFrom('2026-03-01T10:00:00', '2026-03-02T10:00:00'),
      issued_at: fc.integer({ min: 1, max: 6 }),
      cancelled: fc.boolean(),
      direction: fc.constantFrom(0, 0, 1),
    }) as fc.Arbitrary<Applied>
    const invoice = fc.record({
      direction: fc.constantFrom(0, 0, 1),
      tipo_comprobante: fc.constantFrom('I', 'I', 'I', 'E', null),
      metodo_pago: fc.constantFrom('PPD', 'PPD', 'PPD', 'PUE', null),
      total_micros: fc.constantFrom(null, 0n, 1n, 700n, 1_000n),
      currency: fc.constantFrom('MXN', 'USD'),
      tipo_cambio: fc.constantFrom(null, '2'),
    }) as fc.Arbitrary<Payable>
    const statuses = new Set<string>()
    fc.assert(
      fc.property(invoice, fc.array(application, { maxLength: 9 }), fc.option(fc.integer({ min: 0, max: 7 })), (payable, all, until) => {
        const thresholds = stored(thresholdsOf(payable, all))
        const known = all.filter(({ issued_at }) => until === null || issued_at <= until)
        const status = paymentStatusAt(thresholds, until)
        expect(status).toBe(balanceOf(payable, known).payment_status ?? 'not_applicable')
        const isPaidAtOnce = payable.tipo_comprobante === 'I' && payable.metodo_pago === 'PUE'
        const hasPayment = known.some(({ kind, cancelled, direction }) => kind === 'P' && !cancelled && direction === payable.direction)
        expect(hasAppliedPayments(thresholds, until)).toBe(isPaidAtOnce || hasPayment)
        statuses.add(status)
      }),
      { numRuns: 3_000 },
    )
    expect([...statuses].sort()).toEqual(['not_applicable', 'paid', 'partially_paid', 'unpaid'])
  })

  it('changes at the instant of the payment itself', () => {
    const thresholds = thresholdsOf(INVOICE, [applied(600n, 70), applied(400n, 50)])
    const at = (until: number | null) => [paymentStatusAt(thresholds, until), hasAppliedPayments(thresholds, until)]
    expect([49, 50, 69, 70, null].map(at)).toEqual([
      ['unpaid', false],
      ['partially_paid', true],
      ['partially_paid', true],
      ['paid', true],
      ['paid', true],
    ])
  })

  it('is small, however many payments there are', () => {
    const many = Array.from({ length: 5_000 }, (_, n) => applied(1n, 1_760_000_000 + n))
    const thresholds = thresholdsOf({ ...INVOICE, total_micros: 2_500n }, many)
    expect(thresholds).toEqual({ fixed: null, has_payment: 1_760_000_000, is_begun: 1_760_000_000, is_paid: 1_760_002_499 })
  })
})
