import type { Rules } from '../../authority/rules/dated.ts'
import type { Micros } from '../../platform/money.ts'
import { GENERIC_RFCS } from '../../taxpayers/rfc.ts'
import { percentOf, quotientText, sumAll } from '../common/figures.ts'

const WHOLE = 10_000n

/** The Herfindahl-Hirschman index of totals above zero, 0 to 10,000, rounded half up once. Null without any. */
export function hhiOf(totals: readonly Micros[]): number | null {
  const base = sumAll(totals)
  const index = quotientText(sumAll(totals.map((one) => one * one)) * WHOLE, base * base, 0)
  return index === null ? null : Number(index)
}

/** The counterparties that take part in shares, in their order. */
export const rankedOf = <T extends { rfc: string; total: Micros }>(counterparties: readonly T[], isGenericIncluded: boolean): T[] =>
  counterparties.filter(({ rfc, total }) => total > 0n && (isGenericIncluded || !GENERIC_RFCS.includes(rfc)))

/** How concentrated the totals are, the largest first. */
export function sharesOf(totals: readonly Micros[], rules: Rules) {
  const base = sumAll(totals)
  const top = (count: number) => percentOf(sumAll(totals.slice(0, count)), base)
  const hhi = hhiOf(totals)
  const { moderate, high } = rules.get('concentration.levels')
  return {
    base,
    hhi,
    effective_n: hhi === null ? null : quotientText(WHOLE, BigInt(hhi), 2),
    ...{ top1_share: top(1), top3_share: top(3), top5_share: top(5), top10_share: top(10) },
    level: hhi === null ? null : hhi < moderate ? ('low' as const) : hhi <= high ? ('moderate' as const) : ('high' as const),
  }
}
