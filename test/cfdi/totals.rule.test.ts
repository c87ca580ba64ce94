import Big from 'big.js'
import { describe, expect, it } from 'vitest'
import { addTo, type Cells, type Countable, contribution, nothing, parseCells, writeCells } from '../../src/cfdi/totals.ts'
import { decimal } from '../../src/platform/money.ts'
import { randomOf } from '../support/random.ts'

const invoice: Countable = {
  kind: 'cfdi',
  version: '4.0',
  fecha: '2025-03-07T23:59:59',
  tipo_comprobante: 'I',
  metodo_pago: 'PPD',
  estatus: 'vigente',
  substituted_from: null,
  emisor_rfc: 'AAA010101AAA',
  receptor_rfc: 'BBB020202BB1',
  currency: 'MXN',
  tipo_cambio: null,
  subtotal: '100.00',
  descuento: '10',
  total: '104.40',
  iva_trasladado: 14_400_000n,
  iva_retenido: 0n,
  isr_retenido: null,
  ieps_trasladado: '0',
}

describe('what a document adds to its month', () => {
  it('is in the day of its literal Fecha, by type, method and status', () => {
    const { month, cell, values } = contribution(invoice) ?? {}
    expect({ month, cell }).toEqual({ month: '2025-03', cell: '07|I|PPD|vigente' })
    expect(values).toMatchObject({
      n: 1,
      with_xml: 1,
      missing_rate: 0,
      not_counted: 0,
      subtotal: 100_000_000n,
      descuento: 10_000_000n,
      total: 104_400_000n,
    })
    expect(values?.iva_trasladado).toBe(14_400_000n)
    for (const [tipo_comprobante, metodo_pago] of [
      [null, null],
      ['II', 'P|D'],
      ['', 'PUE '.repeat(500)],
    ] as const)
      expect(contribution({ ...invoice, tipo_comprobante, metodo_pago })?.cell).toBe('07|||vigente')
  })

  it('is apart while a valid document substitutes it, for whoever knows that one', () => {
    const substituted = { ...invoice, substituted_from: 500 }
    expect(contribution(substituted)?.cell).toBe('07|I|PPD|sustituido')
    expect([499, 500, 501].map((until) => contribution(substituted, until)?.cell)).toEqual([
      '07|I|PPD|vigente',
      '07|I|PPD|sustituido',
      '07|I|PPD|sustituido',
    ])
    expect(contribution({ ...substituted, estatus: 'cancelado' })?.cell).toBe('07|I|PPD|cancelado')
  })

  it('is in MXN, and nothing but a count where the rate is missing', () => {
    expect(contribution({ ...invoice, currency: 'USD', tipo_cambio: '17.123456' })?.values.total).toBe(1_787_688_806n)
    expect(contribution({ ...invoice, currency: 'MXN', tipo_cambio: '20' })?.values.total).toBe(104_400_000n)
    expect(contribution({ ...invoice, version: '3.2', currency: null })?.values.total).toBe(104_400_000n)
    for (const tipo_cambio of [null, '0']) {
      expect(contribution({ ...invoice, currency: 'USD', tipo_cambio })?.values).toMatchObject({
        n: 1,
        missing_rate: 1,
        total: 0n,
        iva_trasladado: 0n,
      })
    }
  })

  // 18 digits before the point fit, 19 do not: 500,000,000,000,000,000 dollars at 2 pesos are the least that does not.
  it.each([
    ['499999999999999999.999999', '2', 999_999_999_999_999_999_999_998n],
    ['500000000000000000', '2', null],
    ['-500000000000000000', '2', null],
    ['999999999999999999.999999', '1', 999_999_999_999_999_999_999_999n],
  ])('of %s at a rate of %s is all of it, or nothing but a count', (total, tipo_cambio, expected) => {
    const { values } = contribution({ ...invoice, currency: 'USD', tipo_cambio, total })!
    if (expected === null) expect(values).toEqual({ ...nothing(), n: 1, with_xml: 1, not_counted: 1 })
    else expect(values).toMatchObject({ n: 1, not_counted: 0, total: expected })
  })

  it('is nothing but a count where any of its amounts does not fit', () => {
    for (const name of ['subtotal', 'descuento', 'iva_trasladado', 'iva_retenido', 'isr_retenido', 'ieps_trasladado'] as const)
      expect(contribution({ ...invoice, [name]: `1${'0'.repeat(name.includes('_') ? 24 : 18)}` })?.values).toMatchObject({
        not_counted: 1,
        total: 0n,
      })
  })

  it('is nothing but a count where only metadata is known, which says no currency', () => {
    const values = contribution({ ...invoice, version: null, currency: null })?.values
    expect(values).toEqual({ ...nothing(), n: 1, missing_rate: 1 })
  })

  it('is nothing for retenciones and for what an RFC invoices itself', () => {
    expect(contribution({ ...invoice, kind: 'retenciones', tipo_comprobante: null })).toBeNull()
    expect(contribution({ ...invoice, receptor_rfc: invoice.emisor_rfc })).toBeNull()
  })

  it('reads integers as D1 gives them, exact beyond 2^53', () => {
    const big = contribution({ ...invoice, total: '99999999999.999999', iva_trasladado: '12345678901234567', iva_retenido: 5 })
    expect(big?.values).toMatchObject({ total: 99_999_999_999_999_999n, iva_trasladado: 12_345_678_901_234_567n, iva_retenido: 5n })
  })
})

describe('cells', () => {
  it('come back from their text, and vanish with their last document', () => {
    const cells: Cells = new Map()
    const one = contribution(invoice)
    const other = contribution({ ...invoice, fecha: '2025-03-08T00:00:00' })
    if (one === null || other === null) throw new Error('Both count.')
    addTo(cells, one, 1)
    addTo(cells, other, 1)
    expect(parseCells(writeCells(cells))).toEqual(cells)
    addTo(cells, one, -1)
    expect(Object.keys(JSON.parse(writeCells(cells)))).toEqual(['08|I|PPD|vigente'])
    expect(parseCells(null).size).toBe(0)
  })

  it('hold any number of the largest amounts, and give them back', () => {
    const [cells, largest] = [new Map() as Cells, contribution({ ...invoice, subtotal: '0', descuento: null, total: '9'.repeat(18) })!]
    for (let n = 0; n < 1_000; n++) addTo(cells, largest, 1)
    const [kept] = [...parseCells(writeCells(cells)).values()]
    expect(kept?.total).toBe(1_000n * (10n ** 24n - 10n ** 6n))
    for (let n = 0; n < 1_000; n++) addTo(cells, largest, -1)
    expect(writeCells(cells)).toBe('{}')
  })

  it('have the same text whatever the order', () => {
    const random = randomOf(3)
    const all = Array.from({ length: 50 }, () =>
      contribution({ ...invoice, fecha: `2025-03-0${1 + Math.floor(random() * 9)}T00:00:00`, total: (random() * 1e6).toFixed(2) }),
    ).filter((it) => it !== null)
    const [a, b]: [Cells, Cells] = [new Map(), new Map()]
    for (const it of all) addTo(a, it, 1)
    for (const it of all.toReversed()) addTo(b, it, 1)
    expect(writeCells(a)).toBe(writeCells(b))
  })
})

it('shows micros as decimal text, rounded half up at the second place, whatever their size', () => {
  const near = [
    0n,
    1n,
    4_999n,
    5_000n,
    9_999n,
    10_000n,
    995_000n,
    2n ** 53n - 10_001n,
    2n ** 53n - 1n,
    2n ** 53n,
    2n ** 53n + 5_001n,
    10n ** 18n,
  ]
  const random = randomOf(7)
  const amounts = [...near, ...Array.from({ length: 500 }, () => BigInt(Math.floor(random() * 10 ** (1 + random() * 14))) * 1_009n)]
  for (const amount of amounts.flatMap((one) => [one, -one])) {
    const expected = new Big(amount.toString()).div(1_000_000).abs().toFixed(2, Big.roundHalfUp)
    const text = amount < 0n && expected !== '0.00' ? `-${expected}` : expected
    expect([decimal(amount), decimal(amount.toString())]).toEqual([text, text])
  }
})
