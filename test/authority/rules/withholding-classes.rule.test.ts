import { expect, it } from 'vitest'
import defaults from '../../../assets/rules.json' with { type: 'json' }
import { type RuleRow, Rules } from '../../../src/authority/rules/dated.ts'
import { operationOf, withholdingClassOf } from '../../../src/authority/rules/withholding-classes.ts'

const on = (day: string) => Rules.of([], defaults as RuleRow[], day)

it.each([
  // Issuer (natural person, regime), key of the largest line, class of insights.md 8.2 and 8.18.
  [true, '612', '84111500', 'honorarios'],
  [true, '612', '43211503', null],
  [true, '606', '80131502', 'arrendamiento'],
  [true, '606', '84111500', 'arrendamiento'],
  // Restaurants, hotels, repair of cars and computers, taxis, electricity: business.
  [true, '612', '90101500', null],
  [true, '612', '90111500', null],
  [true, '612', '78181500', null],
  [true, '612', '81112301', null],
  [true, '612', '78111804', null],
  [true, '612', '83101800', null],
  [true, '612', '80121600', 'honorarios'],
  [true, '612', '81101500', 'honorarios'],
  [true, '612', '85121600', 'honorarios'],
  [true, '612', '82111700', 'honorarios'],
  [true, '612', '86101700', 'honorarios'],
  // Agents of insurance.
  [true, '612', '84131600', 'honorarios'],
  [true, '626', '11191600', 'resico_pf'],
  [true, '612', '11191600', 'desperdicios'],
  [false, '601', '11141600', 'desperdicios'],
  [false, '601', '80111600', 'servicios_personal'],
  [true, '612', '80131502', 'arrendamiento'],
  [true, '626', '43211503', 'resico_pf'],
  [true, '626', '80131502', 'resico_pf'],
  [true, '612', '80141601', 'comision'],
  [true, '605', '80141601', null],
  [true, '612', '78101802', 'autotransporte'],
  [true, '626', '78101802', 'resico_pf'],
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
  expect(ratesOf(true, '626', '78101802')).toEqual(['125/10000', '4/100 of net'])
  expect(ratesOf(true, '626', '80141601')).toEqual(['125/10000', '2/3 of iva'])
  expect(ratesOf(true, '626', '90101500')).toEqual(['125/10000', null])
  // The primary sector may be exempt.
  expect(ratesOf(true, '626', '50301500')).toEqual([null, null])
  expect(ratesOf(true, '612', '80141601')).toEqual([null, '2/3 of iva'])
  expect(ratesOf(true, '612', '84131600')).toEqual(['10/100', '2/3 of iva'])
  expect(ratesOf(false, '601', '11141600')).toEqual([null, '1/1 of iva'])
})

it.each([
  ['2019-12-31', null],
  ['2020-01-01', '6/100 of net'],
  ['2021-08-31', '6/100 of net'],
  ['2021-09-01', null],
])('of personnel services, on %s, IVA is %s', (day, expected) => {
  const { isr, iva } = withholdingClassOf(on(day), { isPerson: false, regimen: '601', clave: '80111600' })!
  expect([isr, iva && `${iva.numerator}/${iva.denominator} of ${iva.of}`]).toEqual([null, expected])
})

it.each([
  // Day, issuer's regime, key: the kind of operation in the DIOT.
  ['2024-12-31', '601', '43211503', '85'],
  ['2025-01-31', '601', '43211503', '02'],
  ['2024-12-31', '601', '80131502', '06'],
  ['2025-01-31', '606', null, '06'],
  ['2024-12-31', '601', '81112400', '85'],
  ['2025-01-31', '601', '81112400', '06'],
  ['2024-12-31', '612', '84111500', '03'],
  ['2025-01-31', '601', '84111500', '03'],
  ['2025-01-31', '601', '78101802', '85'],
  ['2025-01-31', '601', null, '85'],
  ['2025-01-31', '601', '95101500', '02'],
])('on %s a supplier of %s with the key %s has the operation %s', (day, regimen, clave, expected) => {
  expect(operationOf(on(day), { regimen, clave })).toBe(expected)
})

it('begins a class with its first value, which is also that of the days before', () => {
  const resico = { isPerson: true, regimen: '626', clave: '84111500' }
  expect(withholdingClassOf(on('2022-01-01'), resico)?.class).toBe('resico_pf')
  expect(withholdingClassOf(on('2021-12-31'), resico)).toEqual(withholdingClassOf(on('2022-01-01'), resico))
})
