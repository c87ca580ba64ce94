import { describe, expect, it } from 'vitest'
import { termDaysOf } from '../../src/cfdi/payment-terms.ts'

describe('the days until an invoice is due', () => {
  it.each([
    ...([
      ['Contado', 0],
      ['PAGO INMEDIATO', 0],
      ['30 días', 30],
      ['30 DI\u0301AS', 30],
      ['crédito a 15 dias', 15],
      ['1 día', 1],
      ['45 days net', 45],
      ['net 60', 60],
      ['NETO A 90', 90],
      ['7d', 7],
      ['365 dias', 365],
    ] as const),
    ...([
      [null, null],
      ['', null],
      ['366 días', null],
      ['999 d', null],
      ['Crédito', null],
      ['a 30', null],
      ['planet 30', null],
    ] as const),
  ])('of the terms %s are %s', (condiciones, days) => {
    expect(termDaysOf(condiciones)).toBe(days)
  })
})
