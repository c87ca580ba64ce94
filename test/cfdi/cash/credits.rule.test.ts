import { describe, expect, it } from 'vitest'
import { dividedAmong, dividedByRate, openAt, returnedBy } from '../../../src/cfdi/cash/credits.ts'
import { BREAKDOWN } from '../../../src/cfdi/taxes/breakdown.ts'

const pesos = (amount: number): bigint => BigInt(Math.round(amount * 1_000_000))
const paid = (at: string, amount: number) => ({ kind: 'P' as const, at, source: `P${at}`, amount: pesos(amount) })
const note = (source: string, at: string, amount: number) => ({ kind: 'E' as const, at, source, amount: pesos(amount) })

const returned = (...of: Parameters<typeof returnedBy>): bigint => returnedBy(...of).reduce((sum, { amount }) => sum + amount, 0n)

describe('what a credit note returns', () => {
  const later = { total: pesos(11_600), isPaidAtOnce: false }

  it('is nothing as long as something is open, and the rest after that', () => {
    expect(returned('N', later, [paid('2026-05-20', 11_368), note('N', '2026-05-25', 232)])).toBe(0n)
    expect(returned('N', later, [paid('2026-05-20', 5_800), note('N', '2026-05-25', 5_800)])).toBe(0n)
    expect(returned('N', later, [paid('2026-05-20', 11_000), note('N', '2026-05-25', 1_000)])).toBe(pesos(400))
    expect(returned('N', later, [note('N', '2026-05-15', 1_160), paid('2026-05-20', 10_440)])).toBe(0n)
  })

  it('is all of a note on what was paid at once, and never more than was paid', () => {
    const atOnce = { total: pesos(1_160), isPaidAtOnce: true }
    const notes = [note('A', '2026-05-10', 928), note('B', '2026-06-10', 928)]
    expect(notes.map(({ source }) => returned(source, atOnce, notes))).toEqual([pesos(928), pesos(232)])
    expect(returned('N', later, [note('M', '2026-05-01', 11_600), note('N', '2026-05-02', 1_160)])).toBe(0n)
  })

  it('is of the newest payments that are not returned yet', () => {
    const history = [paid('2026-05-20', 100), note('M', '2026-05-21', 60), paid('2026-06-20', 30), note('N', '2026-06-21', 50)]
    const all = { total: pesos(130), isPaidAtOnce: false }
    const closed = [paid('2026-05-01', 0), ...history, note('Z', '2026-05-01', 30)]
    expect(returnedBy('M', { ...all, total: pesos(100) }, history)).toEqual([{ at: '2026-05-20', amount: pesos(60) }])
    expect(returnedBy('N', all, closed)).toEqual([
      { at: '2026-06-20', amount: pesos(30) },
      { at: '2026-05-20', amount: pesos(20) },
    ])
  })

  it('is nothing of what an advance paid, which was money before', () => {
    const moved = { ...paid('2026-05-20', 11_600), money: 0n }
    expect(returned('N', later, [moved, note('N', '2026-05-25', 1_160)])).toBe(0n)
    const beyond = { ...paid('2026-05-20', 11_600), money: pesos(500) }
    expect(returned('N', later, [beyond, note('N', '2026-05-25', 1_160)])).toBe(pesos(500))
  })

  it('counts a payment of the same instant as made before', () => {
    expect(returned('N', later, [note('N', '2026-05-20', 1_160), paid('2026-05-20', 11_600)])).toBe(pesos(1_160))
  })
})

describe('a credit note of several invoices', () => {
  const open = (amount: number, total = amount, paid = total - amount) => ({ open: pesos(amount), paid: pesos(paid), total: pesos(total) })

  it('is divided by what is open of each, then by their totals', () => {
    expect(dividedAmong(pesos(4_640), [open(1_160), open(3_480)])).toEqual([pesos(1_160), pesos(3_480)])
    expect(dividedAmong(pesos(1_000), [open(0, 5_000), open(3_000)])).toEqual([0n, pesos(1_000)])
    expect(dividedAmong(pesos(400), [open(0, 1_000), open(0, 3_000)])).toEqual([pesos(100), pesos(300)])
    // 100 are open of the first. The other 400 are divided by the totals.
    expect(dividedAmong(pesos(500), [open(100, 1_000), open(0, 3_000)])).toEqual([pesos(200), pesos(300)])
    // Nothing was paid of the first, or most of it was returned before: the second gets what the first has no room for.
    expect(dividedAmong(pesos(2_320), [open(1_160), open(0, 1_160)])).toEqual([pesos(1_160), pesos(1_160)])
    expect(dividedAmong(pesos(11_600), [open(0, 11_600, 1_160), open(0, 11_600)])).toEqual([pesos(1_160), pesos(10_440)])
    expect(dividedAmong(pesos(4_000), [open(0, 1_000), open(0, 1_000)])).toEqual([pesos(2_000), pesos(2_000)])
  })

  it('gives an unknown one an equal part, and loses nothing to rounding', () => {
    expect(dividedAmong(pesos(900), [null, open(1_000), open(500)])).toEqual([pesos(300), pesos(400), pesos(200)])
    for (const amount of [1n, 100n, 10_000_001n])
      for (const invoices of [
        [null, null, null],
        [open(1), open(2), open(4)],
        [open(0, 3), null, open(0, 7)],
      ]) {
        const parts = dividedAmong(amount, invoices)
        expect(parts.reduce((sum, one) => sum + one, 0n)).toBe(amount)
        expect(parts.every((one) => one >= 0n)).toBe(true)
      }
  })

  it('is divided by rate, and apart what IVA was withheld of', () => {
    const taxes = (list: number[]) => JSON.stringify(list.map((one) => one * 1_000_000))
    const invoice = (total: number, list: number[] | null) => ({ ...open(total), stated: pesos(total), taxes: list && taxes(list) })
    const [general, border, zero] = [invoice(1_160, null), invoice(1_080, [0, 0, 1_000, 80]), invoice(1_000, [0, 0, 0, 0, 1_000])]
    const withheld = invoice(1_060, [1_000, 160, 0, 0, 0, 0, 100])
    const own = (of: Partial<Record<(typeof BREAKDOWN)[number], number>>, net: number) =>
      [...BREAKDOWN.map((name) => of[name] ?? 0), net].map((one) => one * 1_000_000)
    const parts = (list: number[], total: number, ...invoices: (typeof general)[]) =>
      dividedByRate(pesos(total), taxes(list), invoices).map((one) => ({ amount: one.amount, taxes: JSON.parse(one.taxes ?? '[]') }))
    expect(parts([500, 80, 300, 24, 200], 1_104, general, border, zero).map(({ amount }) => amount)).toEqual([580, 324, 200].map(pesos))
    expect(parts([1_000, 160, 0, 0, 0, 0, 50], 1_110, general, withheld)).toEqual([
      { amount: pesos(580), taxes: own({ base_16: 500, iva_16: 80 }, 500) },
      { amount: pesos(530), taxes: own({ base_16: 500, iva_16: 80, iva_retenido: 50 }, 500) },
    ])
    // What only lines tell is in proportion to the parts.
    const notSubject = BREAKDOWN.map((name) => ({ base_8: 500, iva_8: 40, base_0: 100, base_no_objeto: 64 })[name as string] ?? 0)
    expect(parts(notSubject, 704, border, zero)).toEqual([
      { amount: pesos(594), taxes: own({ base_8: 500, iva_8: 40, base_no_objeto: 54 }, 554) },
      { amount: pesos(110), taxes: own({ base_0: 100, base_no_objeto: 10 }, 110) },
    ])
    // Without its taxes all of a document is at the general rate.
    expect(dividedByRate(pesos(1_160), null, [general, zero])).toEqual([
      { amount: pesos(1_160), taxes: null },
      { amount: 0n, taxes: null },
    ])
  })

  it('rests on what was issued until the note, so that no later document can change what a reader of it sees', () => {
    const parties = { emisor_rfc: 'AAA010101AAA', receptor_rfc: 'BBB020202BB1', currency: 'MXN', tipo_cambio: null }
    const invoice = { ...parties, version: '4.0', tipo_comprobante: 'I', metodo_pago: 'PPD', total_micros: pesos(1_160), issued_at: 1_000 }
    const one = { ...parties, uuid: 'N', fecha: '2026-05-20T10:00:00', issued_at: 2_000 }
    const payment = (issued_at: number) => ({
      ...{ ...parties, kind: 'P' as const, source: 'P', amount: pesos(1_000), fecha_pago: '2026-05-10T12:00:00', issued_at },
      ...{ cancelled: false, substituted_from: null },
    })
    expect(openAt(one, invoice, [payment(1_500)])).toEqual({ open: pesos(160), paid: pesos(1_000), total: pesos(1_160) })
    expect(openAt(one, invoice, [payment(2_500)])).toEqual({ open: pesos(1_160), paid: 0n, total: pesos(1_160) })
    expect(openAt(one, { ...invoice, issued_at: 2_500 }, [])).toBeNull()
    expect(openAt(one, { ...invoice, receptor_rfc: 'CCC030303CC2' }, [])).toBeNull()
    expect(openAt(one, { ...invoice, metodo_pago: 'PUE' }, [])).toEqual({ open: 0n, paid: pesos(1_160), total: pesos(1_160) })
  })
})
