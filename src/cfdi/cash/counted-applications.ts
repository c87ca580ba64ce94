import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { inlined } from '../../platform/db/statement.ts'
import { inPesos } from '../../platform/money.ts'
import { isCounted, type Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import { isSeen, isSubstitutedOn, isValidOn } from '../applied/applied.ts'
import { cfdiAs } from '../columns.ts'
import { afterDay } from '../literal-day.ts'
import { isSubstituted } from '../population/population.ts'
import { cfdi, cfdiPayments } from '../tables.ts'

const own = cfdiAs('own')
const p = alias(cfdiPayments, 'p')
const source = cfdiAs('source')

/**
 * The applications to the invoice `of` that count, as `from cfdi_payments p cross join cfdi source where …`: now, or at the end of a
 * past day. A credit note in another currency is among them, whether it can be converted or not. `each` joins the invoices before it.
 */
export function countedApplications(partition: Partition, past: string | null = null, of = own, each: SQL = sql``): SQL {
  const counts =
    past === null
      ? sql`${source.cancelled} = 0 and not ${isSubstituted(partition, 'source')}`
      : sql`${p.fecha_pago} < ${afterDay(past)} and ${isValidOn('source', past)} and not ${isSubstitutedOn(partition, 'source', past)}`
  return sql`from ${each} ${cfdiPayments} ${p} cross join ${cfdi} ${source}
    where ${p.entity} = ${partition.number} and ${p.invoice} = ${of.uuid} and ${source.uuid} = ${p.source} and ${isCounted(partition, 'source')} and ${isSeen(partition, 'source', past)}
      and ${source.emisor_rfc} = ${of.emisor_rfc} and (${p.kind} = 'P' or ${source.receptor_rfc} = ${of.receptor_rfc})
      and (${p.kind} = 'E' or coalesce(${p.currency}, ${of.currency}, 'MXN') = coalesce(${of.currency}, 'MXN')) and ${counts}`
}

/** What the payment `p` of the invoice `of` is of, in micros of MXN: it may pay other invoices too. Null when its rate is not known. */
export const paymentInMxn = (of: { currency: SQLWrapper }): SQL =>
  sql`(coalesce(${p.payment_mxn}, case when ${sql.raw(inPesos(inlined(sql`${p.currency}`), inlined(sql`${of.currency}`)))} then ${p.amount} else ${p.amount_mxn} end) + 0)`
