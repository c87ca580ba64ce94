import type { Rules } from '../../authority/rules/dated.ts'
import { parseSum } from '../../cfdi/population/sums.ts'
import { decimal, type Micros } from '../../platform/money.ts'
import { sumAll } from '../common/figures.ts'
import type { Limit, Used } from './caps.ts'
import type { DeductionTotals } from './contract.ts'
import { claimOf, type Decided } from './decide.ts'
import type { BusinessTotals } from './store.ts'
import { rateOf } from './uses.ts'

interface Sums {
  cap_group: string | null
  gross: Micros
  deductible: Micros
  review: Micros
  limits: Map<string, Limit>
}

const deductibleOf = ({ year, uso, whole, parts }: BusinessTotals, rules: Rules): Micros => {
  const rate = rateOf(rules.on(`${year}-12-31`), uso)
  const listed = JSON.parse(`[${parts ?? ''}]`) as [string, ...(string | number)[]][]
  // SQL has applied the rate of an investment to what is deducted whole.
  return (
    parseSum(whole) +
    sumAll(
      listed.map(([gross, ...amounts]) => {
        const [paid, credited, total] = amounts.map(BigInt) as [Micros, Micros, Micros]
        return claimOf(BigInt(gross), paid + credited, total, true, rate)
      }),
    )
  )
}

/** Adds up documents by year and category, ascending. What a category used of a limit is what all of the limit’s categories did. */
export function totalsOf(
  decided: readonly Decided[],
  business: readonly BusinessTotals[],
  used: Used,
  rules: Rules,
): Omit<DeductionTotals, 'drilldown'>[] {
  const groups = new Map<string, Sums>()
  const of = (year: string, category: string, cap_group: string | null): Sums => {
    const key = `${year}|${category}`
    const known = groups.get(key) ?? { cap_group, gross: 0n, deductible: 0n, review: 0n, limits: new Map() }
    groups.set(key, known)
    return known
  }
  for (const one of business) {
    const sums = of(one.year, one.category, null)
    sums.gross += parseSum(one.gross)
    sums.review += parseSum(one.review)
    sums.deductible += deductibleOf(one, rules)
  }
  for (const { document, category, cap_group, gross, deductible, status, limits, reasons } of decided) {
    if (category === null || reasons.includes('cancelled')) continue
    const sums = of(document.fecha.slice(0, 4), category, cap_group)
    for (const limit of limits) sums.limits.set(limit.key, limit)
    sums.gross += gross ?? 0n
    sums.deductible += deductible
    if (status === 'review') sums.review += gross ?? 0n
  }
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, { cap_group, gross, deductible, review, limits }]) => {
      const [year = '', category = ''] = key.split('|')
      const own = [...limits.values()].filter((one) => cap_group !== 'global' || one.key.startsWith('global'))
      const isLimited = own.length > 0 && own.every(({ amount }) => amount !== null)
      const limit = sumAll(own.map(({ amount }) => amount ?? 0n))
      const spent = own.length > 0 ? sumAll(own.map((one) => used.get(one.key)?.allowed ?? 0n)) : deductible
      return {
        ...{ year, category, cap_group, gross_amount: decimal(gross), deductible_amount: decimal(deductible) },
        ...{ review_amount: decimal(review), limit: isLimited ? decimal(limit) : null, used: decimal(spent) },
        remaining: isLimited ? decimal(limit > spent ? limit - spent : 0n) : null,
        cap_unknown: own.some(({ isUnknown }) => isUnknown),
      }
    })
}
