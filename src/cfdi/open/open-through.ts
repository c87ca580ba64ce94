import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { inlined } from '../../platform/db/statement.ts'
import { type DirectionNumber, isAfterCeiling, isVisible, type Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import { isSeen } from '../applied/applied.ts'
import type { Named } from '../cash/events.ts'
import { cfdiAs, relatedIn } from '../columns.ts'
import { populationOf } from '../population/population.ts'
import { cfdi, cfdiPayments } from '../tables.ts'
import { candidates, isOwed, LATEST, LEAST_OPEN, listOfApplications, storedOf } from './applications.ts'
import { DIGITS, needsExactAmount } from './in-pesos.ts'

const own = cfdiAs('own')
const p = alias(cfdiPayments, 'p')
const i = cfdiAs('i')
const source = cfdiAs('source')

/** The days at whose ends invoices are looked at: from `first` to `last`, which is not after today. */
export interface Through {
  first: string
  last: string
}

/** The facts about the invoice `own` for `exactBalanceOn`, as JSON. */
const invoiceJson = (partition: Partition): SQL =>
  sql`json_array(substr(${own.fecha}, 1, 10), ${listOfApplications(partition)}, ${own.currency}, ${own.tipo_cambio}, ${own.total_micros}, ${own.subtotal},
    ${own.descuento}, ${own.taxes}, ${own.iva_trasladado})`

/** Columns of an invoice that `invoiceJson` and expressions of callers need. */
const COLUMNS = [
  ...(['uuid', 'issued_at', 'fecha', 'emisor_rfc', 'receptor_rfc', 'currency', 'tipo_cambio', 'version'] as const),
  ...(['total_micros', 'total_mxn', 'net_mxn', 'subtotal', 'descuento', 'taxes', 'iva_trasladado'] as const),
]

/**
 * Selects the PPD invoices of a direction that count today, and that were open at the end of one of these days, or might have been: `uuid`,
 * `issued_at`, and `invoice` for `exactBalanceOn`. Null when the window shows nothing of the direction.
 */
export function openThrough(partition: Partition, direction: DirectionNumber, { first, last }: Through): SQL | null {
  const found = candidates(partition, direction, { day: last, past: null, since: first }, COLUMNS)
  return found.length === 0
    ? null
    : sql`select ${own.uuid}, ${own.issued_at}, ${invoiceJson(partition)} as invoice from (${sql.join([...found], sql` union all `)}) own`
}

/** The columns that `openByMonth` needs of an invoice with applications. */
export const balanceColumns = (partition: Partition, alias: string, needsExact: string): Record<string, string> => {
  const isBeyond = isAfterCeiling(partition, alias, 'applied_until')
  const { fecha, total_micros } = cfdiAs(alias)
  return {
    issued: inlined(sql`substr(${fecha}, 1, 10)`),
    total: inlined(sql`${total_micros} + 0`),
    settled: isBeyond ? `case when not coalesce(${inlined(isBeyond)}, 0) then ${storedOf(alias)} end` : storedOf(alias),
    is_unsure: inlined(sql`(length(${total_micros}) > ${DIGITS} or ${sql.raw(needsExact)})`),
  }
}

const listed = (columns: Readonly<Record<string, string>>): SQL =>
  sql.raw(
    Object.entries(columns)
      .map(([name, value]) => `${value} as ${name}`)
      .join(', '),
  )

/**
 * Selects the amounts that credit notes since a day take off PPD invoices that count, one row each: `uuid` of the invoice, `day`, `amount`
 * in its currency, `columns` of the invoice, and `is_unsure` when SQL cannot tell the amount.
 */
export function creditedSince(partition: Partition, direction: DirectionNumber, first: string, columns: Named): SQL | null {
  const notes = populationOf(partition, {
    ...{ direction, first, last: LATEST, types: ['E'], acting: true },
    conditions: [sql`${own.related} is not null`],
  })
  const { is_unsure, ...others } = columns('i')
  const needsExact = sql`${sql.raw(needsExactAmount(inlined(sql`${p.amount}`)))} or coalesce(${p.currency}, 'MXN') <> coalesce(${i.currency}, 'MXN')`
  return (
    notes &&
    sql`select ${i.uuid}, substr(${p.fecha_pago}, 1, 10) as day, ${p.amount} + 0 as amount, ${listed(others)}, (${needsExact} or ${sql.raw(is_unsure!)}) as is_unsure
      from (select ${own.entity}, ${own.uuid}, ${own.emisor_rfc}, ${own.receptor_rfc}, ${own.direction}, ${own.related} ${notes}) source cross join json_each(${relatedIn(source)}) named
        cross join ${cfdiPayments} ${p} cross join ${cfdi} ${i}
      where ${p.entity} = ${partition.number} and ${p.invoice} = named.value and ${p.source} = ${source.uuid} and ${p.kind} = 'E' and ${i.uuid} = ${p.invoice}
        and ${isSeen(partition, 'source')}
        and ${source.emisor_rfc} = ${i.emisor_rfc} and ${source.receptor_rfc} = ${i.receptor_rfc} and ${isVisible(partition, 'i')}
        and ${isOwed(partition, 'i')}`
  )
}

/**
 * Selects the payments of PPD invoices that count, with the columns of `creditedSince`, from `paid`: rows of `paidByComplement` with
 * `acting` and, as `more`, `metodo_pago` and these columns.
 */
export function paidSince(paid: SQL, columns: Named): SQL {
  const { is_unsure: _, ...others } = columns('i')
  return sql`select invoice as uuid, day, amount + 0 as amount, ${sql.raw(Object.keys(others).join(', '))},
      ${sql.raw(`(is_unsure or ${needsExactAmount('amount')})`)} as is_unsure from ${paid} where reason is null and metodo_pago = 'PPD'`
}

/**
 * The common table expressions of the balances of the PPD invoices of a direction that count today. `changes` selects what was applied to
 * them since the month of `first` (`paidSince`, `creditedSince`); `columns` are `balanceColumns` and the caller's own. `open` has a row for
 * each balance that an invoice had at the end of a month: `uuid`, `balance` in micros of its currency, `month`, the first that ended with
 * it, `until`, the first that did not (null when none did), and `columns`. `exact` has the UUIDs of those that SQL cannot compute.
 * `invoicesIn` selects these.
 */
export function openByMonth(partition: Partition, direction: DirectionNumber, { last }: Through, changes: SQL, columns: Named): SQL {
  const now = candidates(partition, direction, { day: last, past: null }, COLUMNS)
  const { settled: _, ...others } = columns('own')
  const names = sql.raw(
    Object.keys(columns('own'))
      .filter((name) => name !== 'is_unsure')
      .join(', '),
  )
  // Changes after the last day come after its month, although that may not be over.
  const monthOf = (day: string) => sql`iif(${sql.raw(day)} > ${last}, '9999-12', substr(${sql.raw(day)}, 1, 7))`
  return sql`changes as materialized (
      select uuid, ${monthOf('max(day, issued)')} as month, sum(amount) as amount, max(is_unsure or settled is null) as is_unsure, ${names}
      from (${changes}) group by 1, 2),
    unchanged as materialized (
      select ${own.uuid}, own.settled, ${listed(others)} from (${sql.join([...now], sql` union all `)} limit -1) own where ${own.uuid} not in (select uuid from changes)),
    exact as materialized (
      select uuid from changes where is_unsure union select uuid from unchanged where is_unsure or settled is null),
    steps as (
      select *, lead(month) over later as before, lag(month) over later as after, sum(amount) over later as taken
      from changes where uuid not in exact window later as (partition by uuid order by month desc)),
    open as (
      select uuid, coalesce(before, ${monthOf('issued')}) as month, month as until, total - settled + taken as balance, ${names} from steps
      union all select uuid, month, null, total - settled, ${names} from steps where after is null
      union all select uuid, ${monthOf('issued')}, null, total - settled, ${names} from unchanged where uuid not in exact)`
}

/** The condition on `open` that a row is of a balance at the end of a month since that of `first`. */
export const isOpenSince = (first: string): SQL =>
  sql`balance >= ${sql.raw(String(LEAST_OPEN))} and month is not until and coalesce(until > ${first.slice(0, 7)}, 1)`

/** Selects invoices by their UUIDs: `invoice` for `exactBalanceOn`. */
export const invoicesIn = (partition: Partition, uuids: SQL): SQL =>
  sql`select ${invoiceJson(partition)} as invoice from ${cfdi} ${own} where ${own.entity} = ${partition.number} and ${own.uuid} in (${uuids})`
