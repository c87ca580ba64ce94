import type { Rules } from '../../authority/rules/dated.ts'
import { type Micros, micros, times } from '../../platform/money.ts'
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
export function limitsOf(all: Rules, uso: string, year: string, incomeOf: IncomeOf): Limit[] {
  const rules = all.on(`${year}-12-31`)
  const { category, cap_group, limit } = personalRule(rules, uso)
  if (cap_group === null) return []
  const annual = rules.find('uma')?.annual ?? null
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

/** What was claimed under a limit so far, and what of it all limits allowed. */
export interface Use {
  claimed: Micros
  allowed: Micros
}
export type Used = ReadonlyMap<string, Use>

const atMost = (limit: Micros, amount: Micros): Micros => (amount > limit ? limit : amount)

/**
 * Claims an amount under limits, and returns what they allow of it: the net of a year is deducted up to the limit, so a negative amount first
 * takes back what the limit did not allow. What the first limit allows is claimed under the next one.
 */
export function take(limits: readonly Limit[], used: Map<string, Use>, wanted: Micros): Micros {
  let allowed = wanted
  for (const { key, amount } of limits) {
    const use = used.get(key) ?? { claimed: 0n, allowed: 0n }
    const before = use.claimed
    used.set(key, use)
    use.claimed += allowed
    if (amount !== null) allowed = atMost(amount, use.claimed) - atMost(amount, before)
  }
  for (const { key } of limits) used.get(key)!.allowed += allowed
  return allowed
}
