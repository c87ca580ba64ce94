import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { all, inlined } from '../../platform/db/statement.ts'
import { inPesos } from '../../platform/money.ts'
import { boundsOf, type DirectionNumber, isCounted, isVisible, type Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import { earliestOf, latestOf } from '../../taxpayers/visibility/window.ts'
import { countedOn, isSeen } from '../applied/applied.ts'
import { type CfdiRow, cfdiAs, isBeside, listOf, relatedIn } from '../columns.ts'
import { afterDay } from '../literal-day.ts'
import {
  type Days,
  isCounterparty,
  isSubstituted,
  MISSING_RATE,
  NOT_COUNTED,
  type Population,
  populationOf,
  taxOf,
} from '../population/population.ts'
import { cfdi, cfdiAdvances, cfdiPayments } from '../tables.ts'
import { BREAKDOWN, isOfLines, SIGNS_OF_LINES } from '../taxes/breakdown.ts'
import { countedApplications, paymentInMxn } from './counted-applications.ts'
import { APPLIED_ADVANCE } from './credits.ts'

const own = cfdiAs('own')
const i = cfdiAs('i')
const p = alias(cfdiPayments, 'p')
const source = cfdiAs('source')
const a = alias(cfdiAdvances, 'a')

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

/** The condition that an invoice is paid at once. */
const isPaidAtOnce = (partition: Partition, of = own): SQL => sql`(${of.metodo_pago} is 'PUE' and not ${hasComplement(partition, of)})`

/** The condition that an invoice applies an advance, or that a credit note says so (07). */
const namesAdvance = ({ tipo_relacion }: typeof own): SQL => sql`ifnull(instr(${tipo_relacion}, '07') > 0, 0)`

/** The condition that a payment in this form moves an advance to an invoice, which was money before. */
const isAdvance = (forma: SQLWrapper, invoice: typeof own): SQL =>
  sql`(${forma} is ${sql.raw(`'${APPLIED_ADVANCE}'`)} and ${namesAdvance(invoice)})`

/** What payments of an invoice in form 30 move beyond its advances, as far as the ceiling shows: rows of JSON (`beyond_advances`). */
function beyondIn(partition: Partition, direction: DirectionNumber, { beyond_advances }: typeof own): SQL {
  const until = boundsOf(partition, direction)?.until ?? null
  const isSeen = until === null ? sql`b.value->>4 is null` : sql`b.value->>3 <= ${until} and ifnull(b.value->>4 > ${until}, 1)`
  return sql`from json_each(${beyond_advances}) b where ${isSeen}`
}

/** What one of them moves beyond, which is money, in micros of the invoice's currency. Null where it is nothing. */
const beyondOf = (partition: Partition, direction: DirectionNumber): SQL =>
  sql`(select b.value->>2 ${beyondIn(partition, direction, i)} and b.value->>0 = ${p.source} and b.value->>1 = ${p.n})`
const beyondItself = (partition: Partition, direction: DirectionNumber): SQL =>
  sql`(select b.value->>2 ${beyondIn(partition, direction, own)} and b.value->>1 = 0)`

/** How the invoice `i` was settled, as JSON for `returnedPart`. */
export const refundedInvoice = (partition: Partition, direction: DirectionNumber): SQL => {
  const columns = listOf([p.kind, p.fecha_pago, p.source, p.amount, p.currency, p.tipo_cambio])
  const money = sql`iif(${p.kind} = 'P' and ${isAdvance(p.forma_pago, i)}, ifnull(${beyondOf(partition, direction)}, '0'), null)`
  return sql`json_array(${i.total_micros}, ${i.currency}, ${i.tipo_cambio},
      (select json_group_array(json_array(${columns}, ${money})) ${countedApplications(partition, null, i)}))`
}

/** What of the payment `p` of the invoice `i` is money beside the advance that it moves; null where it moves none. */
export const moneyBeside = (partition: Partition, direction: DirectionNumber): SQL =>
  sql`iif(${isAdvance(p.forma_pago, i)}, ${beyondOf(partition, direction)}, null)`

/** The condition that the payment `p` of the invoice `i` is money, or a part of it, or that it is none for a `reason`. */
export const isMoney = (partition: Partition, direction: DirectionNumber): SQL =>
  sql`(not ${isAdvance(p.forma_pago, i)} or ${beyondOf(partition, direction)} is not null or reason is not null)`

/** The condition that an invoice is paid at once with money: not with an advance that no credit note takes off. */
const isCashAtOnce = (partition: Partition): SQL => sql`(${isPaidAtOnce(partition)} and not (${isAdvance(own.forma_pago, own)}
  and not exists (select 1 ${countedApplications(partition)} and ${p.kind} = 'E' and ${namesAdvance(source)})))`

/** The invoices that are paid at once, with metodo_pago PUE. */
const paidAtOnce = (
  partition: Partition,
  direction: DirectionNumber,
  days: Pick<Population, 'first' | 'last' | 'counterparty'>,
  more: Named,
): SQL | null =>
  whole(partition, direction, days, more, 'alone', [
    sql`${own.tipo_comprobante} = 'I' and ${own.metodo_pago} = 'PUE'`,
    sql`(${isCashAtOnce(partition)} or ${beyondItself(partition, direction)} is not null)`,
  ])

/** SQL for JSON of what is found of several payments, which are JSON `[[forma, micros of MXN, amount, FechaPago], …]`, of the invoice `i`. */
export type Judge = (payments: string) => string

/** Selects the invoices and credit notes of a direction and some days, paid or not, with the columns of `cashEvents`. */
export const accruedEvents = (partition: Partition, direction: DirectionNumber, days: Days, more: Named = NOTHING): SQL | null =>
  whole(partition, direction, days, more)

/**
 * The same, with the `reason` `not_cash` for those that are no money as they stand: invoices paid later, and credit notes (`refunds`). What is
 * paid at once beyond an advance is a row of its own, with `n` 1.
 */
export const wholeEvents = (partition: Partition, direction: DirectionNumber, days: Days, more: Named): SQL | null =>
  whole(partition, direction, days, more, 'beside')

/**
 * Documents that may count on another day than that of their Fecha, and are dated outside of these days: global invoices whose period ends on
 * them, or credit notes since the first one.
 */
function elsewhere(
  partition: Partition,
  direction: DirectionNumber,
  { first, last, counterparty }: Pick<Population, 'first' | 'last' | 'counterparty'>,
  tipo: 'I' | 'E',
  conditions: readonly SQL[],
): SQL {
  const until = boundsOf(partition, direction)?.until ?? null
  return sql`from ${cfdi} ${own} indexed by cfdi_elsewhere where ${all([
    sql`${own.entity} = ${partition.number} and ${own.direction} = ${sql.raw(String(direction))} and ${own.tipo_comprobante} in ('I', 'E')`,
    sql`${own.last_paid_on} >= ${first} and ${own.tipo_comprobante} = ${tipo} and (${own.fecha} < ${first} or ${own.fecha} >= ${afterDay(last)})`,
    ...(tipo === 'I' ? [sql`${own.last_paid_on} <= ${last}`] : []),
    sql`${own.kind} = 'cfdi' and ${own.cancelled} = 0 and ${own.emisor_rfc} <> ${own.receptor_rfc} and not ${isSubstituted(partition, 'own')}`,
    ...(counterparty === undefined ? [] : [isCounterparty(counterparty)]),
    ...(until === null ? [] : [sql`${own.issued_at} <= ${until}`]),
    ...partition.conditions('own'),
    ...conditions,
  ])}`
}

const paidOf = ({ currency, tipo_cambio, total_micros, subtotal, descuento, taxes, iva_trasladado }: typeof own) => [
  ...[currency, tipo_cambio, total_micros, subtotal, descuento, taxes, iva_trasladado],
]

/**
 * Whole documents. The amounts of a credit note are negative. `beyond` says whether what is paid at once beyond an advance stands in the place
 * of its invoice, or beside it.
 */
function whole(
  partition: Partition,
  direction: DirectionNumber,
  days: Pick<Population, 'first' | 'last' | 'counterparty'>,
  more: Named = NOTHING,
  beyond: 'alone' | 'beside' | null = null,
  conditions: readonly SQL[] = [],
): SQL | null {
  const known = [sql`${own.version} is not null`, ...conditions]
  const isWithin = sql`(${own.tipo_comprobante} = 'E' or ${own.last_paid_on} is null or ${own.last_paid_on} between ${days.first} and ${days.last})`
  const population = populationOf(partition, { ...days, direction, types: ['I', 'E'], conditions: [...known, isWithin] })
  if (population === null) return null
  const signed = (amount: SQLWrapper) => sql`case ${own.tipo_comprobante} when 'E' then -(${amount}) else ${amount} end`
  const isBeside = beyond === 'beside'
  const amount = beyond === null ? own.total_micros : sql`ifnull(own.money, ${own.total_micros})`
  const isRough = sql.raw(`(${MISSING_RATE('own')} or ${isLarge('own')})`)
  const needsExact = beyond === null ? isRough : sql`own.is_rough`
  const reason = isBeside
    ? sql`when not own.part and (${own.tipo_comprobante} = 'E' or not ${isCashAtOnce(partition)}) then 'not_cash'`
    : sql``
  const selected = columns({
    uuid: own.uuid,
    applies_to: sql`null`,
    n: isBeside ? sql`own.part` : sql`0`,
    issued_at: own.issued_at,
    day: sql`iif(${own.tipo_comprobante} = 'I' and ${own.last_paid_on} is not null, ${own.last_paid_on}, substr(${own.fecha}, 1, 10))`,
    counterparty: own.counterparty_rfc,
    tipo: own.tipo_comprobante,
    forma: own.forma_pago,
    invoice: own.uuid,
    reason: sql`case when ${sql.raw(NOT_COUNTED('own'))} then 'not_counted' ${reason} end`,
    is_restated: sql`0`,
    is_returned: sql`0`,
    payment: own.total_mxn,
    judged: sql`null`,
    payment_of: sql`null`,
    needs_exact: needsExact,
    amount,
    paid: signed(own.total_mxn),
    net: signed(own.net_mxn),
    ...Object.fromEntries(BREAKDOWN.map((name) => [name, signed(sql.raw(taxOf('own', name)))])),
    source: sql`case when ${needsExact} or ${sql.raw(NOT_COUNTED('own'))} then
      json_array(${amount}, ${own.currency}, null, null, ${listOf(paidOf(own))}) end`,
    ...of('own', more),
  })
  const documents = sql`(select ${own}.* ${population} union all select ${own}.* ${elsewhere(partition, direction, days, 'I', known)})`
  if (beyond === null) return sql`select ${selected} from ${documents} own`
  const itself = beyondItself(partition, direction)
  const parts = sql`select own.*, iif(part.value, ${itself}, null) as money, part.value as part
    from ${documents} own cross join json_each(iif(${own.beyond_advances} is null, '[0]', '[0, 1]')) part where not part.value or ${itself} is not null`
  const shown = isBeside ? parts : sql`select own.*, ${itself} as money from ${documents} own`
  return sql`select ${selected} from (select own.*, ${isRough} or own.money is not null as is_rough from (${shown}) own) own`
}

/** The invoice `i` that a credit note `own` lowers, if it is shown. */
const isLowered = (
  partition: Partition,
  invoice: SQL,
): SQL => sql`${i.uuid} = ${invoice} and ${isVisible(partition, 'i')} and ${i.version} is not null
  and ${i.tipo_comprobante} = 'I' and ${i.kind} = 'cfdi' and ${i.emisor_rfc} = ${own.emisor_rfc} and ${i.receptor_rfc} = ${own.receptor_rfc}`

/** The condition that the note of an advance `own` applies it to `i`, which is not the advance that it names. */
const isApplied = (partition: Partition): SQL => sql`(${namesAdvance(i)} or ${i.uuid} is null
  or not exists (select 1 from ${cfdiAdvances} ${a} where ${a.entity} = ${partition.number} and ${a.source} = ${own.uuid} and ${a.advance} = ${i.uuid}))`

const IVA_RETENIDO = sql.raw(String(BREAKDOWN.indexOf('iva_retenido')))
const withholds = ({ taxes }: typeof own): SQL => sql`coalesce(${taxes}->>${IVA_RETENIDO}, 0) + 0 <> 0`

/**
 * Selects what credit notes return on some days, one row for each invoice that they lower (credits.ts): what is beyond its open part; all of a
 * note that names no invoice that is shown. A note on an invoice that does not count returns nothing. What is returned of an act whose IVA
 * was withheld restates the days of its payments (LIVA 7, third paragraph), one row for each, and the application of an advance is dated
 * with an invoice that is paid at once.
 */
export function refunds(
  partition: Partition,
  direction: DirectionNumber,
  days: Pick<Population, 'first' | 'last' | 'counterparty'>,
  more: Named,
  judge?: Judge,
): SQL | null {
  const conditions = [sql`${own.version} is not null and ${own.metodo_pago} = 'PUE' and not coalesce(${sql.raw(NOT_COUNTED('own'))}, 0)`]
  const notes = populationOf(partition, { ...days, direction, types: ['E'], conditions })
  if (notes === null) return null
  const isOther = sql`(${p.kind} = 'E' and coalesce(${p.currency}, 'MXN') <> coalesce(${i.currency}, 'MXN'))`
  const isMoved = sql`(${p.kind} = 'P' and ${isAdvance(p.forma_pago, i)})`
  // It is as long as what is applied to the invoice, and read only where SQL cannot tell what a note returns.
  const settled = sql`(select ${refundedInvoice(partition, direction)} from ${cfdi} ${i}
    where ${i.entity} = ${partition.number} and ${i.uuid} = applies_to)`
  // Each invoice is read once with what is applied to it, whatever the number of its notes.
  const lowered = sql`select ${i}.*, ${isPaidAtOnce(partition, i)} as at_once from (select distinct applies_to from note) cross join ${cfdi} ${i}
    where ${i.entity} = ${partition.number} and ${i.uuid} = applies_to`
  const acts = sql`select ${listOf([p.invoice, p.source, p.kind, p.fecha_pago, p.forma_pago, p.amount])}, substr(${p.fecha_pago}, 1, 10) as paid_on,
    ${paymentInMxn(i)} as of_payment, length(${p.amount}) > ${LARGE} or ${isOther} or ${isMoved} as is_odd, ${i.total_micros} + 0 as total, at_once
    ${countedApplications(partition, null, i, sql`lowered i cross join`)}`
  // As `returnedBy` has it: payments of an instant come before credit notes, and these by UUID. What was paid is short of what notes ask for
  // by the most that it ever was.
  const untilNow = sql`over (partition by invoice order by fecha_pago, kind desc, source rows unbounded preceding)`
  const before = sql`over (partition by invoice order by fecha_pago, kind desc, source rows between unbounded preceding and 1 preceding)`
  const steps = [
    sql`select *, sum(amount + 0) ${untilNow} - amount as settled, sum(iif(kind = 'P', amount + 0, 0)) ${untilNow} as paid,
      max(iif(kind = 'P', fecha_pago, null)) ${untilNow} as paid_until, max(is_odd) ${untilNow} as is_any_odd from act`,
    sql`select *, iif(kind = 'E', amount - min(amount + 0, max(iif(at_once, 0, total) - settled, 0)), 0) as beyond`,
    sql`select *, sum(beyond) ${untilNow} - iif(at_once, total, 0) - paid as short`,
    sql`select *, max(0, coalesce(max(short) ${before}, 0)) as lacking`,
    sql`select invoice, source, kind, is_any_odd, paid_until, beyond - max(0, short - lacking) as of_all`,
  ]
  const sums = steps.reduce((from, step) => sql`${step} from (${from})`)
  const day = sql`substr(${own.fecha}, 1, 10)`
  // What a note of many takes off invoices that are not shown is one row, its last one, and their parts are not read: they can be thousands.
  const isRest = sql`(${isBeside(own)} and related.value is null)`
  const isPart = (invoice: SQL) =>
    sql`${p.entity} = ${partition.number} and ${p.invoice} = ${invoice} and ${p.source} = ${own.uuid} and ${isSeen(partition, 'own')}`
  const rest = sql`(select cast(${own.total_micros} - coalesce(sum(${p.amount} + 0), 0) as text)
    from json_each(${relatedIn(own)}) one cross join ${cfdi} ${i} cross join ${cfdiPayments} ${p}
    where ${isLowered(partition, sql`one.value`)} and ${isPart(sql`one.value`)})`
  const names = sql`iif(${isBeside(own)}, json_insert(${relatedIn(own)}, '$[#]', null), coalesce(${own.related}, '[null]'))`
  const named = { ...of('own', more) }
  const ofInvoice = of('i', more)
  const inner = columns({
    uuid: own.uuid,
    applies_to: i.uuid,
    n: sql`coalesce(${p.n}, 0)`,
    issued_at: own.issued_at,
    noted_at: own.fecha,
    fecha_note: day,
    counterparty: own.counterparty_rfc,
    forma_note: sql`iif(${i.uuid} is null, ${own.forma_pago}, ${i.forma_pago})`,
    part: sql`iif(${isRest}, ${rest}, coalesce(${p.amount}, ${own.total_micros}))`,
    whole: own.total_micros,
    total: i.total_micros,
    payment_whole: i.total_mxn,
    currency_of: i.currency,
    day_of_invoice: sql`coalesce(${i.last_paid_on}, substr(${i.fecha}, 1, 10))`,
    is_other: sql`coalesce(${own.currency}, 'MXN') <> coalesce(${i.currency}, 'MXN')`,
    is_advance: sql`(${namesAdvance(own)} and ${isApplied(partition)})`,
    is_withheld: sql`coalesce(${withholds(i)}, 0)`,
    is_plain: sql.raw(`not (${MISSING_RATE('own')} or ${isLarge('own')})`),
    total_mxn_note: own.total_mxn,
    net_note: own.net_mxn,
    // A part that is divided by rate states its own taxes.
    paid_of: sql`iif(${p.taxes} is null, json_array(${listOf(paidOf(own))}), json_array(${own.currency}, ${own.tipo_cambio}, ${p.amount}, null, null, ${p.taxes}, null))`,
    ...Object.fromEntries(BREAKDOWN.map((name) => [name, sql`-(${sql.raw(taxOf('own', name))})`])),
    ...Object.fromEntries(Object.entries(named).map(([name, value]) => [name, sql`iif(${i.uuid} is null, ${value}, ${ofInvoice[name]!})`])),
  })
  const from = sql`left join ${cfdi} ${i} on ${isLowered(partition, sql`related.value`)}
      left join ${cfdiPayments} ${p} on ${isPart(sql`iif(${isBeside(own)} and ${i.uuid} is null, null, related.value)`)}`
  const rows = sql`select ${inner} from (select ${own}.* ${notes} union all select ${own}.* ${elsewhere(partition, direction, days, 'E', conditions)}) own
      cross join json_each(${names}) related ${from}
    where (${own.related} is null or ${p.n} is not null or ${isRest})
      and case when ${i.uuid} is not null then ${i.cancelled} = 0 and not ${isSubstituted(partition, 'i')} and not coalesce(${sql.raw(NOT_COUNTED('i'))}, 0)
        when ${isBeside(own)} then related.value is null else 1 end`
  const paidBefore = sql`from paid where paid.invoice = applies_to and paid.fecha_pago <= noted_at`
  // A note in another currency is not divided among days.
  const dated = sql`select note.*, at_once, is_any_odd, of_all, paid_until,
      case when at_once and (is_withheld or is_advance) then json_array(day_of_invoice)
        when at_once = 0 and is_withheld and exists (select 1 ${paidBefore}) then
          (select iif(is_other, json_array(max(paid_on)), json_group_array(distinct paid_on)) ${paidBefore}) else json_array(fecha_note) end as days
    from note left join (select uuid as lowered_uuid, at_once from lowered) on lowered_uuid = applies_to left join settling on settling.invoice = applies_to and settling.source = note.uuid`
  const onDays = sql`select noted.*, on_day.value as day, json_array_length(days) > 1 as is_split
    from (${dated} limit -1) noted cross join json_each(days) on_day where on_day.value between ${days.first} and ${days.last}`
  const isUnsure = sql`(is_split or is_other or length(part) > ${LARGE} or length(total) > ${LARGE} or is_any_odd)`
  const dayOfPart = sql`iif(is_split, day, null)`
  const found =
    judge === undefined
      ? sql`null`
      : sql`iif(json_array_length(list) > 1, (select (${sql.raw(judge('list'))}) from lowered i where ${i.uuid} = of_invoice), null)`
  // The payments until then, of one day of a refund of several: the first, and what is found of them where they are several.
  const told = sql`select of_invoice, until, on_day, json_array(json(list->'$[0]'), json(${found})) as told
    from (select *, (select json_group_array(json_array(forma_pago, of_payment, amount, paid_on)) from paid
        where invoice = of_invoice and fecha_pago <= until and (on_day is null or paid_on = on_day)) as list
      from (select distinct applies_to as of_invoice, paid_until as until, ${dayOfPart} as on_day from refunded where at_once = 0 and (${isUnsure} or of_all is not 0)) limit -1)`
  const measured = sql`select *,
      case when applies_to is null then part + 0 when not ${isUnsure} then of_all end as returned,
      case when at_once = 0 then (select told from before where of_invoice = applies_to and until = paid_until and on_day is ${dayOfPart}) end as told
    from refunded`
  const isWhole = sql`(is_plain and returned is whole + 0)`
  const others = Object.keys(named)
  return sql`with note as materialized (${rows}), lowered as materialized (${lowered}), act as materialized (${acts}),
    paid as materialized (select * from act where kind = 'P'), settling as materialized (select * from (${sums}) where kind = 'E'),
    refunded as materialized (${onDays}), before as materialized (${told})
  select ${columns({
    uuid: sql`uuid`,
    applies_to: sql`applies_to`,
    n: sql`n`,
    issued_at: sql`issued_at`,
    day: sql`day`,
    counterparty: sql`counterparty`,
    tipo: sql`'E'`,
    forma: sql`iif(at_once is not 0, forma_note, told->'$[0]'->>0)`,
    invoice: sql`coalesce(applies_to, uuid)`,
    reason: sql`null`,
    is_restated: sql`is_withheld and not is_advance and substr(day, 1, 7) < substr(fecha_note, 1, 7)`,
    is_returned: sql`not is_advance`,
    payment: sql`case when at_once then payment_whole when at_once = 0 then told->'$[0]'->>1 end`,
    judged: sql`told->>'$[1]'`,
    payment_of: sql`case when at_once and payment_whole is null then json_array(total, currency_of, day_of_invoice) end`,
    needs_exact: sql`not ${isWhole}`,
    amount: sql`coalesce(returned, part)`,
    paid: sql`-total_mxn_note`,
    net: sql`-net_note`,
    ...Object.fromEntries(BREAKDOWN.map((name) => [name, sql.identifier(name)])),
    source: sql`case when not ${isWhole} or at_once = 0 then json_array(coalesce(cast(returned as text), part), paid_of->>0, null, null, paid_of->>0, paid_of->>1, paid_of->>2, paid_of->>3,
      paid_of->>4, paid_of->>5, paid_of->>6, json(iif(returned is null, json_array(uuid, at_once, json(${settled}), iif(is_split, day, null)), null))) end`,
    ...Object.fromEntries(others.map((name) => [name, sql.identifier(name)])),
  })} from (${measured}) where returned is not 0`
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
  const names = listOf([own.entity, own.uuid, own.issued_at, own.fecha, own.direction, own.emisor_rfc, own.counterparty_rfc, own.related])
  return [sql`select ${names} ${usual}`, sql`select ${names} from ${cfdi} ${own} indexed by cfdi_late where ${late}`]
}

/**
 * Selects the parts of invoices that complements of a direction pay on some days, and why some do not count, with the columns of
 * `cashEvents`. With `acting`, also hidden parts that act on balances, which a column `is_hidden` marks, and what advances pay.
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
  return sql`${partsOf(partition, direction, more, acting ? { is_hidden: sql`not (${all(partition.conditions('own'))})` } : {})}
    from (${usual} union all ${late}) own cross join json_each(${relatedIn(own)}) related cross join ${cfdiPayments} ${p}
    left join ${cfdi} ${i} on ${i.uuid} = ${p.invoice} and ${isVisible(partition, 'i')}
    where ${p.entity} = ${partition.number} and ${p.invoice} = related.value and ${p.source} = ${own.uuid} and ${isPaidOn(days)}
      ${acting ? sql`` : sql`and ${isMoney(partition, direction)}`}`
}

const isPaidOn = ({ first, last }: Days): SQL =>
  sql`${p.kind} = 'P' and ${p.fecha_pago} >= ${first} and ${p.fecha_pago} < ${afterDay(last)}`

/** The columns of the paid part `p` of an invoice `i`, by a complement `own` that counts. */
function partsOf(partition: Partition, direction: DirectionNumber, more: Named, others: Record<string, SQLWrapper> = {}): SQL {
  const reason = sql`case
    when ${i.uuid} is null or ${i.version} is null or ${i.tipo_comprobante} is not 'I' or ${i.emisor_rfc} = ${i.receptor_rfc} then 'unknown'
    when ${i.cancelled} = 1 then 'cancelled'
    when ${isSubstituted(partition, 'i')} then 'substituted'
    when ${i.emisor_rfc} <> ${own.emisor_rfc} then 'other_parties'
    when coalesce(${p.currency}, ${i.currency}, 'MXN') <> coalesce(${i.currency}, 'MXN') then 'currency_mismatch'
    when ${sql.raw(NOT_COUNTED('i'))} then 'not_counted' end`
  const isPesos = sql.raw(inPesos(inlined(sql`${p.currency}`), inlined(sql`${i.currency}`)))
  const isWhole = sql`${p.amount} = ${i.total_micros}`
  // What an advance pays was money before: it settles the invoice, and moves nothing but what is beyond the advance.
  const isMoved = isAdvance(p.forma_pago, i)
  const needsExact = sql`(${isMoved} or (length(${p.amount}) > ${sql.raw(String(LARGE))} or (not ${isPesos} and ${p.amount_mxn} is null)
    or coalesce(instr(${p.taxes}, '"'), 0) > 0
    or (not (${isPesos} and ${isWhole}) and (${sql.join(
      SIGNS_OF_LINES.map((n) => sql`coalesce(${i.taxes}->>${sql.raw(String(n))}, 0) + 0 <> 0`),
      sql` or `,
    )}))
    or (${p.taxes} is null and not (${isPesos} and ${isWhole} and ${i.net_mxn} is not null and not ${sql.raw(isLarge('i'))}))))`
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
    is_restated: sql`0`,
    is_returned: sql`0`,
    payment: paymentInMxn(i),
    judged: sql`null`,
    payment_of: sql`null`,
    needs_exact: needsExact,
    amount: p.amount,
    paid: sql`case when ${isPesos} then ${p.amount} else ${p.amount_mxn} end`,
    // In proportion to the payment, which a caller computes (`exactAmounts`) unless all is paid.
    net: sql`case when ${isPesos} and ${isWhole} then ${i.net_mxn} end`,
    ...Object.fromEntries(
      BREAKDOWN.map((name, n) => [
        name,
        sql`case ${isOfLines(n) ? sql`` : sql`when ${p.taxes} is not null then coalesce(${p.taxes}->>${sql.raw(String(n))}, 0)`} when ${isWhole} then ${sql.raw(taxOf('i', name))} else 0 end`,
      ]),
    ),
    source: sql`json_array(${listOf([p.amount, p.currency, p.conversion, p.taxes, ...paidOf(i)])}, null, iif(${isMoved}, ifnull(${beyondOf(partition, direction)}, '0'), null))`,
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
  const returned = refunds(partition, direction, invoices, NOTHING)
  if (whole === null || returned === null) return null
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
  return sql`${whole} union all select * from (${returned}) union all ${partsOf(partition, direction, NOTHING)} from ${cfdi} ${i} indexed by cfdi_cpd cross join ${cfdiPayments} ${p} cross join ${cfdi} ${own}
    where ${isMeant} and ${p.entity} = ${partition.number} and ${p.invoice} = ${i.uuid} and ${own.uuid} = ${p.source} and ${isComplement} and ${isPaidOn(days)}
      and ${isMoney(partition, direction)}`
}

/**
 * Selects the cash events of a direction on some days, and the paid parts that are none (`reason`), one row each. Columns: `uuid` of the
 * document, `applies_to` and `n` of a complement or credit note, `issued_at`, `day`, `counterparty`, `tipo` (I, E, P), `forma`, `invoice`
 * (what is paid), `reason`, `is_restated` (a refund that restates the month of its payment), `is_returned` (a refund, and no application of an
 * advance), `payment` (what was paid with `forma`, of this and maybe other invoices, in micros of MXN), `payment_of` (`[amount, currency, day]`
 * where its rate is not stated), `judged` (where a refund is of several payments, what `judge` finds of them), `needs_exact`, `amount` in the
 * stated currency, `paid`, `net` and each of `BREAKDOWN` in micros of MXN, and `source`. Where `needs_exact` is set, `exactAmounts` computes the
 * amounts from `source` instead; it also computes the `net` of a paid part where that is null. `more` are further columns of the invoice, or
 * of a document of its own. Null when the window shows nothing of the direction.
 */
export function cashEvents(partition: Partition, direction: DirectionNumber, days: Days, more: Named = NOTHING, judge?: Judge): SQL | null {
  const selects = [
    paidAtOnce(partition, direction, days, more),
    refunds(partition, direction, days, more, judge),
    paidByComplement(partition, direction, days, more),
  ].filter((select) => select !== null)
  return selects.length === 0
    ? null
    : sql.join(
        selects.map((select) => sql`select * from (${select})`),
        sql` union all `,
      )
}

/** Selects the credit notes of a direction and some days that name a visible invoice of other parties, with the columns `uuid` … `amount`. */
export function creditsOfOthers(partition: Partition, direction: DirectionNumber, days: Days, past: string | null = null): SQL | null {
  const notes = populationOf(partition, { ...days, direction, past, types: ['E'], conditions: [sql`${own.related} is not null`] })
  return (
    notes &&
    sql`select ${own.uuid}, ${i.uuid} as applies_to, ${own.issued_at}, ${own.total_micros} as amount
      from (select ${own}.* ${notes}) own cross join json_each(${relatedIn(own)}) related cross join ${cfdi} ${i}
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
    sql`with noted as materialized (select ${own}.uuid, ${own.issued_at}, ${own.total_micros} as amount, ${own.emisor_rfc}, ${own.receptor_rfc}, related.value as applies_to
        from (select ${own}.* ${notes}) own cross join json_each(${relatedIn(own)}) related),
      unpaid as materialized (select ${i.uuid} as invoice, ${i.emisor_rfc} as emisor, ${i.receptor_rfc} as receptor
        from (select distinct applies_to from noted) cross join ${cfdi} ${i} where ${i.uuid} = applies_to and ${isVisible(partition, 'i')}
        and ${i.version} is not null and ${i.tipo_comprobante} = 'I' and ${i.metodo_pago} = 'PPD' and ${i.cancelled} = 0
        and not ${isSubstituted(partition, 'i')} and not ${hasComplement(partition, i)})
      select uuid, applies_to, issued_at, amount from noted cross join unpaid
      where invoice = applies_to and emisor = emisor_rfc and receptor = receptor_rfc`
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
