import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { inlined } from '../../platform/db/statement.ts'
import { inPesos } from '../../platform/money.ts'
import { type DirectionNumber, isVisible, type Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import { isSubstitutedOn, isValidOn } from '../applied/applied.ts'
import { complements, isMoney, moneyBeside } from '../cash/events.ts'
import { cfdiAs, relatedIn } from '../columns.ts'
import { afterDay } from '../literal-day.ts'
import { type Days, isSubstituted, NOT_COUNTED } from '../population/population.ts'
import { cfdi, cfdiPayments } from '../tables.ts'
import { atRate, needsExactAmount, needsExactRate } from './in-pesos.ts'

const own = cfdiAs('own')
const p = alias(cfdiPayments, 'p')
const i = cfdiAs('i')

/**
 * Selects the parts of invoices that complements of some days pay, one row each, as they count now or counted at the end of a past day.
 * Columns: `uuid`, `applies_to`, `issued_at`, `reason` (why a part does not count, as `cashEvents` has it), `rfc`, `currency`, `metodo_pago`,
 * `invoiced` and `terms_days` of the invoice, `day` and `amount` of the payment, and in micros of MXN `booked` at the invoice's exchange rate and `paid` at
 * the payment's; `exactRow` is a JSON list for `exactPaidPart` where SQL cannot compute these, else null. `ofMoney` leaves out what advances
 * pay. Null when the window shows nothing.
 */
export function paidParts(partition: Partition, direction: DirectionNumber, days: Days, past: string | null, ofMoney = false): SQL | null {
  const [usual, late] = complements(partition, direction, days, { past })
  if (!usual || !late) return null
  const isGone = past === null ? sql`${i.cancelled} = 1` : sql`not coalesce(${isValidOn('i', past)}, 0)`
  const isReplaced = past === null ? isSubstituted(partition, 'i') : isSubstitutedOn(partition, 'i', past)
  const [amount, amount_mxn] = [p.amount, p.amount_mxn].map((column) => inlined(sql`${column}`))
  const isPesos = sql.raw(inPesos(inlined(sql`${i.currency}`)))
  const money = ofMoney ? moneyBeside(partition, direction) : sql`null`
  const needsExact = sql`(${money} is not null or ${sql.raw(`${needsExactAmount(amount!)} or ${needsExactRate('i')}`)} or (not ${isPesos} and ${sql.raw(needsExactAmount(amount_mxn!))}))`
  const booked = sql.raw(atRate(`(${amount} + 0)`, 'i'))
  return sql`select ${own.uuid}, ${p.invoice} as applies_to, ${own.issued_at}, substr(${p.fecha_pago}, 1, 10) as day, ${i.counterparty_rfc} as rfc, ${i.currency},
      ${i.metodo_pago}, substr(${i.fecha}, 1, 10) as invoiced, ${i.terms_days}, ${p.amount},
      case when ${i.uuid} is null or ${i.version} is null or ${i.tipo_comprobante} is not 'I' or ${i.emisor_rfc} = ${i.receptor_rfc} then 'unknown'
        when ${isGone} then 'cancelled' when ${isReplaced} then 'substituted' when ${i.emisor_rfc} <> ${own.emisor_rfc} then 'other_parties'
        when coalesce(${p.currency}, ${i.currency}, 'MXN') <> coalesce(${i.currency}, 'MXN') then 'currency_mismatch'
        when not ${isPesos} and ${p.amount_mxn} is null and ${p.conversion} is null then 'missing_rate' when ${sql.raw(NOT_COUNTED('i'))} then 'not_counted' end as reason,
      iif(${needsExact}, null, ${booked}) as booked, iif(${needsExact}, null, iif(${isPesos}, ${p.amount}, ${p.amount_mxn}) + 0) as paid,
      case when ${needsExact} then json_array(ifnull(${money}, ${p.amount}), ${p.conversion}, substr(${p.fecha_pago}, 1, 10), ${i.currency}, ${i.tipo_cambio}, substr(${i.fecha}, 1, 10)) end as exactRow
    from (${usual} union all ${late}) own cross join json_each(${relatedIn(own)}) related cross join ${cfdiPayments} ${p}
    left join ${cfdi} ${i} on ${i.uuid} = ${p.invoice} and ${isVisible(partition, 'i')}
    where ${p.entity} = ${partition.number} and ${p.invoice} = related.value and ${p.source} = ${own.uuid} and ${p.kind} = 'P'
      and ${p.fecha_pago} >= ${days.first} and ${p.fecha_pago} < ${afterDay(days.last)} ${ofMoney ? sql`and ${isMoney(partition, direction)}` : sql``}`
}
