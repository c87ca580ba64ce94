import { expect, it } from 'vitest'
import defaults from '../../../assets/rules.json' with { type: 'json' }
import { type RuleRow, Rules } from '../../../src/authority/rules/dated.ts'
import { withholdingClassOf } from '../../../src/authority/rules/withholding-classes.ts'

const on = (day: string) => Rules.of([], defaults as RuleRow[], day)

it.each([
  // Issuer (natural person, regime), key of the largest line, class of insights.md 8.2.
  [true, '612', '84111500', 'honorarios'],
  [true, '612', '43211503', null],
  [true, '606', '80131502', 'arrendamiento'],
  [true, '606', '84111500', 'arrendamiento'],
  [true, '612', '80131502', 'arrendamiento'],
  [true, '626', '43211503', 'resico_pf'],
  [true, '626', '80131502', 'resico_pf'],
  [true, '612', '80141601', 'comision'],
  [true, '605', '80141601', null],
  [true, '612', '78101802', 'autotransporte'],
  [true, '626', '78101802', 'autotransporte'],
  [false, '601', '78101802', 'autotransporte'],
  [false, null, '78101802', 'autotransporte'],
  [false, '601', '84111500', null],
  [false, '626', '84111500', null],
  [true, null, '84111500', null],
  [true, '612', null, null],
  [true, '606', null, 'arrendamiento'],
])('of a natural person %s in %s with the key %s is %s', (isPerson, regimen, clave, expected) => {
  expect(withholdingClassOf(on('2026-05-01'), { isPerson, regimen, clave })?.class ?? null).toBe(expected)
})

it('has its rates as exact fractions', () => {
  const ratesOf = (isPerson: boolean, regimen: string, clave: string) => {
    const { isr, iva } = withholdingClassOf(on('2026-05-01'), { isPerson, regimen, clave })!
    return [isr && `${isr.numerator}/${isr.denominator}`, iva && `${iva.numerator}/${iva.denominator} of ${iva.of}`]
  }
  expect(ratesOf(true, '612', '84111500')).toEqual(['10/100', '2/3 of iva'])
  expect(ratesOf(true, '606', '80131502')).toEqual(['10/100', '2/3 of iva'])
  expect(ratesOf(true, '626', '84111500')).toEqual(['125/10000', '2/3 of iva'])
  // Of goods, a RESICO has ISR withheld and no IVA.
  expect(ratesOf(true, '626', '43211503')).toEqual(['125/10000', null])
  expect(ratesOf(false, '601', '78101802')).toEqual([null, '4/100 of net'])
})

it('begins a class with its first value, which is also that of the days before', () => {
  const resico = { isPerson: true, regimen: '626', clave: '84111500' }
  expect(withholdingClassOf(on('2022-01-01'), resico)?.class).toBe('resico_pf')
  expect(withholdingClassOf(on('2021-12-31'), resico)).toEqual(withholdingClassOf(on('2022-01-01'), resico))
})
