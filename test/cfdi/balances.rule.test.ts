import { describe, expect, it } from 'vitest'
import type { Payable } from '../../src/cfdi/totals.ts'
import { type Applied, balanceOf, notCountedReason } from '../../src/cfdi/totals.ts'

const PARTIES = { emisor_rfc: 'AAA010101AAA', receptor_rfc: 'BBB020202BB1' }
const OTHER = 'CCC030303CC2'

const invoice: Payable = {
  ...PARTIES,
  version: '4.0',
  tipo_comprobante: 'I',
  metodo_pago: 'PPD',
  total_micros: 1_000_000_000n,
  currency: 'MXN',
  tipo_cambio: null,
}
const paid = (amount: bigint, fecha_pago: string, more: Partial<Applied> = {}): Applied => ({
  kind: 'P',
  amount,
  currency: 'MXN',
  tipo_cambio: null,
  fecha_pago,
  ...PARTIES,
  issued_at: Date.parse(`${fecha_pago}Z`) / 1_000,
  cancelled: false,
  substituted_from: null,
  ...more,
})
const credited = (amount: bigint, more: Partial<Applied> = {}): Applied => paid(amount, '2025-01-05T00:00:00', { kind: 'E', ...more })

describe('the balance of a deferred invoice', () => {
  it('goes from unpaid over partially paid to paid', () => {
    expect(balanceOf(invoice, [])).toMatchObject({ payment_status: 'unpaid', paid: 0n, fully_paid_at: null })
    expect(balanceOf(invoice, [paid(999_000_000n, '2025-01-01T00:00:00')])).toMatchObject({
      payment_status: 'partially_paid',
      paid: 999_000_000n,
    })
    const both = [paid(400_000_000n, '2025-02-01T00:00:00'), paid(600_000_000n, '2025-01-01T00:00:00')]
    expect(balanceOf(invoice, both)).toEqual({
      paid: 1_000_000_000n,
      credited: 0n,
      payment_status: 'paid',
      last_payment_at: '2025-02-01T00:00:00',
      fully_paid_at: '2025-02-01T00:00:00',
      applied_until: Date.parse('2025-02-01T00:00:00Z') / 1_000,
    })
  })

  it('is full on the day of the payment that fills it, not of the last', () => {
    const list = [paid(1_000_000_000n, '2025-01-01T00:00:00'), paid(50_000_000n, '2025-03-01T00:00:00')]
    expect(balanceOf(invoice, list)).toMatchObject({
      fully_paid_at: '2025-01-01T00:00:00',
      last_payment_at: '2025-03-01T00:00:00',
      paid: 1_050_000_000n,
    })
  })

  it('leaves out what comes from cancelled documents', () => {
    expect(balanceOf(invoice, [paid(1_000_000_000n, '2025-01-01T00:00:00', { cancelled: true }), credited(10_000_000n)])).toMatchObject({
      payment_status: 'partially_paid',
      paid: 0n,
      credited: 10_000_000n,
      last_payment_at: null,
    })
  })

  it('leaves out what other parties issued: payments by the issuer, credit notes by the receiver too', () => {
    const list = [
      paid(100_000n, '2025-01-01T00:00:00'),
      // A third party paid: the issuer is the invoice's, so 20,000 more count.
      paid(20_000n, '2025-01-02T00:00:00', { receptor_rfc: OTHER }),
      paid(600_000n, '2025-02-01T00:00:00', { emisor_rfc: OTHER }),
      paid(600_000n, '2025-02-01T00:00:00', { emisor_rfc: PARTIES.receptor_rfc, receptor_rfc: PARTIES.emisor_rfc }),
      credited(3_000n),
      credited(50_000n, { receptor_rfc: OTHER }),
      credited(50_000n, { emisor_rfc: OTHER }),
    ]
    // The credit note of 2025-01-05 is the last document that counts.
    expect(balanceOf(invoice, list)).toMatchObject({
      ...{ paid: 120_000n, credited: 3_000n, payment_status: 'partially_paid', last_payment_at: '2025-01-02T00:00:00' },
      applied_until: Date.parse('2025-01-05T00:00:00Z') / 1_000,
    })
    expect(list.map((one) => notCountedReason(invoice, one))).toEqual([
      ...[null, null, 'other_parties', 'other_parties'],
      ...[null, 'other_parties', 'other_parties'],
    ])
  })

  it('leaves out payments that state another currency than the invoice’s', () => {
    const dollars = { ...invoice, currency: 'USD', tipo_cambio: '20', total_micros: 1_160_000_000n }
    const pesos = paid(1_160_000_000n, '2025-01-01T00:00:00', { currency: 'MXN' })
    expect(balanceOf(dollars, [pesos])).toMatchObject({ paid: 0n, payment_status: 'unpaid', applied_until: null })
    expect(notCountedReason(dollars, pesos)).toBe('currency_mismatch')
    expect(balanceOf(dollars, [{ ...pesos, currency: 'USD' }])).toMatchObject({ paid: 1_160_000_000n, payment_status: 'paid' })
    // A CFDI 3.2 without Moneda is in pesos. MonedaDR is required, so that without it there is nothing to compare.
    expect(notCountedReason({ ...dollars, currency: null }, pesos)).toBeNull()
    expect(notCountedReason(dollars, { ...pesos, currency: null })).toBeNull()
    // Metadata does not state the currency.
    expect(notCountedReason({ ...dollars, currency: null, version: null }, { ...pesos, currency: 'USD' })).toBeNull()
    expect(notCountedReason({ ...dollars, currency: null }, { ...pesos, currency: 'USD' })).toBe('currency_mismatch')
  })

  it('leaves out what is substituted, and depends on what substitutes it', () => {
    const substituted = paid(100_000n, '2025-01-01T00:00:00', { substituted_from: 1_800_000_000 })
    expect(balanceOf(invoice, [substituted])).toMatchObject({ paid: 0n, payment_status: 'unpaid', applied_until: 1_800_000_000 })
    expect(notCountedReason(invoice, substituted)).toBe('substituted')
    // What does not count anyway depends on nothing.
    expect(balanceOf(invoice, [{ ...substituted, cancelled: true }]).applied_until).toBeNull()
  })

  it('is paid when less than half a cent is left, and owes half a cent', () => {
    // 1,000.00 pesos. 999.995001 leaves 0.004999, which is 0.00; 999.995 leaves 0.005, which is 0.01.
    const payment = (amount: bigint) => balanceOf(invoice, [paid(amount, '2025-01-01T00:00:00')])
    expect(payment(999_995_001n)).toMatchObject({ payment_status: 'paid', fully_paid_at: '2025-01-01T00:00:00' })
    expect(payment(999_995_000n)).toMatchObject({ payment_status: 'partially_paid', fully_paid_at: null })
  })

  it('converts credit notes of another currency through MXN, where both rates are known', () => {
    const dollars: Payable = { ...invoice, currency: 'USD', tipo_cambio: '20' }
    expect(balanceOf(dollars, [credited(10_000n)]).credited).toBe(500n)
    expect(balanceOf(invoice, [credited(10n, { currency: 'USD', tipo_cambio: '20' })]).credited).toBe(200n)
    for (const [of, note] of [
      [invoice, credited(10n, { currency: 'USD' })],
      [invoice, credited(10n, { currency: 'USD', tipo_cambio: '0' })],
      [{ ...dollars, tipo_cambio: null }, credited(10n)],
    ] as const) {
      expect(balanceOf(of, [note])).toMatchObject({ credited: 0n, payment_status: 'unpaid', applied_until: null })
      expect(notCountedReason(of, note)).toBe('missing_rate')
    }
    // Metadata does not state the currency.
    expect(balanceOf({ ...dollars, currency: null, tipo_cambio: null, version: null }, [credited(10n)]).credited).toBe(10n)
    expect(balanceOf(dollars, [paid(10n, '2025-01-01T00:00:00', { currency: 'USD' })]).paid).toBe(10n)
  })

  it('is paid from the start when nothing is due', () => {
    expect(balanceOf({ ...invoice, total_micros: 0n }, [])).toMatchObject({ payment_status: 'paid', fully_paid_at: null })
  })
})

describe('other documents', () => {
  it('are paid by themselves when paid at once, and have no status when they are no invoices', () => {
    expect(balanceOf({ ...invoice, metodo_pago: 'PUE' }, [paid(1n, '2025-01-01T00:00:00')])).toMatchObject({
      payment_status: 'paid',
      paid: 1_000_000_000n,
    })
    for (const other of [{ tipo_comprobante: 'E' }, { tipo_comprobante: null }, { metodo_pago: null }]) {
      expect(balanceOf({ ...invoice, ...other }, [credited(5n)])).toMatchObject({ payment_status: null, paid: 0n, credited: 0n })
    }
  })
})
