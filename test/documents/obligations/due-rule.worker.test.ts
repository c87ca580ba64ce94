import { expect, it } from 'vitest'
import defaults from '../../../assets/rules.json' with { type: 'json' }
import { type RuleKey, type RuleRow, Rules } from '../../../src/authority/rules/dated.ts'
import { dueRuleOf, withholdingsDueOn } from '../../../src/documents/obligations/obligations-of.ts'
import { addMonths } from '../../../src/platform/time/months.ts'

const own = (key: RuleKey, valid_from: string, value: unknown): RuleRow => ({
  ...{ key, value, valid_from, valid_to: null, rule_ref: 'Own', source: 'An operator', confidence: 'proposed' },
})
const rulesWith = (...rows: RuleRow[]): Rules => Rules.of(rows, defaults as RuleRow[], '2026-11-22')
const dayOf = (day: number) => `A más tardar el día ${day} del mes inmediato posterior al periodo que corresponda.`

it('what was withheld is due on the day on which an obligation of that day is due, in each month', () => {
  const rules = rulesWith()
  const { dueOf } = dueRuleOf(rules, true, dayOf(17))
  const months = Array.from({ length: 60 }, (_, n) => addMonths('2023-01', n))
  expect(months.map((month) => withholdingsDueOn(rules, month))).toEqual(months.map((month) => dueOf!(month)))
  // 17 August 2025 is a Sunday, and 17 November 2025 a holiday.
  expect(['2025-06', '2025-07', '2025-10'].map((month) => withholdingsDueOn(rules, month))).toEqual([
    '2025-07-17',
    '2025-08-18',
    '2025-11-18',
  ])
})

it('a period has the due day, and the extension, of the rules in force on its last day', () => {
  const rules = rulesWith(own('obligation.due_day', '2026-03-31', 20))
  expect(['2026-02', '2026-03'].map((month) => withholdingsDueOn(rules, month))).toEqual(['2026-03-17', '2026-04-20'])
  const [seventeenth, twentieth] = [17, 20].map((day) => dueRuleOf(rules, true, dayOf(day)))
  expect(['2026-02', '2026-03'].map((month) => seventeenth!.isExtended(month))).toEqual([true, false])
  expect(['2026-02', '2026-03'].map((month) => twentieth!.isExtended(month))).toEqual([false, true])
})

it('a year has the annual due day of its 31 December', () => {
  const rules = rulesWith(own('obligation.annual_due', '2025-12-31', { moral: '05-15', fisica: '05-29' }))
  const { dueOf } = dueRuleOf(rules, true, 'Dentro de los tres meses siguientes al cierre del ejercicio.')
  expect(['2024', '2025'].map((year) => dueOf!(year))).toEqual(['2025-03-31', '2026-05-15'])
})
