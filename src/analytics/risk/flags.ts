import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { ANY_DAY, byDay } from '../../authority/rules/by-day.ts'
import type { Rules, RuleValues, Unit } from '../../authority/rules/dated.ts'
import { withholdingClasses } from '../../authority/rules/withholding-classes.ts'
import { countedApplications, paymentInMxn } from '../../cfdi/cash/counted-applications.ts'
import { checkSql } from '../../cfdi/checks/checks.ts'
import type { cfdiAs } from '../../cfdi/columns.ts'
import { cfdi, cfdiPayments, cfdiSubstitutions, own, p, source } from '../../cfdi/population/aliases.ts'
import { type Days, isSubstituted } from '../../cfdi/population/population.ts'
import { mainKey } from '../../cfdi/products.ts'
import { all, inlined } from '../../platform/db/statement.ts'
import { inPesos } from '../../platform/money.ts'
import { lastDayOf } from '../../platform/time/months.ts'
import {
  type DirectionNumber,
  isAfterCeiling,
  isCounted,
  isVisible,
  type Partition,
  type ScopedLedger,
} from '../../taxpayers/visibility/scoped-ledger.ts'
import { FOUND, hasKey, judgeOf, purchaseOf } from '../common/deductible.ts'

const HALF_CENT = sql`5000`
const rate = (of: typeof p | typeof own): SQL =>
  sql`case when ${sql.raw(inPesos(inlined(sql`${of.currency}`)))} then 1 else ${of.tipo_cambio} end`

const applied = (partition: Partition, of: InvoiceAlias, conditions: SQL): SQL =>
  sql`from ${cfdiPayments} ${p} cross join ${cfdi} ${source} where ${p.entity} = ${partition.number} and ${p.invoice} = ${of.uuid} and ${source.uuid} = ${p.source}
    and ${source.emisor_rfc} = ${of.emisor_rfc} and ${isCounted(partition, 'source')} and ${conditions}`

type InvoiceColumn = 'uuid' | 'emisor_rfc' | 'currency' | 'fecha' | 'forma_pago' | 'metodo_pago' | 'total_mxn' | 'total_micros'
/** An invoice under the name that a statement gives it. */
export type InvoiceAlias = Pick<ReturnType<typeof cfdiAs>, InvoiceColumn>

/**
 * The condition that a payment complement of its issuer, valid or cancelled, pays the invoice `of` in its currency; with `what`, a select
 * from these complements, the aliases `p` and `source`.
 */
export const isPaidBy = (partition: Partition, cancelled: 0 | 1, more = sql`1`, what: SQL | null = null, of: InvoiceAlias = own): SQL => {
  const isValid = cancelled === 0 ? sql` and not ${isSubstituted(partition, 'source')}` : sql``
  const isSame = sql`coalesce(${p.currency}, ${of.currency}, 'MXN') = coalesce(${of.currency}, 'MXN')`
  const conditions = sql`${p.kind} = 'P' and ${source.cancelled} = ${sql.raw(String(cancelled))} and ${isSame} and ${more}${isValid}`
  return sql`${what === null ? sql`exists (select 1` : sql`(select ${what}`} ${applied(partition, of, conditions)})`
}

/**
 * The sum of complements and, unless `more` excludes them, credit notes that count up to the ceiling for the PPD invoice `own`, in micros.
 */
const appliedUpTo = (partition: Partition, more = sql`1`): SQL => {
  const isSame = sql`${p.kind} = 'P' or coalesce(${p.currency}, 'MXN') = coalesce(${own.currency}, 'MXN')`
  const amount = sql`iif(${isSame}, ${p.amount} + 0, ${p.amount} * (${rate(p)}) / (${rate(own)}))`
  return sql`coalesce((select sum(${amount}) ${countedApplications(partition)} and ${more}), 0)`
}
const leftAtCeiling = (partition: Partition): SQL => sql`(${own.total_micros} - ${appliedUpTo(partition)})`

/** The condition that a document issued after the ceiling changed what is paid of `own`. Null without a ceiling. */
const isPaidBeyond = (partition: Partition): SQL | null => isAfterCeiling(partition, 'own', 'applied_until')

/** The amount that complements paid of the PPD invoice `own`, in micros of its currency. */
export function paidOf(partition: Partition): SQL {
  const isBeyond = isPaidBeyond(partition)
  return isBeyond === null
    ? sql`${own.paid}`
    : sql`case when ${isBeyond} then ${appliedUpTo(partition, sql`${p.kind} = 'P'`)} else ${own.paid} end`
}

/** The amount that credit notes take off the PPD invoice `own`, in micros of its currency. */
export function creditedOf(partition: Partition): SQL {
  const isBeyond = isPaidBeyond(partition)
  return isBeyond === null
    ? sql`${own.credited}`
    : sql`case when ${isBeyond} then cast(round(${appliedUpTo(partition, sql`${p.kind} = 'E'`)}) as integer) else ${own.credited} end`
}

const STORED_OPEN = sql`${own.payment_status} in ('unpaid', 'partially_paid')`

/**
 * The condition that the PPD invoice `own` is not fully paid, as the ceiling shows it. The stored status says so, unless a document issued
 * after the ceiling has changed it.
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

// `composedByDay` writes the values of rules into the text.

/** The condition that one of these holds. */
const anyOf = (conditions: readonly SQL[]): SQL => sql`(${sql.join([...conditions], sql` or `)})`

/** The condition that a text of SQL begins with one of these. */
const beginsWith = (text: SQL, prefixes: readonly string[]): SQL =>
  anyOf([...Map.groupBy(prefixes, ({ length }) => length)].map(([length, some]) => sql`substr(${text}, 1, ${length}) in ${some}`))

/** The condition that a line of `own` has a product key that begins with one of these. */
const ownHasKey = (prefixes: readonly string[]): SQL => sql.raw(hasKey(inlined(sql`${own.products}`), prefixes))

const inMicros = (column: SQLWrapper): SQL => sql`cast(round(coalesce(${column}, '0') * 1000000) as integer)`

const MILLION = 1_000_000

/**
 * The condition that an invoice `own` withholds less or more than its class says, in its own currency, by more than the
 * tolerated part. Null when no rule of the day can expect anything.
 */
function withholdingMissing(rules: Rules): SQL | null {
  const classes = withholdingClasses(rules)
  const tolerance = Math.round(Number(rules.find('withholding.tolerance') ?? 0) * MILLION)
  if (classes.length === 0) return null
  const detected = classes.map(({ emisor, detection }) => {
    const one = detection.map(({ emisor_regimenes, claves }) =>
      all([
        ...(emisor_regimenes === null ? [] : [sql`${own.emisor_regimen_fiscal} in ${emisor_regimenes}`]),
        ...(claves === null ? [] : [beginsWith(sql`main`, claves)]),
      ]),
    )
    return sql`${emisor === 'any' ? sql`` : sql`length(${own.emisor_rfc}) = 13 and `}${anyOf(one)}`
  })
  const differs = (of: SQL, stated: SQLWrapper, { numerator, denominator }: { numerator: number; denominator: number }): SQL => {
    const expected = sql`((2 * ${of} * ${numerator} + ${denominator}) / ${2 * denominator})`
    return sql`(${expected} > 0 and abs(coalesce(${stated}, 0) - ${expected}) > (${expected} * ${tolerance} + ${MILLION / 2}) / ${MILLION})`
  }
  const branches = classes.map(({ isr, iva }, n) => {
    const isIva = iva?.claves ? sql`${beginsWith(sql`main`, iva.claves)} and ` : sql``
    const faults = [
      ...(isr === null ? [] : [differs(sql`net`, own.isr_retenido, isr)]),
      ...(iva === null
        ? []
        : [sql`${isIva}${differs(iva.of === 'net' ? sql`net` : sql`coalesce(${own.iva_trasladado}, 0)`, own.iva_retenido, iva)}`]),
    ]
    return sql`when ${detected[n]} then ${faults.length === 0 ? sql`0` : anyOf(faults.map((one) => sql`(${one})`))}`
  })
  // Most invoices are of companies and of no freight; they are kept apart before their keys are compared.
  const any = classes.filter(({ emisor }) => emisor === 'any').flatMap(({ detection }) => detection.flatMap(({ claves }) => claves ?? []))
  return sql`length(${own.receptor_rfc}) = 12 and ${own.products} is not null and (length(${own.emisor_rfc}) = 13${any.length > 0 ? sql` or ${ownHasKey(any)}` : sql``})
    and (select case ${sql.join(branches, sql` `)} else 0 end from (select ${mainKey(own.products)} as main, ${inMicros(own.subtotal)} - ${inMicros(own.descuento)} as net))`
}

type ByDayDays = { first: string; last: string }

/** `byDay` of composed SQL. Its values are written into it, because the SQL of different days is compared as text. */
export const composedByDay = (rules: Rules, column: SQLWrapper, days: ByDayDays, make: (on: Rules) => SQL, unit?: Unit): SQL =>
  sql.raw(byDay(rules, inlined(sql`${column}`), days, (on) => inlined(make(on)), unit))

/** The same for rules that may say nothing: null when they do so on all days. */
export function anyComposedByDay(
  rules: Rules,
  column: SQLWrapper,
  days: ByDayDays,
  make: (on: Rules) => SQL | null,
  unit?: Unit,
): SQL | null {
  const text = byDay(rules, inlined(sql`${column}`), days, (on) => inlined(make(on) ?? sql`0`), unit)
  return text === '0' ? null : sql.raw(text)
}

export type FlagCode = keyof RuleValues['risk.weights']

/** The documents that one select reads, and the other facts behind flags. */
export interface FlagReading {
  partition: Partition
  direction: DirectionNumber
  /** 1 for cancelled documents. */
  cancelled: 0 | 1
  rules: Rules
  /** The days of the documents. */
  days: Days
  ledger: ScopedLedger
  /** Today in central Mexico, and now in milliseconds. */
  today: string
  now: number
  /** Which of the sets of `SETS` have members. */
  sets: ReadonlySet<string>
}

/** How far central Mexico is behind UTC. */
const CENTRAL_HOURS = 6
const DAY_MS = 86_400_000

/** The month in Mexico City of an instant of SQL. Months began an hour earlier under daylight saving time, which ended in 2022. */
const monthInMexico = (at: SQL): SQL =>
  sql`strftime('%Y-%m', ${at}, iif(${at} < '2022-10-30' and strftime('%m', ${at}, '-5 hours') between '05' and '10', '-5 hours', '-6 hours'))`

/** When a cancellation without a date became known, by `updated_at`. */
const notifiedAt = ({ ledger, partition }: FlagReading): SQL => {
  if (partition.origin === 'import') return sql`${own.updated_at}`
  const grantedRanges = JSON.stringify(ledger.grantedRangesOf(0).map(({ at, from }) => [at, from]))
  const reached = sql`(select min(j.value->>0) from json_each(${grantedRanges}) j where j.value->>0 >= ${own.issued_at} * 1000 and j.value->>1 <= ${own.fecha})`
  return sql`max(${own.updated_at}, ${sql.raw(String(ledger.first_active_at))}, coalesce(${reached}, 0))`
}

const INVOICE = sql`${own.tipo_comprobante} = 'I'`
const KNOWN = sql`${own.version} is not null`
const isCurrent = ({ partition }: FlagReading): SQL => sql`${INVOICE} and not ${isSubstituted(partition, 'own')}`
const valid =
  (condition: (reading: FlagReading) => SQL | null) =>
  (reading: FlagReading): SQL | null =>
    reading.cancelled === 1 ? null : condition(reading)
/** For invoices that count. */
const counted = (condition: (reading: FlagReading) => SQL | null) =>
  valid((reading) => {
    const found = condition(reading)
    return found === null ? null : sql`${isCurrent(reading)} and ${found}`
  })
const onList = (set: string) =>
  valid(({ sets }) =>
    sets.has(set) ? sql`${own.tipo_comprobante} in ('I', 'E') and ${own.counterparty_rfc} in ${sql.identifier(set)}` : null,
  )

/**
 * The condition that, by the registry, a supplier of specialized services had no valid registration when it was paid. `paidAfter` is the
 * condition that money moved for `own`, or after a day.
 */
export function repseNotValid(
  { direction, rules, days, sets }: Pick<FlagReading, 'direction' | 'rules' | 'days' | 'sets'>,
  paidAfter: (day: SQL | null) => SQL,
): SQL | null {
  if (direction === 0 || !(sets.has('repse_absent') || sets.has('repse_expired'))) return null
  const isSpecialized = anyComposedByDay(rules, own.fecha, days, (on) => {
    const claves = on.find('repse.claves') ?? []
    return claves.length > 0 ? sql`coalesce(${ownHasKey(claves)}, 0)` : null
  })
  const scope = [
    ...(sets.has('repse_active') ? [sql`${own.counterparty_rfc} in repse_active`] : []),
    ...(isSpecialized === null ? [] : [isSpecialized]),
  ]
  if (scope.length === 0) return null
  const until = sql`(select until from repse_expired where rfc = ${own.counterparty_rfc})`
  return sql`(${own.counterparty_rfc} in repse_absent or ${own.counterparty_rfc} in (select rfc from repse_expired))
    and (${sql.join(scope, sql` or `)}) and iif(${own.counterparty_rfc} in repse_absent, ${paidAfter(null)}, ${paidAfter(until)})`
}

/** Whether a cancellation was being decided when the organization's check was answered. */
export const cancellationInProcess = (fiscal_entity_id: string): SQL =>
  sql`${sql.raw(checkSql(fiscal_entity_id, 'estatus_cancelacion'))} = 'en_proceso'`

const isNotFound = (fiscal_entity_id: string, seconds: SQL): SQL => {
  const asked = sql`${sql.raw(checkSql(fiscal_entity_id, 'at'))} / 1000 - ${seconds}`
  return sql`${sql.raw(checkSql(fiscal_entity_id, 'estatus'))} = 'no_encontrado' and ${own.certified_at} < strftime('%Y-%m-%dT%H:%M:%S', ${asked}, 'unixepoch')`
}
const secondsOf = (hours: number): SQL => sql.raw(String((CENTRAL_HOURS + hours) * 3_600))

/** Whether the authority did not find a document so many hours after it was stamped, or later. */
export const satNotFound = (fiscal_entity_id: string, hours: number): SQL => isNotFound(fiscal_entity_id, secondsOf(hours))

/** The condition that, by the catalogs, a use is not open to a receiver's regime. */
export const usoInvalid = ({ rules, days }: Pick<FlagReading, 'rules' | 'days'>): SQL | null =>
  anyComposedByDay(rules, own.fecha, days, usoInvalidUnder)

function usoInvalidUnder(rules: Rules): SQL | null {
  const [usos, regimes] = [rules.find('catalog.uso_cfdi'), rules.find('catalog.regimen_fiscal')]
  if (usos === null || regimes === null) return null
  const alike = Map.groupBy(Object.entries(usos), ([, row]) => row.regimenes.join(' '))
  const open = [...alike].map(([regimenes, some]) => sql`when ${own.uso_cfdi} in ${some.map(([uso]) => uso)} then ${regimenes}`)
  return sql`${own.uso_cfdi} in ${Object.keys(usos)} and ${own.receptor_regimen_fiscal} in ${Object.keys(regimes)}
    and instr(case ${sql.join(open, sql` `)} end, ${own.receptor_regimen_fiscal}) = 0`
}

/** Any day on which an invoice may be paid. */
export const PAID_DAYS = { first: ANY_DAY, last: '2199-12-31' }

/** The payments of the invoice `of`, as JSON for `judgeOf`: its complements, else itself when it is paid at once. */
export const paymentsOf = (partition: Partition, of: InvoiceAlias = own): SQL => {
  const each = sql`json_group_array(json_array(${p.forma_pago}, ${paymentInMxn(of)}, ${p.amount}, ${p.fecha_pago}))`
  return sql`coalesce(nullif(${isPaidBy(partition, 0, sql`1`, each, of)}, '[]'),
    iif(${of.metodo_pago} is 'PPD', '[]', json_array(json_array(${of.forma_pago}, ${of.total_mxn}, ${of.total_micros}, ${of.fecha}))))`
}

/** The condition that a payment of a received invoice was in cash, in an amount that is not deductible or is to be reviewed. */
const inCash =
  (found: 'cash_over_2000' | 'cash_in_parts') =>
  ({ rules }: Pick<FlagReading, 'rules'>): SQL =>
    sql.raw(
      `exists (select 1 from (${judgeOf(rules, PAID_DAYS).paymentsFound('own.payments', purchaseOf(own))}) where found & ${FOUND[found]})`,
    )

/**
 * The flags of an invoice that counts whose conditions are the same in every partition. They are long, so that a statement has them once: on
 * rows with the columns \`SHARED_COLUMNS\` and \`payments\`, those of a received invoice.
 */
export const SHARED: Partial<Record<FlagCode, (reading: Pick<FlagReading, 'rules' | 'days'>) => SQL | null>> = {
  cash_over_2000: inCash('cash_over_2000'),
  cash_in_parts: (reading) => sql`json_array_length(own.payments) > 1 and ${inCash('cash_in_parts')(reading)}`,
  withholding_missing: ({ rules, days }) => anyComposedByDay(rules, own.fecha, days, withholdingMissing),
  receptor_regimen_uso_invalid: (reading) => usoInvalid(reading),
}
export const SHARED_COLUMNS = [
  ...([
    'fecha',
    'emisor_rfc',
    'receptor_rfc',
    'emisor_regimen_fiscal',
    'receptor_regimen_fiscal',
    'uso_cfdi',
    'products',
    'subtotal',
  ] as const),
  ...(['descuento', 'isr_retenido', 'iva_retenido', 'iva_trasladado', 'total_mxn'] as const),
]

/**
 * The flags, each as the condition under which `own` has it; null where no document that is read can have it. Others are in `SHARED`, and the
 * one of duplicates compares documents with each other: the store has it.
 */
export const FLAGS: Record<FlagCode, (reading: FlagReading) => SQL | null> = {
  counterparty_69b_definitivo: onList('list_definitivo'),
  counterparty_69b_presunto: onList('list_presunto'),
  counterparty_69b_bis: onList('list_bis'),
  csd_sin_efectos: onList('list_csd'),
  counterparty_69: onList('list_69'),
  cancelled_after_payment: (reading) => {
    if (reading.cancelled === 0) return null
    const at = sql`coalesce(datetime(${own.cancelled_at}), datetime((${notifiedAt(reading)}) / 1000, 'unixepoch'))`
    const isIncome = reading.direction === 0 ? sql` or ${monthInMexico(at)} > substr(${own.fecha}, 1, 7)` : sql``
    return sql`${INVOICE} and (${own.metodo_pago} = 'PUE'${isIncome} or ${isPaidBy(reading.partition, 0)})`
  },
  cancellation_in_process: valid(({ ledger }) => cancellationInProcess(ledger.fiscal_entity_id)),
  sat_not_found: valid(({ ledger, rules, days }) =>
    isNotFound(
      ledger.fiscal_entity_id,
      composedByDay(rules, own.fecha, days, (on) => secondsOf(on.find('sat.not_found_hours') ?? 0)),
    ),
  ),
  ppd_missing_complement: counted(({ partition, today, rules, days }) => {
    const dayBefore = (count: number) => new Date(Date.parse(today) - count * DAY_MS).toISOString().slice(0, 10)
    const before = composedByDay(rules, own.fecha, days, (on) => sql`${dayBefore(on.get('rep.grace_days'))}`)
    return sql`${own.metodo_pago} = 'PPD' and ${KNOWN} and ${own.fecha} < ${before} and ${isOpen(partition)}`
  }),
  complement_late: valid(({ rules, days: { last } }) => {
    // What is paid in a later month than the documents are of is due after they are stamped.
    const paid = { first: ANY_DAY, last: lastDayOf(last.slice(0, 7)) }
    const day = composedByDay(rules, own.first_paid_on, paid, (on) => sql`${String(on.get('rep.due_day')).padStart(2, '0')}`, 'month')
    return sql`${own.tipo_comprobante} = 'P' and substr(${own.certified_at}, 1, 10) >
      strftime('%Y-%m-', substr(${own.first_paid_on}, 1, 7) || '-01', '+1 month') || ${day}`
  }),
  complement_cancelled: counted(
    ({ partition }) => sql`${own.metodo_pago} = 'PPD' and ${KNOWN} and ${isOpen(partition)} and ${isPaidBy(partition, 1)}`,
  ),
  pue_forma_99: counted(() => sql`${own.metodo_pago} = 'PUE' and ${own.forma_pago} = '99'`),
  ppd_forma_not_99: counted(() => sql`${own.metodo_pago} = 'PPD' and ${own.forma_pago} <> '99'`),
  cash_over_2000: () => null,
  cash_in_parts: () => null,
  withholding_missing: () => null,
  repse_not_valid_at_payment: counted((reading) => {
    const condition = repseNotValid(reading, (day) => isPaid(reading.partition, day))
    return condition && sql`${KNOWN} and ${condition}`
  }),
  duplicate_suspected: () => null,
  substituted_not_cancelled: valid(({ partition }) => isSubstituted(partition, 'own')),
  receptor_regimen_uso_invalid: () => null,
  metadata_only: () => sql`${own.xml_object} is null`,
}
export const FLAG_CODES = Object.keys(FLAGS) as FlagCode[]
export const bitOf = (code: FlagCode): number => 2 ** FLAG_CODES.indexOf(code)

/** The documents that a flag of a row rests on: JSON lists of UUIDs, null without the flag. */
export interface Related {
  cancelled_complements: string | null
  substitutes: string | null
}

const r = alias(cfdiSubstitutions, 'r')
const s = alias(cfdi, 's')

const substitutes = (partition: Partition): SQL =>
  sql`(select json_group_array(${s.uuid}) from ${cfdiSubstitutions} ${r} cross join ${cfdi} ${s}
    where ${r.entity} = ${partition.number} and ${r.substituted} = ${own.uuid} and ${s.uuid} = ${r.source} and ${s.uuid} <> ${own.uuid} and ${s.cancelled} = 0
      and ${s.emisor_rfc} = ${own.emisor_rfc} and ${s.receptor_rfc} = ${own.receptor_rfc} and ${isVisible(partition, 's')})`

const complements = (partition: Partition): SQL =>
  isPaidBy(partition, 1, isVisible(partition, 'source'), sql`json_group_array(distinct ${source.uuid})`)

/** The columns of `Related` of the row `own` with the flags `page.mask`. They name only documents that the window shows. */
export function relatedColumns(partitions: readonly Partition[]): SQL {
  const ofFlag = (code: FlagCode, select: (partition: Partition) => SQL): SQL => {
    const each = partitions.map((one) => sql`when ${one.number} then ${select(one)}`)
    return sql`case when page.mask & ${sql.raw(String(bitOf(code)))} then case page.entity ${sql.join(each, sql` `)} end end`
  }
  return sql`${ofFlag('complement_cancelled', complements)} as cancelled_complements, ${ofFlag('substituted_not_cancelled', substitutes)} as substitutes`
}
