import fc from 'fast-check'
import { expect, it } from 'vitest'
import { basisOf, type RuleRow, Rules } from '../../../src/authority/rules/dated.ts'
import { invalid } from '../../../src/platform/failures.ts'
import { dayOfEpoch, epochDayOf } from '../../../src/platform/time/calendar.ts'

const FIRST = epochDayOf('2025-01-01')
const rowOf = (from: number, days: number | null, n: number, by: string): RuleRow => ({
  ...{ key: 'cash.threshold', value: `${n}`, rule_ref: 'LISR 27-III', source: by, confidence: 'verified' },
  ...{ valid_from: dayOfEpoch(FIRST + from), valid_to: days === null ? null : dayOfEpoch(FIRST + from + days) },
})
const rows = (by: string) =>
  fc
    .uniqueArray(fc.tuple(fc.nat(40), fc.option(fc.nat(12)), fc.nat(9_999)), { maxLength: 6, selector: ([from]) => from })
    .map((all) => all.map(([from, days, n]) => rowOf(from, days, n, by)))

it('the row of a day is the one in force that began last: of the own ones, otherwise of the defaults; before all of these the next', () => {
  fc.assert(
    fc.property(rows('own'), rows('default'), fc.array(fc.integer({ min: -2, max: 60 }), { maxLength: 20 }), (own, defaults, days) => {
      const rules = Rules.of(own, defaults, '2025-01-01')
      const read = new Set<RuleRow>()
      for (const n of days) {
        const day = dayOfEpoch(FIRST + n)
        // The slow way: from the newest row to the oldest, the first of which the day is one of its days.
        let expected: RuleRow | null = null
        for (const list of [own, defaults])
          for (let at = 60; at >= -2 && expected === null; at--)
            expected =
              list.find((row) => row.valid_from === dayOfEpoch(FIRST + at) && at <= n && (row.valid_to === null || row.valid_to >= day)) ??
              null
        const isBefore = defaults.every(({ valid_from }) => day < valid_from)
        for (let at = n + 1; at <= 40 && isBefore && expected === null; at++)
          expected = [...own, ...defaults].find((row) => row.valid_from === dayOfEpoch(FIRST + at)) ?? null
        expect(rules.on(day).find('cash.threshold')).toBe(expected?.value ?? null)
        if (expected) read.add(expected)
      }
      expect(new Set(rules.basis())).toEqual(read)
    }),
  )
})

it('a value holds on its first and its last day, on the days before when it is the first, and not on those after', () => {
  const rules = Rules.of([], [rowOf(10, 5, 2000, 'law')], '2025-01-11')
  const valueOn = (n: number) => rules.on(dayOfEpoch(FIRST + n)).find('cash.threshold')
  expect([9, 10, 15, 16].map(valueOn)).toEqual(['2000', '2000', '2000', null])
})

it('a rule without a value on the day is refused, 422', () => {
  const rules = Rules.of([], [rowOf(10, 5, 2000, 'law')], '2025-01-11')
  expect(rules.get('cash.threshold')).toBe('2000')
  expect(() => rules.on('2025-01-17').get('cash.threshold')).toThrow(
    invalid('rule.none', [{ path: 'query', message: 'The rule cash.threshold has no value on 2025-01-17.' }]),
  )
})

it('a basis has what was read once, in order, and leaves out the text of catalogs', () => {
  const [uma, general] = [
    { ...rowOf(0, null, 1, 'INEGI'), key: 'uma' as const },
    { ...rowOf(0, null, 1, 'LIVA'), key: 'vat.general' as const },
  ]
  const catalog = { ...rowOf(0, null, 1, 'SAT'), key: 'catalog.forma_pago' as const, value: { '01': 'Efectivo' } }
  const rules = Rules.of([], [general, catalog, uma], '2025-03-01')
  expect(rules.basis()).toEqual([])
  rules.get('vat.general')
  rules.on('2025-04-01').get('uma')
  rules.get('vat.general')
  expect(rules.get('catalog.forma_pago')['01']).toBe('Efectivo')
  expect(rules.basis()).toEqual(basisOf([general, catalog, uma]))
  expect(rules.basis()).toEqual([{ ...catalog, value: null }, uma, general])
})
