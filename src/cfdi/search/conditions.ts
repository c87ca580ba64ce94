import { type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { micros } from '../../platform/money.ts'
import { isAfterCeiling, type Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import { isSubstitutedOn, isValidOn } from '../applied/as-of.ts'
import { cfdiAs } from '../columns.ts'
import { afterDay, isDay } from '../literal-day.ts'
import type { Filters } from './contract.ts'
import { hasText } from './text.ts'

const page = cfdiAs('page')
const IS_KNOWN_INVOICE = sql`${page.tipo_comprobante} = 'I' and ${page.version} is not null`

/** The filters that some index can serve, as a plan names them. */
export type IndexedFilter = 'direction' | 'estatus' | 'tipo_comprobante' | 'payment_status' | 'party' | 'uuid'

/** The condition that a column has one of these values. A JSON list takes one placeholder, however long it is. */
const among = (column: SQLiteColumn, values: readonly string[]): SQL =>
  sql`${column} in (select value from json_each(${JSON.stringify(values)}))`

const seconds = (instant: string): number => Math.floor(Date.parse(instant) / 1_000)
const number = (text: string): SQL => sql`(${micros(text)!.toString()} + 0)`

/** The condition that the total is at least, or at most, an amount. Micros are text, of which the longer is the larger one. */
const ofTotal = (operator: '>=' | '<=', bound: string): SQL => {
  const limit = micros(bound)!.toString()
  const compared = sql`(length(${page.total_micros}), ${page.total_micros}) ${sql.raw(operator)} (${limit.length}, ${limit})`
  return operator === '>=' ? sql`(${page.total_micros} >= '0' and ${compared})` : sql`(${page.total_micros} < '0' or ${compared})`
}

const paymentStatus = (statuses: readonly string[]): SQL => {
  const stored = statuses.filter((status) => status !== 'not_applicable')
  if (stored.length === statuses.length) return among(page.payment_status, stored)
  return sql`(${page.payment_status} is null or ${among(page.payment_status, stored)})`
}

// A row that may have a different visible balance passes here. search.ts compares it when it has been read.
const ofBalance = (condition: SQL, partition: Partition): SQL => {
  const isBeyond = isAfterCeiling(partition, 'page', 'applied_until')
  return isBeyond === null ? condition : sql`(${condition} or ${isBeyond})`
}

/** The conditions of the filters that some index can serve, on a row of the alias `page`. */
export function indexedConditions(filters: Filters, partition: Partition): Map<IndexedFilter, SQL[]> {
  const { direction, estatus, tipo_comprobante, payment_status, counterparty_rfc, emisor_rfc, receptor_rfc } = filters
  const conditions = new Map<IndexedFilter, SQL[]>()
  const put = (name: IndexedFilter, condition: SQL) => conditions.set(name, [...(conditions.get(name) ?? []), condition])
  if (direction) put('direction', sql`${page.direction} = ${direction === 'issued' ? 0 : 1}`)
  if (estatus && !filters.past) put('estatus', sql`${page.estatus} = ${estatus}`)
  if (tipo_comprobante) put('tipo_comprobante', among(page.tipo_comprobante, tipo_comprobante))
  if (payment_status && !filters.past) put('payment_status', ofBalance(paymentStatus(payment_status), partition))
  if (counterparty_rfc) put('party', sql`${page.counterparty_rfc} = ${counterparty_rfc}`)
  if (emisor_rfc) put('party', sql`${page.emisor_rfc} = ${emisor_rfc}`)
  if (receptor_rfc) put('party', sql`${page.receptor_rfc} = ${receptor_rfc}`)
  return conditions
}

/**
 * Whether the index of counterparties serves these few: then each has a stream of its own in each direction, and there are at most four. When
 * the search names a counterparty itself, that one is sought.
 */
export const areIndexed = ({ counterparties, direction, counterparty_rfc, emisor_rfc, receptor_rfc, uuid }: Filters): boolean =>
  counterparties !== undefined &&
  counterparties.length <= (direction === undefined ? 2 : 4) &&
  [counterparty_rfc, emisor_rfc, receptor_rfc, uuid].every((one) => one === undefined)

const EQUAL = ['metodo_pago', 'forma_pago', 'uso_cfdi', 'currency', 'serie', 'folio', 'version'] as const

/** The conditions of the filters that no index serves, on a row of the alias `page`. */
export function scannedConditions(filters: Filters, partition: Partition): SQL[] {
  const { cancelled_from, cancelled_to, paid_from, paid_to, total_min, total_max, balance_min, has_xml } = filters
  const conditions: SQL[] = EQUAL.flatMap((name) => (filters[name] === undefined ? [] : [sql`${page[name]} = ${filters[name]}`]))
  const cancelled = (operator: string, bound: string) =>
    isDay(bound)
      ? sql`substr(${page.cancelled_at}, 1, 10) ${sql.raw(operator)} ${bound}`
      : sql`unixepoch(${page.cancelled_at}) ${sql.raw(operator)} ${seconds(bound)}`
  if (cancelled_from) conditions.push(cancelled('>=', cancelled_from))
  if (cancelled_to) conditions.push(cancelled('<=', cancelled_to))
  if (total_min) conditions.push(ofTotal('>=', total_min))
  if (total_max) conditions.push(ofTotal('<=', total_max))
  if (filters.past) conditions.push(...ofPast(filters, filters.past, partition))
  if (balance_min && !filters.past)
    conditions.push(
      ofBalance(
        sql`${IS_KNOWN_INVOICE} and max(${page.total_micros} - ${page.paid} - ${page.credited}, 0) >= ${number(balance_min)}`,
        partition,
      ),
    )
  if (paid_from && !filters.past) conditions.push(ofBalance(sql`${page.last_payment_at} >= ${paid_from}`, partition))
  if (paid_to && !filters.past) conditions.push(ofBalance(sql`${page.last_payment_at} < ${afterDay(paid_to)}`, partition))
  if (filters.kind) conditions.push(sql`${page.kind} = ${filters.kind}`)
  if (filters.to_itself) conditions.push(sql`${page.emisor_rfc} ${sql.raw(filters.to_itself === 'true' ? '=' : '<>')} ${page.receptor_rfc}`)
  if (filters.is_substituted && !filters.past) {
    const isBeyond = isAfterCeiling(partition, 'page', 'substituted_from')
    const isUnknown = isBeyond === null ? sql`${page.substituted_from} is null` : sql`(${page.substituted_from} is null or ${isBeyond})`
    conditions.push(filters.is_substituted === 'true' ? sql`not ${isUnknown}` : isUnknown)
  }
  if (filters.counterparties && !areIndexed(filters)) conditions.push(among(page.counterparty_rfc, filters.counterparties))
  if (filters.tipo_relacion) {
    const isRelated = filters.tipo_relacion.map((one) => sql`instr(',' || ${page.tipo_relacion} || ',', ${`,${one},`}) > 0`)
    conditions.push(sql`(${sql.join([...isRelated], sql` or `)})`)
  }
  if (filters.q) conditions.push(hasText(filters.q))
  if (has_xml) conditions.push(sql`${page}.has_xml = ${has_xml === 'true' ? 1 : 0}`)
  return conditions
}

/** The conditions of status and substitution as of a past day, and what a balance of then needs. search.ts compares the balances. */
function ofPast({ estatus, is_substituted, payment_status, balance_min, paid_from, paid_to }: Filters, day: string, partition: Partition) {
  const isValid = isValidOn('page', day)
  const isSubstituted = sql`(${isValid} and ${isSubstitutedOn(partition, 'page', day)})`
  return [
    ...(estatus ? [estatus === 'vigente' ? isValid : sql`not coalesce(${isValid}, 0)`] : []),
    ...(is_substituted ? [is_substituted === 'true' ? isSubstituted : sql`not coalesce(${isSubstituted}, 0)`] : []),
    ...(payment_status && !payment_status.includes('not_applicable')
      ? [sql`${page.tipo_comprobante} = 'I' and ${page.metodo_pago} in ('PUE', 'PPD')`]
      : []),
    ...(balance_min ? [sql`${IS_KNOWN_INVOICE} and ${page.total_micros} + 0 >= ${number(balance_min)}`] : []),
    ...(paid_from || paid_to ? [sql`${page.tipo_comprobante} = 'I' and ${page.metodo_pago} = 'PPD'`] : []),
  ]
}

/** The conditions of a document's literal day, `fecha`. Instants need none, because the bounds of issued_at are exact for them. */
export const literalDays = ({ issued_from, issued_to, last_day }: Filters, fecha: SQLiteColumn): SQL[] => [
  ...(issued_from && isDay(issued_from) ? [sql`${fecha} >= ${issued_from}`] : []),
  ...(issued_to && isDay(issued_to) ? [sql`${fecha} < ${afterDay(issued_to)}`] : []),
  ...(last_day ? [sql`${fecha} < ${afterDay(last_day)}`] : []),
]
