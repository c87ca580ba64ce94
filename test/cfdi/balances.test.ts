import { describe, expect, it } from 'vitest'
import type { Payable } from '../../src/cfdi/balances.ts'
import { type Applied, balanceOf } from '../../src/cfdi/balances.ts'

const invoice: Payable = {
  direction: 0,
  tipo_comprobante: 'I',
  metodo_pago: 'PPD',
  total_micros: 1_000n,
  currency: 'MXN',
  tipo_cambio: null,
}
const paid = (amount: bigint, fecha_pago: string, more: Partial<Applied> = {}): Applied => ({
  kind: 'P',
  amount,
  currency: 'MXN',
  tipo_cambio: null,
  fecha_pago,
  direction: 0,
  issued_at: Date.parse(`${fecha_pago}Z`) / 1_000,
  cancelled: false,
  ...more,
})
const credited = (amount: bigint, more: Partial<Applied> = {}): Applied => paid(amount, '2025-01-05T00:00:00', { kind: 'E', ...more })

describe('the balance of a deferred invoice', () => {
  it('goes from unpaid over partially paid to paid', () => {
    expect(balanceOf(invoice, [])).toMatchObject({ payment_status: 'unpaid', paid: 0n, fully_paid_at: null })
    expect(balanceOf(invoice, [paid(999n, '2025-01-01T00:00:00')])).toMatchObject({ payment_status: 'partially_paid', paid: 999n })
    const both = [paid(400n, '2025-02-01T00:00:00'), paid(600n, '2025-01-01T00:00:00')]
    expect(balanceOf(invoice, both)).toEqual({
      paid: 1_000n,
      credited: 0n,
      payment_status: 'paid',
      last_payment_at: '2025-02-01T00:00:00',
      fully_paid_at: '2025-02-01T00:00:00',
      applied_until: Date.parse('2025-02-01T00:00:00Z') / 1_000,
    })
  })

  it('is full on the day of the payment that fills it, not of the last', () => {
    const list = [paid(1_000n, '2025-01-01T00:00:00'), paid(50n, '2025-03-01T00:00:00')]
    expect(balanceOf(invoice, list)).toMatchObject({
      fully_paid_at: '2025-01-01T00:00:00',
      last_payment_at: '2025-03-01T00:00:00',
      paid: 1_050n,
    })
  })

  it('leaves out what comes from cancelled documents', () => {
    expect(balanceOf(invoice, [paid(1_000n, '2025-01-01T00:00:00', { cancelled: true }), credited(10n)])).toMatchObject({
      payment_status: 'partially_paid',
      paid: 0n,
      credited: 10n,
      last_payment_at: null,
    })
  })

  it('leaves out what comes from documents of the other direction', () => {
    const list = [paid(400n, '2025-01-01T00:00:00'), paid(600n, '2025-02-01T00:00:00', { direction: 1 }), credited(10n, { direction: 1 })]
    const own = { paid: 400n, credited: 0n, payment_status: 'partially_paid', applied_until: list[0]!.issued_at }
    expect(balanceOf(invoice, list)).toMatchObject(own)
    const others = { paid: 600n, credited: 10n, payment_status: 'partially_paid', applied_until: list[1]!.issued_at }
    expect(balanceOf({ ...invoice, direction: 1 }, list)).toMatchObject(others)
  })

  it('converts credit notes of another currency through MXN, where both rates are known', () => {
    const dollars: Payable = { ...invoice, currency: 'USD', tipo_cambio: '20' }
    expect(balanceOf(dollars, [credited(10_000n)]).credited).toBe(500n)
    expect(balanceOf(invoice, [credited(10n, { currency: 'USD', tipo_cambio: '20' })]).credited).toBe(200n)
    expect(balanceOf(invoice, [credited(10n, { currency: 'USD' })]).credited).toBe(10n)
    expect(balanceOf({ ...dollars, tipo_cambio: null }, [credited(10n)]).credited).toBe(10n)
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
      paid: 1_000n,
    })
    for (const other of [{ tipo_comprobante: 'E' }, { tipo_comprobante: null }, { metodo_pago: null }]) {
      expect(balanceOf({ ...invoice, ...other }, [credited(5n)])).toMatchObject({ payment_status: null, paid: 0n, credited: 0n })
    }
  })
})
