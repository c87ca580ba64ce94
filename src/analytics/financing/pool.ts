import { type Micros, sumAll, times } from '../../platform/money.ts'
import { INELIGIBLE } from './contract.ts'
import type { OpenItem } from './reading.ts'

/** Facts about the counterparties of open invoices. */
export interface Parties {
  connected: ReadonlySet<string>
  /** Those on the list of article 69-B, presumed or definitive. */
  blacklisted: ReadonlySet<string>
}

export const GENERIC = ['XAXX010101000', 'XEXX010101000'] as const

/** Why an invoice is not in the pool: the first reason that applies. Null when it is in it. */
export function ineligible(
  {
    rfc,
    is_old,
    is_late,
    is_in_process,
    is_mismatch,
    pesos,
  }: Pick<OpenItem, 'rfc' | 'is_old' | 'is_late' | 'is_in_process' | 'is_mismatch' | 'pesos'>,
  { connected, blacklisted }: Parties,
): (typeof INELIGIBLE)[number] | null {
  if (is_old) return 'too_old'
  if (is_late) return 'overdue_30'
  if (is_in_process) return 'cancellation_in_process'
  if (rfc === GENERIC[0] || rfc === GENERIC[1]) return 'generic_debtor'
  if (connected.has(rfc)) return 'intercompany'
  if (blacklisted.has(rfc)) return 'blacklisted'
  if (is_mismatch) return 'balance_mismatch'
  return pesos === null ? 'missing_rate' : null
}

/** Divides open invoices into those that can be sold and the others, and limits the share of one debtor in the former. */
export function poolOf(open: readonly OpenItem[], parties: Parties, advance_rate: string, debtor_cap: string) {
  const byReason = Map.groupBy(open, (one) => ineligible(one, parties) ?? '')
  const eligible = byReason.get('') ?? []
  const amountOf = (some: readonly OpenItem[]): Micros => sumAll(some.map(({ pesos }) => pesos ?? 0n))
  const countOf = (some: readonly OpenItem[]): number => some.reduce((sum, { n }) => sum + n, 0)
  const all = amountOf(eligible)
  const cap = times(all, debtor_cap)
  const debtors = new Map([...Map.groupBy(eligible, ({ rfc }) => rfc)].map(([rfc, some]) => [rfc, amountOf(some)]))
  const capped = (rfc: string): Micros => {
    const mine = debtors.get(rfc) ?? 0n
    return mine < cap ? mine : cap
  }
  const usable = sumAll([...debtors.keys()].map(capped))
  return {
    eligibleOf: (rfc: string): Micros => debtors.get(rfc) ?? 0n,
    capped,
    ...{ eligible_amount: all, eligible_count: countOf(eligible), haircut: all - usable, fundable: times(usable, advance_rate) },
    ineligible: INELIGIBLE.toSorted().flatMap((reason) => {
      const some = byReason.get(reason)
      return some ? [{ reason, count: countOf(some), amount: amountOf(some) }] : []
    }),
  }
}
