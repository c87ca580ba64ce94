import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { Micros } from '../../platform/money.ts'
import { isCounted, type Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import { isSubstitutedOn, isValidOn } from '../applied/as-of.ts'
import { creditOf } from '../balances.ts'
import { cfdiAs } from '../columns.ts'
import { afterDay } from '../literal-day.ts'
import { isSubstituted } from '../population/population.ts'
import { cfdi, cfdiPayments } from '../tables.ts'

const own = cfdiAs('own')
const p = alias(cfdiPayments, 'p')
const source = cfdiAs('source')

/**
 * What counts of the applications to the PPD invoice `own` (balances.ts), as `from cfdi_payments p cross join cfdi source where …`: now, or
 * counted at the end of a past day. A credit note in another currency is among them, whether it can be converted or not. `owner` is where
 * `own` comes from, unless the surrounding statement has it.
 */
export function countedApplications(partition: Partition, past: string | null = null, owner?: string): SQL {
  const counts =
    past === null
      ? sql`${source.cancelled} = 0 and not ${isSubstituted(partition, 'source')}`
      : sql`${p.fecha_pago} < ${afterDay(past)} and ${isValidOn('source', past)} and not ${isSubstitutedOn(partition, 'source', past)}`
  return sql`from ${owner === undefined ? sql`` : sql`${sql.raw(owner)} ${own} cross join `}${cfdiPayments} ${p} cross join ${cfdi} ${source}
    where ${p.entity} = ${partition.number} and ${p.invoice} = ${own.uuid} and ${source.uuid} = ${p.source} and ${isCounted(partition, 'source')}
      and ${source.emisor_rfc} = ${own.emisor_rfc} and (${p.kind} = 'P' or ${source.receptor_rfc} = ${own.receptor_rfc})
      and (${p.kind} = 'E' or coalesce(${p.currency}, ${own.currency}, 'MXN') = coalesce(${own.currency}, 'MXN')) and ${counts}`
}

/** These as a JSON list, for `sumOfApplications`. */
export const listOfApplications = (partition: Partition, past: string | null = null): SQL =>
  sql`(select json_group_array(json_array(substr(${p.fecha_pago}, 1, 10), ${p.amount}, ${p.kind}, ${p.currency}, ${p.tipo_cambio})) || ''
    ${countedApplications(partition, past)})`

type Application = [day: string, amount: string | number, kind: 'P' | 'E', currency: string | null, tipo_cambio: string | null]

/** What such a list settles of an invoice, in micros of its currency; with a day, up to its end. */
export function sumOfApplications(list: string, invoice: { currency: string | null; tipo_cambio: string | null }, until?: string): Micros {
  let settled = 0n
  for (const [day, amount, kind, currency, tipo_cambio] of JSON.parse(list) as Application[]) {
    if (until !== undefined && day > until) continue
    const credit = { amount: BigInt(amount), currency, tipo_cambio }
    settled += kind === 'P' ? credit.amount : (creditOf({ version: '4.0', ...invoice }, credit) ?? 0n)
  }
  return settled
}

/** Less than half a cent is nothing. */
export const LEAST_OPEN = 5_000
