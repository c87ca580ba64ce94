import type { Filings } from '../../../documents/obligations/filings.ts'
import { epochDayOf } from '../../../platform/time/calendar.ts'

const newest = <One>(list: readonly One[], day: (one: One) => string): One[] =>
  [...list].sort((a, b) => (day(a) < day(b) ? 1 : day(a) > day(b) ? -1 : 0))

/** Opinions, changes of the tax status, what is to be filed by obligation and period, and certificates, each from the newest on. */
export function compliance({ opinions, changes, obligations, certificates }: Filings, today: string) {
  const returns = obligations.flatMap(({ description, periodicity, period, due_date, status, declaration_id }) =>
    period === null || due_date === null
      ? []
      : [{ kind: 'return' as const, description, periodicity, period, due_date, status, declaration_id }],
  )
  return [
    ...newest(opinions, ({ date }) => date).map((one) => ({ kind: 'opinion' as const, ...one })),
    ...newest(changes, ({ date }) => date).map((one) => ({ kind: 'csf_change' as const, ...one })),
    ...newest(returns, ({ due_date }) => due_date),
    ...newest(certificates, ({ valid_to }) => valid_to).map(({ serial, kind, valid_to, status }) => ({
      ...{ kind: 'certificate' as const, serial, certificate_kind: kind, valid_to, status },
      days_to_expiry: epochDayOf(valid_to) - epochDayOf(today),
    })),
  ]
}
