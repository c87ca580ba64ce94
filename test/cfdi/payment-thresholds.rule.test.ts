import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hasAppliedPayments, type PaymentThresholds, paymentStatusAt, thresholdsOf } from '../../src/cfdi/payment-thresholds.ts'
import { type Applied, balanceOf, notCountedReason, type Payable } from '../../src/cfdi/totals.ts'

const PARTIES = { emisor_rfc: 'AAA010101AAA', receptor_rfc: 'BBB020202BB1' }

const INVOICE: Payable = {
  ...PARTIES,
  ...{ version: '4.0', tipo_comprobante: 'I', metodo_pago: 'PPD', total_micros: 1_000_000n, currency: 'MXN', tipo_cambio: null },
}

const applied = (amount: bigint, issued_at: number, more: Partial<Applied> = {}): Applied => ({
  ...{ kind: 'P', amount, currency: 'MXN', tipo_cambio: null, fecha_pago: '2026-03-01T10:00:00', issued_at },
  ...{ cancelled: false, substituted_from: null },
  ...PARTIES,
  ...more,
})

const stored = (thresholds: PaymentThresholds): PaymentThresholds => JSON.parse(JSON.stringify(thresholds))

describe('what is told of payments', () => {
  it('is what the balance of everything up to the ceiling says, for any applications and any ceiling', () => {
    const application = fc.record({
      kind: fc.constantFrom('P', 'E'),
      amount: fc.bigInt({ min: 0n, max: 700n }).map((thousandths) => thousandths * 1_000n),
      currency: fc.constantFrom('MXN', 'USD'),
      tipo_cambio: fc.constantFrom(null, '2'),
      fecha_pago: fc.constantFrom('2026-03-01T10:00:00', '2026-03-02T10:00:00'),
      issued_at: fc.integer({ min: 1, max: 6 }),
      substituted_from: fc.option(fc.integer({ min: 6, max: 9 }), { freq: 2 }),
      cancelled: fc.boolean(),
      emisor_rfc: fc.constantFrom(PARTIES.emisor_rfc, PARTIES.emisor_rfc, 'CCC030303CC2'),
      receptor_rfc: fc.constantFrom(PARTIES.receptor_rfc, PARTIES.receptor_rfc, 'CCC030303CC2'),
    }) as fc.Arbitrary<Applied>
    const invoice = fc.record({
      ...{ emisor_rfc: fc.constant(PARTIES.emisor_rfc), receptor_rfc: fc.constant(PARTIES.receptor_rfc), version: fc.constant('4.0') },
      tipo_comprobante: fc.constantFrom('I', 'I', 'I', 'E', null),
      metodo_pago: fc.constantFrom('PPD', 'PPD', 'PPD', 'PUE', null),
      total_micros: fc.constantFrom(null, 0n, 1n, 700_000n, 1_000_000n),
      currency: fc.constantFrom('MXN', 'USD'),
      tipo_cambio: fc.constantFrom(null, '2'),
    }) as fc.Arbitrary<Payable>
    const statuses = new Set<string>()
    fc.assert(
      fc.property(invoice, fc.array(application, { maxLength: 9 }), fc.option(fc.integer({ min: 0, max: 10 })), (payable, all, until) => {
        const thresholds = stored(thresholdsOf(payable, all))
        const isKnown = (from: number | null) => from !== null && (until === null || from <= until)
        const known = all
          .filter(({ issued_at }) => isKnown(issued_at))
          .map((one) => ({ ...one, substituted_from: isKnown(one.substituted_from) ? one.substituted_from : null }))
        const status = paymentStatusAt(thresholds, until)
        expect(status).toBe(balanceOf(payable, known).payment_status ?? 'not_applicable')
        const isPaidAtOnce = payable.tipo_comprobante === 'I' && payable.metodo_pago === 'PUE'
        const hasPayment = known.some((one) => one.kind === 'P' && notCountedReason(payable, one) === null)
        expect(hasAppliedPayments(thresholds, until)).toBe(isPaidAtOnce || hasPayment)
        statuses.add(status)
      }),
      { numRuns: 3_000 },
    )
    expect([...statuses].sort()).toEqual(['not_applicable', 'paid', 'partially_paid', 'unpaid'])
  })

  it('changes at the instant of the payment itself', () => {
    const thresholds = thresholdsOf(INVOICE, [applied(600_000n, 70), applied(400_000n, 50)])
    const at = (until: number | null) => [paymentStatusAt(thresholds, until), hasAppliedPayments(thresholds, until)]
    expect([49, 50, 69, 70, null].map(at)).toEqual([
      ['unpaid', false],
      ['partially_paid', true],
      ['partially_paid', true],
      ['paid', true],
      ['paid', true],
    ])
  })

  it('ends when the payment is substituted, and begins again with the payment that substitutes it', () => {
    // 1,000 is paid at 50. At 70 a complement over 400 substitutes it, and at 90 another pays the other 600.
    const list = [applied(1_000_000n, 50, { substituted_from: 70 }), applied(400_000n, 70), applied(600_000n, 90)]
    expect(thresholdsOf(INVOICE, list)).toEqual([
      [0, 'unpaid', false],
      [50, 'paid', true],
      [70, 'partially_paid', true],
      [90, 'paid', true],
    ])
    // One that is substituted by a document that pays nothing of this invoice leaves nothing.
    expect(thresholdsOf(INVOICE, [applied(400_000n, 50, { substituted_from: 70 })]).at(-1)).toEqual([70, 'unpaid', false])
  })

  it('is small, however many payments there are', () => {
    const many = Array.from({ length: 5_000 }, (_, n) => applied(1_000_000n, 1_760_000_000 + n))
    const thresholds = thresholdsOf({ ...INVOICE, total_micros: 2_500_000_000n }, many)
    expect(thresholds).toEqual([
      [0, 'unpaid', false],
      [1_760_000_000, 'partially_paid', true],
      [1_760_002_499, 'paid', true],
    ])
  })
})
