import { describe, expect, it } from 'vitest'
import rows from '../../assets/rules.json' with { type: 'json' }
import type { RuleRow } from '../../src/authority/rules/dated.ts'
import { DEFAULT_RULES } from './oracle/rules.ts'
import { rulesFrom, statedOf } from './support/rules.ts'

describe('the dated rules of the service', () => {
  const rules = rulesFrom(rows as RuleRow[])('2026-06-30')

  it('state the numbers that the oracle has from the definitions', () => {
    expect(statedOf(rules)).toEqual(statedOf(DEFAULT_RULES))
  })

  it('have the levels of schools, the investment rates and the thresholds', () => {
    expect(Object.values(rules.tuition).sort()).toEqual(Object.values(DEFAULT_RULES.tuition).sort())
    expect(rules.investment_rates).toEqual(DEFAULT_RULES.investment_rates)
    expect(rules.thresholds).toMatchObject({ cash_share: '10.00', customer_concentration: '1800', tax_compliance: 'positivo' })
  })
})
