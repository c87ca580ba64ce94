import { type SQL, sql } from 'drizzle-orm'
import { ANY_DAY } from '../../authority/rules/by-day.ts'
import type { Rules, RuleValues } from '../../authority/rules/dated.ts'
import { checkSql } from '../../cfdi/checks/checks.ts'
import { own } from '../../cfdi/population/aliases.ts'
import { type Days, isSubstituted } from '../../cfdi/population/population.ts'
import { lastDayOf } from '../../platform/time/months.ts'
import type { DirectionNumber, Partition, ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { anyComposedByDay, composedByDay } from './by-day.ts'
import { isOpen, isPaid, isPaidBy } from './payments.ts'
import { hasKey, withholdingMissing } from './withholding.ts'

export type FlagCode = keyof RuleValues['risk.weights']

/** The documents that one select reads, and what flags depend on besides them. */
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

/** When a cancellation became known that has no date: as `updated_at` says it. */
const toldAt = ({ ledger, partition }: FlagReading): SQL => {
  if (partition.origin === 'import') return sql`${own.updated_at}`
  const reaches = JSON.stringify(ledger.reachesOf(0).map(({ at, from }) => [at, from]))
  const reached = sql`(select min(j.value->>0) from json_each(${reaches}) j where j.value->>0 >= ${own.issued_at} * 1000 and j.value->>1 <= ${own.fecha})`
  return sql`max(${own.updated_at}, ${sql.raw(String(ledger.first_active_at))}, coalesce(${reached}, 0))`
}

const INVOICE = sql`${own.tipo_comprobante} = 'I'`
const KNOWN = sql`${own.version} is not null`
const isCurrent = ({ partition }: FlagReading): SQL => sql`${INVOICE} and not ${isSubstituted(partition, 'own')}`
const valid =
  (condition: (reading: FlagReading) => SQL | null) =>
  (reading: FlagReading): SQL | null =>
    reading.cancelled === 1 ? null : condition(reading)
/** Of invoices that count. */
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
 * That the registry says that a supplier of specialized services had no valid registration when it was paid. `paidAfter` is the condition
 * that money moved for `own`, or after a day.
 */
export function repseNotValid(
  { partition, direction, rules, days, sets }: Pick<FlagReading, 'partition' | 'direction' | 'rules' | 'days' | 'sets'>,
  paidAfter = (day: SQL | null): SQL => isPaid(partition, day),
): SQL | null {
  if (direction === 0 || !(sets.has('repse_absent') || sets.has('repse_expired'))) return null
  const isSpecialized = anyComposedByDay(rules, own.fecha, days, (on) => {
    const claves = on.find('repse.claves') ?? []
    return claves.length > 0 ? sql`coalesce(${hasKey(claves)}, 0)` : null
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

/** Which catalog entries say that a use is not open to a receiver's regime. */
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

/** The total in micros of MXN above which the document `own` cannot be deducted when it is paid in cash. */
export const cashLimit = (rules: Rules, days: Days): SQL =>
  composedByDay(rules, own.fecha, days, (on) => sql`${Number(on.get('cash.threshold')) * 1_000_000}`)

/**
 * The flags of insights.md 8.1, each as the condition under which `own` has it; null where no document that is read can have it. The one of
 * duplicates compares documents with each other: the store has it.
 */
export const FLAGS: Record<FlagCode, (reading: FlagReading) => SQL | null> = {
  counterparty_69b_definitivo: onList('list_definitivo'),
  counterparty_69b_presunto: onList('list_presunto'),
  counterparty_69b_bis: onList('list_bis'),
  csd_sin_efectos: onList('list_csd'),
  counterparty_69: onList('list_69'),
  cancelled_after_payment: (reading) => {
    if (reading.cancelled === 0) return null
    const at = sql`coalesce(datetime(${own.cancelled_at}), datetime((${toldAt(reading)}) / 1000, 'unixepoch'))`
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
  cash_over_2000: counted(({ direction, rules, days }) =>
    direction === 0 ? null : sql`${own.forma_pago} = '01' and ${own.total_mxn} + 0 > ${cashLimit(rules, days)}`,
  ),
  withholding_missing: counted(({ rules, days }) => anyComposedByDay(rules, own.fecha, days, withholdingMissing)),
  repse_not_valid_at_payment: counted((reading) => {
    const condition = repseNotValid(reading)
    return condition && sql`${KNOWN} and ${condition}`
  }),
  duplicate_suspected: () => null,
  substituted_not_cancelled: valid(({ partition }) => isSubstituted(partition, 'own')),
  receptor_regimen_uso_invalid: counted(usoInvalid),
  metadata_only: () => sql`${own.xml_object} is null`,
}
export const FLAG_CODES = Object.keys(FLAGS) as FlagCode[]
export const bitOf = (code: FlagCode): number => 2 ** FLAG_CODES.indexOf(code)
