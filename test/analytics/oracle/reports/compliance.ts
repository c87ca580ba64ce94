import type { Certificate } from '../../../../src/authority/port/fields-contract.ts'
import { obligationsOf, type Registry } from '../obligations.ts'
import type { Day } from '../shapes.ts'
import { daysBetween } from '../world.ts'

export interface Filings extends Registry {
  opinions: readonly { date: Day; sense: string }[]
  changes: readonly { date: Day; field: string; from: unknown; to: unknown }[]
  certificates: readonly Certificate[]
}

const newest = <T>(list: readonly T[], day: (one: T) => string): T[] =>
  [...list].sort((a, b) => (day(a) < day(b) ? 1 : day(a) > day(b) ? -1 : 0))

/** The rows of the report `compliance`, by kind. */
export function compliance(filings: Filings) {
  const { today, opinions, changes, certificates } = filings
  const returns = obligationsOf(filings)
    .filter(({ period }) => period !== null)
    .map(({ due_rule: _, extended_due_date: __, due_date, ...one }) => ({ kind: 'return' as const, ...one, due_date: due_date! }))
  return [
    ...newest(opinions, ({ date }) => date).map((one) => ({ kind: 'opinion' as const, ...one })),
    ...newest(changes, ({ date }) => date).map((one) => ({ kind: 'csf_change' as const, ...one })),
    ...newest(returns, ({ due_date }) => due_date),
    ...newest(certificates, ({ valid_to }) => valid_to).map(({ serial, kind, valid_to, status }) => ({
      ...{ kind: 'certificate' as const, serial, certificate_kind: kind, valid_to, status, days_to_expiry: daysBetween(today, valid_to) },
    })),
  ]
}
