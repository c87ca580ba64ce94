import type { Rules } from '../../authority/rules/dated.ts'
import type { Days } from '../../cfdi/population/population.ts'

const PERSONAL = ['D01', 'D02', 'D03', 'D04', 'D05', 'D06', 'D07', 'D08', 'D09', 'D10'] as const
export const INVESTMENTS = ['I01', 'I02', 'I03', 'I04', 'I05', 'I06', 'I07', 'I08'] as const

/** The uses that are personal deductions of the RFC, none for a company, and those of tuition in some year. */
export interface Uses {
  personal: readonly string[]
  tuition: readonly string[]
}

/** The uses in the years of some days. */
export function usesOf(rules: Rules, rfc: string, days: Days): Uses {
  if (rfc.length === 12) return { personal: [], tuition: [] }
  const years = rules.partsOf(days, 'year').map((part) => part.rules)
  const personal = PERSONAL.filter((uso) => years.some((on) => on.find(`deduction.${uso}`) !== null))
  return { personal, tuition: personal.filter((uso) => years.some((on) => on.find(`deduction.${uso}`)?.cap_group === 'tuition')) }
}

/** The rule of a personal use, in a year. */
export const personalRule = (rules: Rules, uso: string) => rules.get(`deduction.${uso}` as `deduction.${(typeof PERSONAL)[number]}`)

/** The part of an investment that is deducted in a year, as decimal text; null for other uses. */
export const rateOf = (rules: Rules, uso: string | null): string | null => {
  const known = INVESTMENTS.find((one) => one === uso)
  return known === undefined ? null : (rules.find(`investment.${known}`)?.annual_rate ?? null)
}
