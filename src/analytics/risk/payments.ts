import { type SQL, sql } from 'drizzle-orm'
import { countedApplications } from '../../cfdi/open/applications.ts'
import { cfdi, cfdiPayments, own, p, source } from '../../cfdi/population/aliases.ts'
import { isSubstituted } from '../../cfdi/population/population.ts'
import { inlined } from '../../platform/db/statement.ts'
import { inPesos } from '../../platform/money.ts'
import { isAfterCeiling, isCounted, type Partition } from '../../taxpayers/visibility/scoped-ledger.ts'

const HALF_CENT = sql`5000`
const rate = (of: typeof p | typeof own): SQL =>
  sql`case when ${sql.raw(inPesos(inlined(sql`${of.currency}`)))} then 1 else ${of.tipo_cambio} end`

const applied = (partition: Partition, conditions: SQL): SQL =>
  sql`from ${cfdiPayments} ${p} cross join ${cfdi} ${source} where ${p.entity} = ${partition.number} and ${p.invoice} = ${own.uuid} and ${source.uuid} = ${p.source}
    and ${source.emisor_rfc} = ${own.emisor_rfc} and ${isCounted(partition, 'source')} and ${conditions}`

const SAME_CURRENCY = sql`coalesce(${p.currency}, ${own.currency}, 'MXN') = coalesce(${own.currency}, 'MXN')`

/**
 * The condition that a payment complement of its issuer, valid or cancelled, pays the invoice `own` in its currency; with `what`, that of
 * these complements, the aliases `p` and `source`.
 */
export const isPaidBy = (partition: Partition, cancelled: 0 | 1, more = sql`1`, what: SQL | null = null): SQL => {
  const isValid = cancelled === 0 ? sql` and not ${isSubstituted(partition, 'source')}` : sql``
  const conditions = sql`${p.kind} = 'P' and ${source.cancelled} = ${sql.raw(String(cancelled))} and ${SAME_CURRENCY} and ${more}${isValid}`
  return sql`${what === null ? sql`exists (select 1` : sql`(select ${what}`} ${applied(partition, conditions)})`
}

/** What counts of complements and, unless it is said otherwise, credit notes up to the ceiling for the PPD invoice `own`, in micros. */
const appliedUpTo = (partition: Partition, more = sql`1`): SQL => {
  const isSame = sql`${p.kind} = 'P' or coalesce(${p.currency}, 'MXN') = coalesce(${own.currency}, 'MXN')`
  const amount = sql`iif(${isSame}, ${p.amount} + 0, ${p.amount} * (${rate(p)}) / (${rate(own)}))`
  return sql`coalesce((select sum(${amount}) ${countedApplications(partition)} and ${more}), 0)`
}
const leftAtCeiling = (partition: Partition): SQL => sql`(${own.total_micros} - ${appliedUpTo(partition)})`

/** The condition that something was issued after the ceiling that changed what is paid of `own`. Null without a ceiling. */
const isPaidBeyond = (partition: Partition): SQL | null => isAfterCeiling(partition, 'own', 'applied_until')

/** What complements paid of the PPD invoice `own`, in micros of its currency. */
export function paidOf(partition: Partition): SQL {
  const isBeyond = isPaidBeyond(partition)
  return isBeyond === null
    ? sql`${own.paid}`
    : sql`case when ${isBeyond} then ${appliedUpTo(partition, sql`${p.kind} = 'P'`)} else ${own.paid} end`
}

/** What credit notes take off the PPD invoice `own`, in micros of its currency. */
export function creditedOf(partition: Partition): SQL {
  const isBeyond = isPaidBeyond(partition)
  return isBeyond === null
    ? sql`${own.credited}`
    : sql`case when ${isBeyond} then cast(round(${appliedUpTo(partition, sql`${p.kind} = 'E'`)}) as integer) else ${own.credited} end`
}

const STORED_OPEN = sql`${own.payment_status} in ('unpaid', 'partially_paid')`

/**
 * The condition that something is left to pay of the invoice `own`, PPD, as the ceiling shows it. The stored status says so, unless something
 * that was issued after the ceiling has changed it.
 */
export function isOpen(partition: Partition): SQL {
  const isBeyond = isPaidBeyond(partition)
  return isBeyond === null
    ? STORED_OPEN
    : sql`case when ${isBeyond} then ${leftAtCeiling(partition)} >= ${HALF_CENT} else ${STORED_OPEN} end`
}

/** The condition that money moved for the invoice `own`, or moved after a day: at once, or by complements. */
export const isPaid = (partition: Partition, day: SQL | null): SQL => {
  const after = day === null ? sql`1` : sql`substr(${p.fecha_pago}, 1, 10) > ${day}`
  const atOnce = day === null ? sql`1` : sql`substr(${own.fecha}, 1, 10) > ${day} and not ${isPaidBy(partition, 0)}`
  return sql`(${isPaidBy(partition, 0, after)} or (${own.metodo_pago} = 'PUE' and ${atOnce}))`
}
