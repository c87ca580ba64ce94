import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { type OpenAt, openInvoices } from '../../cfdi/open/applications.ts'
import { DIGITS, microsOfText, placesOf } from '../../cfdi/open/in-pesos.ts'
import { paidParts } from '../../cfdi/open/paid-parts.ts'
import { own } from '../../cfdi/population/aliases.ts'
import { type Days, populationOf, sumOf } from '../../cfdi/population/population.ts'
import { inlined } from '../../platform/db/statement.ts'
import { inPesos } from '../../platform/money.ts'
import type { DirectionNumber, Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import { unratedList } from '../common/insight.ts'

export const IS_FOREIGN = sql`not ${sql.raw(inPesos(inlined(sql`${own.currency}`)))}`
const [SUBTOTAL, DESCUENTO] = [inlined(sql`${own.subtotal}`), inlined(sql`coalesce(${own.descuento}, '0')`)]
/** Whether the net amount of a document in its own currency is left to the caller, who computes it from `[tipo, subtotal, descuento]`. */
const NEEDS_EXACT = sql`(length(${own.total_micros}) > ${sql.raw(String(DIGITS))} or length(${own.subtotal}) > 16
  or ${sql.raw(`${placesOf(SUBTOTAL)} > 6 or ${placesOf(DESCUENTO)} > 6`)})`
/** subtotal − descuento in micros of the document's currency. */
const OWN_NET = sql.raw(`(${microsOfText(SUBTOTAL)} - ${microsOfText(DESCUENTO)})`)

/** The sums of the documents of a currency before taxes; all of MXN are one row. */
export interface DocumentsByCurrency {
  currency: string
  /** In MXN, of invoices and of credit notes. */
  invoiced: string
  credited: string
  /** The same in their own currency. */
  own_invoiced: string
  own_credited: string
  /** JSON lists `[tipo, subtotal, descuento]`. */
  exactRows: string | null
  unrated: string | null
}

export function documents(partition: Partition, direction: DirectionNumber, days: Days, past: string | null): SQL | null {
  const population = populationOf(partition, { ...days, direction, types: ['I', 'E'], past })
  const of = (tipo: 'I' | 'E', amount: SQLWrapper) => sumOf(inlined(sql`iif(${own.tipo_comprobante} = ${tipo}, ${amount}, null)`))
  const ownNet = sql`iif(${IS_FOREIGN} and ${own.net_mxn} is not null and not ${NEEDS_EXACT}, ${OWN_NET}, null)`
  const exactRow = sql`case when ${IS_FOREIGN} and ${own.net_mxn} is not null and ${NEEDS_EXACT} then json_array(${own.tipo_comprobante}, ${own.subtotal}, ${own.descuento}) end`
  return (
    population &&
    sql`select iif(${IS_FOREIGN}, ${own.currency}, 'MXN') as currency, ${of('I', own.net_mxn)} as invoiced, ${of('E', own.net_mxn)} as credited,
      ${of('I', ownNet)} as own_invoiced, ${of('E', ownNet)} as own_credited, group_concat(${exactRow}) as exactRows,
      ${unratedList('uuid')} as unrated ${population} and ${own.version} is not null group by 1`
  )
}

/** Open invoices in a currency, or one that SQL cannot compute. */
export interface CurrencyOpenRow {
  currency: string
  balance: string
  pesos: string
  exactRow: string | null
}

export function openByCurrency(partition: Partition, direction: DirectionNumber, at: OpenAt): SQL | null {
  const open = openInvoices(partition, direction, at, [IS_FOREIGN])
  return (
    open &&
    sql`select currency, ${sumOf('balance')} as balance, ${sumOf('pesos')} as pesos, exactRow from (${open}) group by currency, exactRow`
  )
}

/** The payments of invoices in a currency; or, without a currency, the number of paid parts that are not reconciled. */
export interface RealizedRow {
  currency: string | null
  booked: string
  paid: string
  /** A JSON list of `exactRow`. */
  exactRows: string
  unreconciled: number
  /** Unreconciled parts that name an invoice of other parties. */
  other_parties: number
}

export function realizedByCurrency(partition: Partition, direction: DirectionNumber, days: Days): SQL | null {
  const parts = paidParts(partition, direction, days, null, true)
  return (
    parts &&
    sql`select iif(reason is null, currency, null) as currency, ${sumOf('booked')} as booked, ${sumOf('paid')} as paid,
        json_group_array(exactRow) filter (where exactRow is not null and reason is null) as exactRows,
        count(distinct iif(reason is null, null, uuid || applies_to)) as unreconciled,
        count(distinct iif(reason = 'other_parties', uuid || applies_to, null)) as other_parties
      from (${parts}) where reason is not 'not_counted' and (reason is not null or not ${sql.raw(inPesos('currency'))}) group by 1`
  )
}
