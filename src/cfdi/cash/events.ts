import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { all, inlined } from '../../platform/db/statement.ts'
import { inPesos } from '../../platform/money.ts'
import { boundsOf, type DirectionNumber, isCounted, isVisible, type Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import { earliestOf, latestOf } from '../../taxpayers/visibility/window.ts'
import { countedOn } from '../applied/applied.ts'
import { type CfdiRow, cfdiAs, listOf } from '../columns.ts'
import { afterDay } from '../literal-day.ts'
import { type Days, isSubstituted, MISSING_RATE, NOT_COUNTED, type Population, populationOf, taxOf } from '../population/population.ts'
import { cfdi, cfdiPayments } from '../tables.ts'
import { BREAKDOWN } from '../taxes/breakdown.ts'

const own = cfdiAs('own')
const i = cfdiAs('i')
const p = alias(cfdiPayments, 'p')
const source = cfdiAs('source')

/** The most days between a payment complement and its payments, unless the index `cfdi_late` has it. */
const USUAL_DAYS = 45
const DAYS = sql.raw(String(USUAL_DAYS))
/** As the index has it. */
const IS_LATE = sql`(${own.first_paid_on} < date(substr(${own.fecha}, 1, 10), '-${DAYS} days') or ${own.last_paid_on} > date(substr(${own.fecha}, 1, 10), '+${DAYS} days'))`

const dayFrom = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10)

/** The digits up to which SQL adds amounts up itself. */
export const LARGE = 13

/** The condition that SQL does not add up amounts of an invoice or credit note, because they are large. */
export const isLarge = (alias: string): string => {
  const { total_mxn, net_mxn, iva_trasladado, taxes } = cfdiAs(alias)
  const lengths = [total_mxn, net_mxn, iva_trasladado].map((amount) => sql`coalesce(length(${amount}), 0)`)
  return inlined(sql`(max(${listOf(lengths)}) > ${LARGE} or coalesce(instr(${taxes}, '"'), 0) > 0)`)
}

/** The condition that a visible complement that counts refers to an invoice: then it was not paid at once. */
const hasComplement = (partition: Partition, of = own): SQL => sql`exists (
  select 1 from ${cfdiPayments} ${p} cross join ${cfdi} ${source}
  where ${p.entity} = ${partition.number} and ${p.invoice} = ${of.uuid} and ${p.kind} = 'P' and ${source.uuid} = ${p.source} and ${source.cancelled} = 0
    and ${source.emisor_rfc} = ${of.emisor_rfc} and ${source.receptor_rfc} <> ${of.emisor_rfc}
    and coalesce(${p.currency}, ${of.currency}, 'MXN') = coalesce(${of.currency}, 'MXN')
    and not ${isSubstituted(partition, 'source')} and ${all([isCounted(partition, 'source'), ...partition.conditions('source')])})`

const columns = (values: Record<string, SQLWrapper>): SQL =>
  listOf(Object.entries(values).map(([name, value]) => sql`${value} as ${sql.identifier(name)}`))

/** Named expressions on the alias of a document. */
export type Named = (alias: string) => Readonly<Record<string, string>>

/** Columns of `cfdi` under their own names. */
export const named =
  (...names: readonly (keyof CfdiRow)[]): Named =>
  (alias) =>
    Object.fromEntries(names.map((name) => [name, inlined(sql`${cfdiAs(alias)[name]}`)]))
const NOTHING = named()
const of = (alias: string, more: Named): Record<string, SQL> =>
  Object.fromEntries(Object.entries(more(alias)).map(([name, value]) => [name, sql.raw(value)]))

/** The condition that the invoice or credit note `own` is paid at once. */
const isPaidAtOnce = (partition: Partition): SQL =>
  sql`(${own.metodo_pago} is 'PUE' and (${own.tipo_comprobante} = 'E' or not ${hasComplement(partition)}))`

/** The documents that are paid at once: invoices and credit notes with metodo_pago PUE. */
const paidAtOnce = (
  partition: Partition,
  direction: DirectionNumber,
  days: Pick<Population, 'first' | 'last' | 'counterparty'>,
  more: Named,
): SQL | null => whole(partition, direction, days, more, [sql`${own.metodo_pago} = 'PUE'`, isPaidAtOnce(partition)])

/** Selects the invoices and credit notes of a direction and some days of `fecha`, paid or not, with the columns of `cashEvents`. */
export const accruedEvents = (partition: Partition, direction: DirectionNumber, days: Days): SQL | null => whole(partition, direction, days)

/** The same, with the `reason` `paid_later` for those not paid at once. */
export const wholeEvents = (partition: Partition, direction: DirectionNumber, days: Days, more: Named): SQL | null =>
  whole(partition, direction, days, more, [], sql`when not ${isPaidAtOnce(partition)} then 'paid_later'`)

const paidOf = ({ currency, tipo_cambio, total_micros, subtotal, descuento, taxes, iva_trasladado }: typeof own) => [
  ...[currency, tipo_cambio, total_micros, subtotal, descuento, taxes, iva_trasladado],
]

/** Whole documents. The amounts of a credit note are negative. */
function whole(
  partition: Partition,
  direction: DirectionNumber,
  days: Pick<Population, 'first' | 'last' | 'counterparty'>,
  more: Named = NOTHING,
  conditions: readonly SQL[] = [],
  reasons: SQL = sql``,
): SQL | null {
  const known = [sql`${own.version} is not null`, ...conditions]
  const population = populationOf(partition, { ...days, direction, types: ['I', 'E'], conditions: known })
  if (population === null) return null
  const signed = (amount: SQLWrapper) => sql`case ${own.tipo_comprobante} when 'E' then -(${amount}) else ${amount} end`
  const needsExact = sql.raw(`(${MISSING_RATE('own')} or ${isLarge('own')})`)
  const selected = columns({
    uuid: own.uuid,
    applies_to: sql`null`,
    n: sql`0`,
    issued_at: own.issued_at,
    day: sql`substr(${own.fecha}, 1, 10)`,
    counterparty: own.counterparty_rfc,
    tipo: own.tipo_comprobante,
    forma: own.forma_pago,
    invoice: own.uuid,
    reason: sql`case when ${sql.raw(NOT_COUNTED('own'))} then 'not_counted' ${reasons} end`,
    needs_exact: needsExact,
    amount: own.total_micros,
    paid: signed(own.total_mxn),
    net: signed(own.net_mxn),
    ...Object.fromEntries(BREAKDOWN.map((name) => [name, signed(sql.raw(taxOf('own', name)))])),
    source: sql`case when ${needsExact} or ${sql.raw(NOT_COUNTED('own'))} then
      json_array(${own.total_micros}, ${own.currency}, null, null, ${listOf(paidOf(own))}) end`,
    ...of('own', more),
  })
  return sql`select ${selected} ${population}`
}

/**
 * The payment complements of a direction that may have a payment on these days, as the alias `own`: once by date of issue, once late. They
 * count now, or counted at the end of a past day; `acting` as `Population` has it.
 */
export function complements(
  partition: Partition,
  direction: DirectionNumber,
  { first, last }: Days,
  { past = null, acting = false }: Pick<Population, 'past' | 'acting'> = {},
): SQL[] {
  const bounds = boundsOf(partition, direction)
  const paid = sql`${own.first_paid_on} <= ${last} and ${own.last_paid_on} >= ${first}`
  const usual = populationOf(partition, {
    ...{ direction, first: dayFrom(first, -USUAL_DAYS), last: dayFrom(last, USUAL_DAYS), types: ['P'], past, acting },
    conditions: [paid, sql`not coalesce(${IS_LATE}, 0)`],
  })
  if (usual === null || !bounds) return []
  const late = all([
    sql`${own.entity} = ${partition.number} and ${own.direction} = ${sql.raw(String(direction))} and ${IS_LATE} and ${paid}`,
    sql`${own.kind} = 'cfdi' and ${own.tipo_comprobante} = 'P' and ${own.emisor_rfc} <> ${own.receptor_rfc}`,
    ...(bounds.until === null ? [] : [sql`${own.issued_at} <= ${bounds.until}`]),
    past === null ? sql`${own.cancelled} = 0 and not ${isSubstituted(partition, 'own')}` : countedOn(partition, 'own', past),
    ...(acting ? [] : partition.conditions('own')),
  ])
  const names = listOf([own.uuid, own.issued_at, own.fecha, own.direction, own.emisor_rfc, own.counterparty_rfc, own.related])
  return [sql`select ${names} ${usual}`, sql`select ${names} from ${cfdi} ${own} indexed by cfdi_late where ${late}`]
}

/**
 * Selects the parts of invoices that complements of a direction pay on some days, and why some do not count, with the columns of
 * `cashEvents`. With `acting`, also hidden parts that act on balances, which a column `is_hidden` marks.
 */
export function paidByComplement(
  partition: Partition,
  direction: DirectionNumber,
  days: Days,
  more: Named = NOTHING,
  acting = false,
): SQL | null {
  const [usual, late] = complements(partition, direction, days, { acting })
  if (!usual || !late) return null
  return sql`${partsOf(partition, more, acting ? { is_hidden: sql`not (${all(partition.conditions('own'))})` } : {})}
    from (${usual} union all ${late}) own cross join json_each(${own.related}) related cross join ${cfdiPayments} ${p}
    left join ${cfdi} ${i} on ${i.uuid} = ${p.invoice} and ${isVisible(partition, 'i')}
    where ${p.entity} = ${partition.number} and ${p.invoice} = related.value and ${p.source} = ${own.uuid} and ${isPaidOn(days)}`
}

const isPaidOn = ({ first, last }: Days): SQL =>
  sql`${p.kind} = 'P' and ${p.fecha_pago} >= ${first} and ${p.fecha_pago} < ${afterDay(last)}`

/** The columns of the paid part `p` of an invoice `i`, by a complement `own` that counts. */
function partsOf(partition: Partition, more: Named, others: Record<string, SQLWrapper> = {}): SQL {
  const reason = sql`case
    when ${i.uuid} is null or ${i.version} is null or ${i.tipo_comprobante} is not 'I' or ${i.emisor_rfc} = ${i.receptor_rfc} then 'unknown'
    when ${i.cancelled} = 1 then 'cancelled'
    when ${isSubstituted(partition, 'i')} then 'substituted'
    when ${i.emisor_rfc} <> ${own.emisor_rfc} then 'other_parties'
    when coalesce(${p.currency}, ${i.currency}, 'MXN') <> coalesce(${i.currency}, 'MXN') then 'currency_mismatch'
    when ${sql.raw(NOT_COUNTED('i'))} then 'not_counted' end`
  const isPesos = sql.raw(inPesos(inlined(sql`${p.currency}`), inlined(sql`${i.currency}`)))
  const isWhole = sql`${p.amount} = ${i.total_micros}`
  const needsExact = sql`(length(${p.amount}) > ${sql.raw(String(LARGE))} or (not ${isPesos} and ${p.amount_mxn} is null)
    or coalesce(instr(${p.taxes}, '"'), 0) > 0
    or (${p.taxes} is null and not (${isPesos} and ${isWhole} and ${i.net_mxn} is not null and not ${sql.raw(isLarge('i'))})))`
  const selected = columns({
    uuid: own.uuid,
    applies_to: p.invoice,
    n: p.n,
    issued_at: own.issued_at,
    day: sql`substr(${p.fecha_pago}, 1, 10)`,
    counterparty: sql`coalesce(${i.counterparty_rfc}, ${own.counterparty_rfc})`,
    tipo: sql`'P'`,
    forma: p.forma_pago,
    invoice: i.uuid,
    reason,
    needs_exact: needsExact,
    amount: p.amount,
    paid: sql`case when ${isPesos} then ${p.amount} else ${p.amount_mxn} end`,
    // In proportion to the payment, which a caller computes (`exactAmounts`) unless all is paid.
    net: sql`case when ${isPesos} and ${isWhole} then ${i.net_mxn} end`,
    ...Object.fromEntries(
      BREAKDOWN.map((name, n) => [
        name,
        sql`case when ${p.taxes} is not null then coalesce(${p.taxes}->>${sql.raw(String(n))}, 0) when ${isWhole} then ${sql.raw(taxOf('i', name))} else 0 end`,
      ]),
    ),
    source: sql`json_array(${listOf([p.amount, p.currency, p.conversion, p.taxes, ...paidOf(i)])})`,
    ...others,
    ...of('i', more),
  })
  return sql`select ${selected}`
}

/** The `cashEvents` of the invoices and credit notes of some counterparties and days, which it finds by these. */
export function cashEventsOf(
  partition: Partition,
  direction: DirectionNumber,
  invoices: Days & { counterparty: readonly string[] },
  days: Days,
): SQL | null {
  const whole = paidAtOnce(partition, direction, invoices, NOTHING)
  if (whole === null) return null
  const { first, last, counterparty } = invoices
  const isMeant = all([
    sql`${i.entity} = ${partition.number} and ${i.counterparty_rfc} in (select value from json_each(${JSON.stringify(counterparty)}))`,
    sql`${i.direction} = ${sql.raw(String(direction))} and ${i.issued_at} >= ${earliestOf(first)} and ${i.issued_at} <= ${latestOf(last)}`,
    sql`${i.fecha} >= ${first} and ${i.fecha} < ${afterDay(last)} and ${isVisible(partition, 'i')}`,
  ])
  const isComplement = all([
    sql`${own.kind} = 'cfdi' and ${own.tipo_comprobante} = 'P' and ${own.cancelled} = 0 and ${own.emisor_rfc} <> ${own.receptor_rfc}`,
    sql`${own.direction} = ${sql.raw(String(direction))} and not ${isSubstituted(partition, 'own')} and ${isVisible(partition, 'own')}`,
  ])
  return sql`${whole} union all ${partsOf(partition, NOTHING)} from ${cfdi} ${i} indexed by cfdi_cpd cross join ${cfdiPayments} ${p} cross join ${cfdi} ${own}
    where ${isMeant} and ${p.entity} = ${partition.number} and ${p.invoice} = ${i.uuid} and ${own.uuid} = ${p.source} and ${isComplement} and ${isPaidOn(days)}`
}

/**
 * Selects the cash events of a direction on some days, and the paid parts that are none (`reason`), one row each. Columns: `uuid` of the
 * document, `applies_to` and `n` of a complement, `issued_at`, `day`, `counterparty`, `tipo` (I, E, P), `forma`, `invoice` (what is paid),
 * `reason`, `needs_exact`, `amount` in the stated currency, `paid`, `net` and each of `BREAKDOWN` in micros of MXN, and `source`. Where
 * `needs_exact` is set, `exactAmounts` computes the amounts from `source` instead; it also computes the `net` of a paid part where that is
 * null. `more` are further columns of the invoice, or of the document that is paid at once. Null when the window shows nothing of the
 * direction.
 */
export function cashEvents(partition: Partition, direction: DirectionNumber, days: Days, more: Named = NOTHING): SQL | null {
  const selects = [paidAtOnce, paidByComplement].flatMap((select) => select(partition, direction, days, more) ?? [])
  const [first, second] = selects
  if (!first) return null
  return second ? sql`${first} union all ${second}` : first
}

/** Selects the credit notes of a direction and some days that name a visible invoice of other parties, with the columns `uuid` … `amount`. */
export function creditsOfOthers(partition: Partition, direction: DirectionNumber, days: Days, past: string | null = null): SQL | null {
  const notes = populationOf(partition, { ...days, direction, past, types: ['E'], conditions: [sql`${own.related} is not null`] })
  return (
    notes &&
    sql`select ${own.uuid}, ${i.uuid} as applies_to, ${own.issued_at}, ${own.total_micros} as amount
      from (select ${own}.* ${notes}) own cross join json_each(${own.related}) related cross join ${cfdi} ${i}
      where ${i.uuid} = related.value and ${isVisible(partition, 'i')}
        and (${i.emisor_rfc} <> ${own.emisor_rfc} or ${i.receptor_rfc} <> ${own.receptor_rfc})`
  )
}

/**
 * Selects the credit notes of a direction and some days that are paid at once, although the invoice of the same parties that they credit is
 * to be paid later and no complement pays it: the same columns, once for each invoice.
 */
export function creditsOfUnpaid(partition: Partition, direction: DirectionNumber, days: Days): SQL | null {
  const atOnce = sql`${own.metodo_pago} = 'PUE' and ${own.version} is not null and ${own.related} is not null and not coalesce(${sql.raw(NOT_COUNTED('own'))}, 0)`
  const notes = populationOf(partition, { ...days, direction, types: ['E'], conditions: [atOnce] })
  return (
    notes &&
    sql`select ${own.uuid}, ${i.uuid} as applies_to, ${own.issued_at}, ${own.total_micros} as amount
      from (select ${own}.* ${notes}) own cross join json_each(${own.related}) related cross join ${cfdi} ${i}
      where ${i.uuid} = related.value and ${isVisible(partition, 'i')} and ${i.emisor_rfc} = ${own.emisor_rfc} and ${i.receptor_rfc} = ${own.receptor_rfc}
        and ${i.version} is not null and ${i.tipo_comprobante} = 'I' and ${i.metodo_pago} = 'PPD' and ${i.cancelled} = 0
        and not ${isSubstituted(partition, 'i')} and not ${hasComplement(partition, i)}`
  )
}

/**
 * Selects the documents of a direction that withhold something: payroll receipts (N) paid on some days, and CFDI de retenciones (`tipo` R)
 * whose period ends on them. Columns: `uuid`, `issued_at`, `day`, `tipo`, `counterparty` and `taxes` (`WITHHELD`). Null when the window
 * shows nothing of the direction.
 */
export function withheldDocuments(partition: Partition, direction: DirectionNumber, { first, last }: Days): SQL | null {
  const bounds = boundsOf(partition, direction)
  if (!bounds) return null
  const common = all([
    sql`${own.entity} = ${partition.number} and ${own.direction} = ${sql.raw(String(direction))} and ${own.cancelled} = 0`,
    sql`${own.last_paid_on} >= ${first} and ${own.last_paid_on} <= ${last} and ${own.taxes} is not null and ${own.emisor_rfc} <> ${own.receptor_rfc}`,
    sql`not ${isSubstituted(partition, 'own')}`,
    ...(bounds.until === null ? [] : [sql`${own.issued_at} <= ${bounds.until}`]),
    ...partition.conditions('own'),
  ])
  const usual = sql`${own.issued_at} >= ${Date.parse(dayFrom(first, -USUAL_DAYS - 1)) / 1_000}
    and ${own.issued_at} <= ${Date.parse(dayFrom(last, USUAL_DAYS + 2)) / 1_000} and ${own.fecha} < ${afterDay(dayFrom(last, USUAL_DAYS))}
    and not ${IS_LATE}`
  const select = (index: string, where: SQL) =>
    sql`select ${own.uuid}, ${own.issued_at}, ${own.last_paid_on} as day, coalesce(${own.tipo_comprobante}, 'R') as tipo, ${own.counterparty_rfc} as counterparty, ${own.taxes}
      from ${cfdi} ${own} indexed by ${sql.raw(index)} where ${where} and ${common}`
  return sql`${select('cfdi_tipoc', sql`${own.tipo_comprobante} = 'N' and ${usual}`)}
    union all ${select('cfdi_tipoc', sql`${own.tipo_comprobante} is null and ${own.kind} = 'retenciones' and ${usual}`)}
    union all ${select('cfdi_late', sql`(${own.tipo_comprobante} = 'N' or ${own.kind} = 'retenciones') and ${IS_LATE}`)}`
}
