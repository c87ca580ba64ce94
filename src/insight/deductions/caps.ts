import { type Micros, micros, times } from '../../cfdi/money.ts'
import type { Rules } from '../../rules/dated.ts'
import { personalRule } from './uses.ts'

/** A limit that deductions of a year use up. A null amount limits nothing; `isUnknown` says that an unknown income would lower it. */
export interface Limit {
  key: string
  amount: Micros | null
  isUnknown: boolean
}

/** What somebody earned in a year, in micros. Null when nothing shows it. */
export type IncomeOf = (year: string) => Micros | null

const smallest = (amounts: readonly (Micros | null)[]): Micros | null =>
  amounts.reduce<Micros | null>((least, one) => (one === null ? least : least === null || one < least ? one : least), null)

const partOf = (income: Micros | null, rate: string | undefined): Micros | null =>
  income === null || rate === undefined ? null : times(income < 0n ? 0n : income, rate)

/** The limits of a personal deduction in a year, its own first. It uses up all of them. */
export function limitsOf(rules: Rules, uso: string, year: string, incomeOf: IncomeOf): Limit[] {
  const { category, cap_group, limit } = personalRule(rules, uso)
  if (cap_group === null) return []
  const annual = rules.on(`${year}-12-31`).find('uma')?.annual ?? null
  const umas = (count: string | undefined) => (annual === null || count === undefined ? null : times(micros(annual)!, count))
  const limits: Limit[] = []
  if (limit !== null) {
    const before = limit.prior_income === undefined ? null : incomeOf(String(Number(year) - 1))
    const now = limit.income === undefined ? null : incomeOf(year)
    const amount = smallest([
      ...[umas(limit.uma), partOf(now, limit.income), partOf(before, limit.prior_income)],
      limit.amount === undefined ? null : micros(limit.amount),
    ])
    const isUnknown = (limit.income !== undefined && now === null) || (limit.prior_income !== undefined && before === null)
    limits.push({ key: `${cap_group === 'global' ? category : cap_group}|${year}`, amount, isUnknown })
  }
  if (cap_group !== 'global') return limits
  const { uma, income } = rules.get('deduction.global_cap')
  const earned = incomeOf(year)
  return [...limits, { key: `global|${year}`, amount: smallest([umas(uma), partOf(earned, income)]), isUnknown: earned === null }]
}

/** Uses up limits by as much of an amount as they allow, and returns that. A negative amount gives back. */
export function take(limits: readonly Limit[], used: Map<string, Micros>, wanted: Micros): Micros {
  const least = smallest(limits.map(({ key, amount }) => (amount === null ? null : amount - (used.get(key) ?? 0n))))
  const allowed = wanted < 0n || least === null || least > wanted ? wanted : least < 0n ? 0n : least
  for (const { key } of limits) used.set(key, (used.get(key) ?? 0n) + allowed)
  return allowed
}
