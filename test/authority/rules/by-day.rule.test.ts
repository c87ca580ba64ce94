import fc from 'fast-check'
import { expect, it } from 'vitest'
import { byDay } from '../../../src/authority/rules/by-day.ts'
import { type RuleRow, Rules } from '../../../src/authority/rules/dated.ts'
import { dayOfEpoch, epochDayOf } from '../../../src/platform/time/calendar.ts'

const rowOf = (valid_from: string, value: unknown, valid_to: string | null = null, key: RuleRow['key'] = 'cash.threshold'): RuleRow => ({
  ...{ key, value, valid_from, valid_to, rule_ref: 'LISR 27-III', source: 'A test', confidence: 'verified' },
})
const LAW = rowOf('2010-01-01', '2000')
const DAYS = { first: '2025-01-01', last: '2025-12-31' }
const limit = (rules: Rules): string => rules.get('cash.threshold')
const cited = (rules: Rules) => rules.basis().map(({ value, valid_from }) => [value, valid_from])

it('with one version the SQL is what the rules of any day make, whatever changes beside it', () => {
  const rules = Rules.of([rowOf('2026-01-01', '3000')], [LAW, rowOf('2025-06-01', '0.3', null, 'isr.company')], '2026-11-22')
  expect(byDay(rules, 'own.fecha', DAYS, limit)).toBe('2000')
  // A value that begins after the range is not cited.
  expect(cited(rules)).toEqual([['2000', '2010-01-01']])
})

it('with several versions the day decides, and each is cited', () => {
  const rules = Rules.of([rowOf('2025-03-15', '500', '2025-08-31')], [LAW], '2026-11-22')
  expect(byDay(rules, 'day', DAYS, limit)).toBe("(case when day < '2025-03-15' then 2000 when day < '2025-09-01' then 500 else 2000 end)")
  expect(cited(rules)).toEqual([
    ['2000', '2010-01-01'],
    ['500', '2025-03-15'],
  ])
})

it('a month or a year has the value of its last day', () => {
  const rules = Rules.of([rowOf('2025-03-15', '500')], [LAW], '2026-11-22')
  expect(byDay(rules, 'day', DAYS, limit, 'month')).toBe("(case when day < '2025-03-01' then 2000 else 500 end)")
  expect(byDay(rules, 'day', DAYS, limit, 'year')).toBe('500')
  expect(byDay(rules, 'day', { first: '2024-05-01', last: '2025-02-28' }, limit, 'year')).toBe(
    "(case when day < '2025-01-01' then 2000 else 500 end)",
  )
})

it('the SQL chooses on each day what the rules of the day say, and what it cites is what it can choose', () => {
  const FIRST = epochDayOf('2025-01-01')
  const day = fc.nat(60).map((n) => dayOfEpoch(FIRST + n))
  const row = fc
    .tuple(day, fc.option(fc.nat(9)), fc.nat(99))
    .map(([from, days, n]) => rowOf(from, `${n}`, days === null ? null : dayOfEpoch(epochDayOf(from) + days)))
  fc.assert(
    fc.property(fc.uniqueArray(row, { selector: ({ valid_from }) => valid_from, maxLength: 5 }), day, day, (own, one, other) => {
      const [first, last] = [one, other].sort() as [string, string]
      const rules = Rules.of(own, [LAW], '2026-11-22')
      const text = byDay(rules, 'day', { first, last }, limit)
      const cases = [...text.matchAll(/when day < '(\S+)' then (\d+)/g)].map(([, until, value]) => ({ until: until!, value: value! }))
      const otherwise = /(\d+)( end\))?$/.exec(text)![1]!
      const chosen = new Set<string>()
      for (let at = epochDayOf(first); at <= epochDayOf(last); at++) {
        const on = dayOfEpoch(at)
        const value = cases.find(({ until }) => on < until)?.value ?? otherwise
        chosen.add(value)
        expect(value).toBe(Rules.of(own, [LAW], on).get('cash.threshold'))
      }
      expect(new Set(rules.basis().map((found) => found.value))).toEqual(chosen)
    }),
  )
})
