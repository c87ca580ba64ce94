import type { Rules } from '../../rules/dated.ts'

const PERSONAL = ['D01', 'D02', 'D03', 'D04', 'D05', 'D06', 'D07', 'D08', 'D09', 'D10'] as const
export const INVESTMENTS = ['I01', 'I02', 'I03', 'I04', 'I05', 'I06', 'I07', 'I08'] as const

/** The uses that are personal deductions of the RFC, none for a company, those of them that only electronic payment allows, and tuition. */
export interface Uses {
  personal: readonly string[]
  electronicOnly: readonly string[]
  tuition: readonly string[]
}

export function usesOf(rules: Rules, rfc: string): Uses {
  if (rfc.length === 12) return { personal: [], electronicOnly: [], tuition: [] }
  const known = PERSONAL.filter((uso) => rules.find(`deduction.${uso}`) !== null)
  const having = (isMeant: (rule: ReturnType<typeof personalRule>) => boolean) => known.filter((uso) => isMeant(personalRule(rules, uso)))
  return {
    personal: known,
    electronicOnly: having(({ payment }) => payment === 'electronic'),
    tuition: having(({ cap_group }) => cap_group === 'tuition'),
  }
}

/** The rule of a personal use. */
export const personalRule = (rules: Rules, uso: string) => rules.get(`deduction.${uso}` as `deduction.${(typeof PERSONAL)[number]}`)

/** The part of an investment that is deducted in a year, as decimal text; null for other uses. */
export const rateOf = (rules: Rules, uso: string | null): string | null => {
  const known = INVESTMENTS.find((one) => one === uso)
  return known === undefined ? null : (rules.find(`investment.${known}`)?.annual_rate ?? null)
}
