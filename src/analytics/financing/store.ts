import { type SQL, sql } from 'drizzle-orm'
import { type OpenAt, openInvoices } from '../../cfdi/open/applications.ts'
import { paidParts } from '../../cfdi/open/paid-parts.ts'
import { cfdi, cfdiPayments, own, p, source } from '../../cfdi/population/aliases.ts'
import { type Days, isSubstituted, populationOf, sumOf } from '../../cfdi/population/population.ts'
import { inlined } from '../../platform/db/statement.ts'
import type { DirectionNumber, Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import { isCounted } from '../../taxpayers/visibility/scoped-ledger.ts'
import { unratedList } from '../common/insight.ts'

/** The day, and the limits by which invoices are judged. */
export interface Judging extends OpenAt {
  /** The last day of each bucket of ageing but the last one. */
  buckets: readonly number[]
  max_age: number
  max_overdue: number
}

const number = (value: number): SQL => sql.raw(String(value))

/** The balance that the last complement of the issued invoice `o` states, in micros. */
const reported = (partition: Partition): SQL => sql`(
  select cast(round(${p.imp_saldo_insoluto} * 1000000) as integer) from ${cfdiPayments} ${p} cross join ${cfdi} ${source}
  where ${p.entity} = ${partition.number} and ${p.invoice} = o.uuid and ${p.kind} = 'P' and ${p.imp_saldo_insoluto} is not null and ${source.uuid} = ${p.source}
    and ${source.direction} = 0 and ${source.cancelled} = 0 and ${isCounted(partition, 'source')} and not ${isSubstituted(partition, 'source')}
    and coalesce(${p.currency}, o.currency, 'MXN') = coalesce(o.currency, 'MXN') order by ${p.num_parcialidad} + 0 desc limit 1)`

/** Open invoices with the columns `late` (days after due), `bucket`, `month` in which they are expected, `is_old`, `is_late`, `reported`. */
export function judged(partition: Partition, direction: DirectionNumber, at: Judging, more: readonly SQL[] = []): SQL | null {
  const open = openInvoices(partition, direction, at, more)
  const bucket = sql.raw(at.buckets.map((last, n) => `when late <= ${last} then ${n + 1}`).join(' '))
  return (
    open &&
    sql`select o.*, case when late <= 0 then 0 ${bucket} else ${number(at.buckets.length + 1)} end as bucket,
        substr(max(o.due, ${at.day}), 1, 7) as month, late > ${number(at.max_overdue)} as is_late,
        julianday(${at.day}) - julianday(o.day) > ${number(at.max_age)} as is_old, ${direction === 0 && at.past === null ? reported(partition) : sql`null`} as reported
      from (select *, cast(julianday(${at.day}) - julianday(due) as integer) as late from (${open})) o`
  )
}

/** Open invoices that are alike, or one that SQL cannot compute. */
export interface OpenGroup {
  rfc: string
  /** issued_at, UUID and name of the newest, joined. */
  newest: string | null
  bucket: number
  month: string
  is_old: 0 | 1
  is_late: 0 | 1
  is_in_process: 0 | 1
  is_mismatch: 0 | 1
  n: number
  parsed: number
  pesos: string
  due: string
  exactRow: string | null
  reported: number | null
}

export function openGroups(partition: Partition, direction: DirectionNumber, at: Judging, tolerance: bigint): SQL | null {
  const rows = judged(partition, direction, at)
  return (
    rows &&
    sql`select rfc, max(issued_at || uuid || name) as newest, bucket, month, is_old, is_late, is_in_process, count(*) as n, sum(is_parsed) as parsed,
        coalesce(abs(reported - balance) > ${number(Number(tolerance))}, 0) as is_mismatch, ${sumOf('pesos')} as pesos, min(due) as due, exactRow,
        max(case when exactRow is not null then reported end) as reported
      from (${rows}) group by rfc, bucket, month, is_old, is_late, is_in_process, 10, exactRow`
  )
}

/** The sum of invoices that are paid later, before taxes. */
export interface SalesRow {
  net: string
  unrated: string | null
}

export function creditSales(partition: Partition, direction: DirectionNumber, days: Days, past: string | null): SQL | null {
  const population = populationOf(partition, { ...days, direction, types: ['I'], past, conditions: [sql`${own.metodo_pago} = 'PPD'`] })
  return population && sql`select ${sumOf(inlined(sql`${own.net_mxn}`))} as net, ${unratedList('uuid')} as unrated ${population}`
}

/** The payments of a counterparty's invoices; or, without a counterparty, the paid parts that are not reconciled. */
export interface PaidRow {
  rfc: string | null
  paid: string
  /** Σ paid × days, in two parts: of millions of micros, and of the rest. */
  weighted: number | null
  rest: number | null
  on_time: string
  /** JSON lists `[odd, days, is_on_time]`. */
  exactRows: string
  unreconciled: number
  /** Unreconciled parts that name an invoice of other parties. */
  other_parties: number
}

export function paidByDebtor(partition: Partition, direction: DirectionNumber, days: Days, { past, terms }: OpenAt): SQL | null {
  const rows = paidParts(partition, direction, days, past)
  const isOnTime = sql`day <= date(invoiced, '+' || coalesce(terms_days, ${sql.raw(terms('invoiced'))}) || ' days')`
  const lasted = sql`cast(julianday(day) - julianday(invoiced) as integer)`
  return (
    rows &&
    sql`select iif(coalesce(reason, 'missing_rate') = 'missing_rate', rfc, null) as rfc, ${sumOf('booked')} as paid,
        sum(booked / 1000000 * ${lasted}) as weighted, sum(booked % 1000000 * ${lasted}) as rest, ${sumOf(inlined(sql`iif(${isOnTime}, booked, null)`))} as on_time,
        json_group_array(json_array(exactRow, ${lasted}, ${isOnTime})) filter (where exactRow is not null) as exactRows,
        count(distinct iif(reason is null, null, uuid || applies_to)) as unreconciled,
        count(distinct iif(reason = 'other_parties', uuid || applies_to, null)) as other_parties
      from (${rows}) where reason is not 'not_counted' and (coalesce(reason, 'missing_rate') <> 'missing_rate' or metodo_pago = 'PPD') group by 1`
  )
}
