import { accruedEvents, cashEvents, creditsOfOthers } from '../../cfdi/cash/events.ts'
import type { Days } from '../../cfdi/population/population.ts'
import { sumOf } from '../../cfdi/population/sums.ts'
import { type Fragment, join, raw, sql } from '../../platform/db/fragment.ts'
import type { DirectionNumber, Partition } from '../../visibility/scoped-ledger.ts'
import type { Exclusions } from './exclusions.ts'

/** What cash events are added up of, in this order. */
export const SUMS = [
  ...(['base_16', 'iva_16', 'base_8', 'iva_8', 'base_0', 'base_exento', 'base_otras', 'iva_otras', 'iva_retenido'] as const),
]
export type Sum = (typeof SUMS)[number]

/** A group of movements of one month, or a single one that SQL leaves to be measured (`odd`). */
export type GroupRow = Record<Sum, string> & {
  direction: DirectionNumber
  month: string
  /** Of received ones. */
  party: string | null
  /** Why they are no cash events. */
  reason: string | null
  is_excluded: 0 | 1
  in_scope: 0 | 1
  /** Pairs of a document and what it applies to. */
  pairs: number
  /** IVA that paid parts state which are no cash events. */
  stated: string
  odd: string | null
}

/** Columns of the invoice that exclusions depend on. */
const MORE = ['uso_cfdi', 'products', 'total_mxn', 'fecha']

const ODD = (isCash: string) =>
  `json_object('uuid', uuid, 'applies_to', applies_to, 'tipo', tipo, 'day', day, 'source', source, 'party', party,
    'is_excluded', is_excluded, 'is_unmatched', reason is not null,
    'cash_of', iif(total_mxn is null and ${isCash}, substr(fecha, 1, 10), null))`

/** The IVA that a row of events transfers. */
export const IVA = '(iva_16 + iva_8 + iva_otras)'
/** IVA that a paid part states itself, if any. */
export const STATED = `iif(source->>3 is null, 0, ${IVA})`

/** Cash events of a direction, with what the figures distinguish. */
export function movements(partition: Partition, direction: DirectionNumber, days: Days, exclusions: Exclusions): Fragment | null {
  const events = cashEvents(partition, direction, days, MORE)
  if (events === null) return null
  const { isExcluded, isInScope, isCash } = exclusions
  const own = direction === 0 ? ['null', '0', '0', '0'] : ['counterparty', isExcluded, isInScope, isCash]
  // Whether what was paid in cash is over the limit can depend on a rate that the invoice does not state.
  return sql`select uuid, applies_to, n, issued_at, day, tipo, reason, party, is_excluded, in_scope, source, ${raw(SUMS.join(', '))},
      ${raw(`iif(is_odd or (total_mxn is null and ${own[3]}), 1, 0) as is_odd, ${ODD(own[3]!)} as as_json`)}
    from (select *, ${raw(`${own[0]} as party, ${own[1]} as is_excluded, ${own[2]} as in_scope`)} from (${events}) where reason is not 'not_counted')`
}

/** Adds up movements by month and by what the figures distinguish. */
export const groups = (movement: Fragment, direction: DirectionNumber): Fragment => sql`
  select ${raw(String(direction))} as direction, substr(day, 1, 7) as month, iif(reason is null, party, null) as party, reason, is_excluded, in_scope,
    count(distinct uuid || coalesce(applies_to, '')) as pairs,
    ${join(
      SUMS.map((name) => sql`${sumOf(`iif(is_odd, 0, ${name})`)} as ${raw(name)}`),
      ', ',
    )},
    ${sumOf(`iif(is_odd or reason is null, 0, ${STATED})`)} as stated, iif(is_odd, as_json, null) as odd
  from (${movement}) group by 2, 3, 4, 5, 6, iif(is_odd, uuid || n || coalesce(applies_to, ''), '')`

/** A month's IVA of the documents that were issued in it, or a single document that is to be measured. */
export interface AccruedRow {
  direction: DirectionNumber
  month: string
  iva: string
  odd: string | null
}

export function accrued(partition: Partition, direction: DirectionNumber, days: Days): Fragment | null {
  const events = accruedEvents(partition, direction, days)
  return (
    events &&
    sql`select ${raw(String(direction))} as direction, substr(day, 1, 7) as month, ${sumOf(`iif(is_odd, 0, ${IVA})`)} as iva,
      iif(is_odd, json_object('uuid', uuid, 'tipo', tipo, 'day', day, 'source', source), null) as odd
    from (${events}) where reason is null group by 2, iif(is_odd, uuid, '')`
  )
}

/** IVA of the groups `[[supplier, month, in_scope, day], …]` that was paid after a day, by month. */
export function expired(partition: Partition, days: Days, exclusions: Exclusions, asked: string): Fragment | null {
  const events = movements(partition, 1, days, exclusions)
  return (
    events &&
    sql`select substr(e.day, 1, 7) as month, ${sumOf(IVA)} as iva
    from (${events}) e cross join json_each(${asked}) a
    where e.party = a.value->>0 and substr(e.day, 1, 7) = a.value->>1 and e.in_scope = a.value->>2 and e.day > a.value->>3
      and e.is_odd = 0 and e.reason is null and e.is_excluded = 0 group by 1`
  )
}

export function notes(partition: Partition, direction: DirectionNumber, days: Days): Fragment | null {
  const credits = creditsOfOthers(partition, direction, days)
  return credits && sql`select ${days.first.slice(0, 7)} as month, count(*) as n from (${credits})`
}

export function parties(partition: Partition, days: Days, exclusions: Exclusions): Fragment | null {
  const events = movements(partition, 1, days, exclusions)
  return events && sql`select distinct party from (${events}) where reason is null`
}
