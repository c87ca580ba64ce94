import defaults from '../../../assets/rules.json' with { type: 'json' }
import type { RuleKey, RuleRow, RuleValues } from '../../../src/authority/rules/dated.ts'
import type { Day } from '../oracle/shapes.ts'
import { addDays, daysBetween } from '../oracle/world.ts'
import type { Draws } from './draws.ts'

const rows = defaults as RuleRow[]
const defaultOf = <Key extends RuleKey>(key: Key): RuleValues[Key] => rows.findLast((row) => row.key === key)!.value as RuleValues[Key]

/** The other values that an operator may set. Some judge documents of a day, some those of a year or period, and some today's view. */
const OTHERS: readonly (readonly [key: RuleKey, value: unknown])[] = [
  ['cash.threshold', '500'],
  ['payment_forms', { cash: ['01'], electronic: ['02', '04', '28', '29'], review: ['03', '05', '06'] }],
  ['deduction.fuel', { claves: ['15101', '84'] }],
  ['deduction.flow_basis', ['612']],
  ['repse.claves', ['80', '78', '84']],
  ['rep.grace_days', 150],
  ['rep.due_day', 25],
  ['withholding.tolerance', '0.2'],
  ['withholding.honorarios', { ...defaultOf('withholding.honorarios'), isr: { numerator: 1, denominator: 5 } }],
  [
    'withholding.autotransporte',
    { ...defaultOf('withholding.autotransporte'), iva: { numerator: 3, denominator: 50, of: 'net', claves: null } },
  ],
  ['financing.default_terms_days', 75],
  ['financing.max_overdue_days', 5],
  ['financing.max_age_days', 300],
  ['isr.company', '0.25'],
  ['efos.correction_business_days', 12],
  ['obligation.due_day', 20],
  ['investment.I03', { annual_rate: '0.40' }],
  ['deduction.D01', { ...defaultOf('deduction.D01'), payment: 'any' }],
  ['deduction.D04', { ...defaultOf('deduction.D04'), limit: { prior_income: '0.01' } }],
  ['deduction.global_cap', { uma: '1', income: '0.02' }],
  ['concentration.levels', { moderate: 500, high: 4000 }],
  ['risk.weights', { ...defaultOf('risk.weights'), cash_over_2000: 55, metadata_only: 21 }],
  [
    'catalog.uso_cfdi',
    Object.fromEntries(
      Object.entries(defaultOf('catalog.uso_cfdi')).map(([uso, one]) => [uso, uso === 'G03' ? { ...one, regimenes: ['601'] } : one]),
    ),
  ],
]

/** Values that an operator sets of some rules, from days of these on; some end. Half of the years have none. */
export function ownRulesIn({ chance, int }: Draws, from: Day, today: Day): RuleRow[] {
  if (chance(0.5)) return []
  return OTHERS.filter(() => chance(0.5)).map(([key, value]) => {
    const valid_from = addDays(from, int(-20, daysBetween(from, today) + 20))
    const valid_to = chance(0.3) ? addDays(valid_from, int(0, 200)) : null
    return { key, value, valid_from, valid_to, rule_ref: 'Own', source: 'An operator', confidence: 'proposed' }
  })
}
