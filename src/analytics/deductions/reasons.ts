import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { Rules } from '../../authority/rules/dated.ts'
import { own, p } from '../../cfdi/population/aliases.ts'
import { type Days, isSubstituted } from '../../cfdi/population/population.ts'
import type { Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import { anyComposedByDay, composedByDay } from '../risk/by-day.ts'
import { cashLimit, repseNotValid, usoInvalid } from '../risk/flags.ts'
import { isOpen, isPaidBy } from '../risk/payments.ts'
import { hasKey } from '../risk/withholding.ts'
import { personalRule } from './uses.ts'

/** Why a document cannot be deducted, and why somebody has to look at it, in the order in which rows name them. */
export const NOT_DEDUCTIBLE = [
  ...(['cancelled', 'substituted', 'missing_xml', 'cash_over_2000', 'fuel_not_electronic', 'uso_s01', 'issuer_69b_definitivo'] as const),
  ...(['repse_missing_at_payment', 'wrong_receptor_regimen', 'not_electronic', 'not_paid'] as const),
]
export const REVIEW = [
  'missing_rate',
  'payment_form_review',
  'mortgage_loan',
  'tuition_without_iedu',
  'uso_undefined',
  'cap_unknown',
] as const
export type Reason = (typeof NOT_DEDUCTIBLE)[number] | (typeof REVIEW)[number]
export const REASONS: readonly Reason[] = [...NOT_DEDUCTIBLE, ...REVIEW]
export const bitOf = (reason: Reason): number => 2 ** REASONS.indexOf(reason)
export const isNotDeductible = (mask: number): boolean => mask % bitOf('missing_rate') !== 0

export interface DeductionReading {
  partition: Partition
  cancelled: 0 | 1
  rules: Rules
  /** The days of the documents. */
  days: Days
  sets: ReadonlySet<string>
  /** The personal uses of c_UsoCFDI, none for a company. */
  personal: readonly string[]
}

/** The condition that a form of payment of `own` meets one: its own, or of a complement when it is paid later. */
const paidIn = (partition: Partition, condition: (forma: SQLWrapper) => SQL): SQL =>
  sql`iif(${own.metodo_pago} is 'PPD', ${isPaidBy(partition, 0, condition(p.forma_pago))}, ${condition(own.forma_pago)})`

const INVOICE = sql`${own.tipo_comprobante} = 'I'`
const PPD = sql`${INVOICE} and ${own.metodo_pago} is 'PPD'`

/** The condition that only the paid part of the invoice `own` is deducted. */
export function isFlow({ rules, days, personal }: DeductionReading): SQL {
  const isOfRegime = composedByDay(
    rules,
    own.fecha,
    days,
    (on) => sql`${own.receptor_regimen_fiscal} in ${on.find('deduction.flow_basis') ?? []}`,
  )
  return sql`(${PPD} and (${isPersonal(personal)} or iif(${own.receptor_regimen_fiscal} is null, length(${own.receptor_rfc}) = 13, ${isOfRegime})))`
}

/** The condition that `own` is a personal deduction, by the use that `uso` selects. */
export const isPersonal = (personal: readonly string[], uso: SQLWrapper = own.uso_cfdi): SQL =>
  personal.length === 0 ? sql`0` : sql`coalesce(${uso} in ${sql`${personal}`.inlineParams()}, 0)`

/** The condition that an invoice of a business was paid in cash. */
export const paidInCash = (partition: Partition, personalOwn: SQL): SQL =>
  sql`(not ${personalOwn} and ${INVOICE} and ${paidIn(partition, (forma) => sql`coalesce(${forma} = '01', 0)`)})`

const formsOf = (rules: Rules) => rules.get('payment_forms')

/** Each reason as the condition under which the received document `own` has it, by whether it is personal; null where none can. */
export function reasonsOf(reading: DeductionReading, personalOwn: SQL): Partial<Record<Reason, SQL | null>> {
  const { partition, cancelled, rules, days, sets, personal } = reading
  const onDay = (make: (on: Rules) => SQL | null) => anyComposedByDay(rules, own.fecha, days, make)
  const isNo = paidIn(partition, (forma) =>
    composedByDay(
      rules,
      own.fecha,
      days,
      (on) => sql`coalesce(${forma} not in ${[...formsOf(on).electronic, ...formsOf(on).review, '99']}, 0)`,
    ),
  )
  const isReview = paidIn(partition, (forma) =>
    composedByDay(rules, own.fecha, days, (on) => sql`(${forma} is null or ${forma} in ${[...formsOf(on).review, '99']})`),
  )
  const business = sql`not ${personalOwn}`
  // What the law limits by year is decided by the rules of the year.
  const ofUses = (isMeant: (rule: ReturnType<typeof personalRule>) => boolean): SQL | null =>
    anyComposedByDay(
      rules,
      own.fecha,
      days,
      (on) => {
        const uses = personal.filter((uso) => isMeant(personalRule(on, uso)))
        return uses.length === 0 ? null : sql`${own.uso_cfdi} in ${uses}`
      },
      'year',
    )
  const ofElectronic = ofUses(({ payment }) => payment === 'electronic')
  const isElectronicOnly = ofElectronic && sql`${INVOICE} and ${personalOwn} and ${ofElectronic}`
  const isFuel = onDay((on) => {
    const claves = on.find('deduction.fuel')?.claves ?? []
    return claves.length === 0 ? null : sql`coalesce(${hasKey(claves)}, 0)`
  })
  const repse = repseNotValid({ partition, direction: 1, rules, days, sets }, (day) => {
    const later = day === null ? sql`1` : sql`substr(${p.fecha_pago}, 1, 10) > ${day}`
    const atOnce = day === null ? sql`1` : sql`substr(${own.fecha}, 1, 10) > ${day}`
    return sql`iif(${own.metodo_pago} is 'PPD', ${isPaidBy(partition, 0, later)}, ${atOnce})`
  })
  const isExcluded = composedByDay(
    rules,
    own.fecha,
    days,
    (on) => sql`${own.receptor_regimen_fiscal} in ${on.find('deduction.personal_excluded') ?? []}`,
  )
  return {
    cancelled: cancelled === 1 ? sql`1` : null,
    substituted: cancelled === 1 ? null : isSubstituted(partition, 'own'),
    missing_xml: sql`${own.xml_object} is null`,
    cash_over_2000: sql`${own.version} is not null and coalesce(${own.total_mxn} + 0 > ${cashLimit(rules, days)}, 0)
      and ${paidInCash(partition, personalOwn)}`,
    fuel_not_electronic: isFuel && sql`${business} and ${INVOICE} and ${isFuel} and ${isNo}`,
    uso_s01: sql`${own.uso_cfdi} = 'S01'`,
    issuer_69b_definitivo: sets.has('list_definitivo') ? sql`${own.counterparty_rfc} in list_definitivo` : null,
    repse_missing_at_payment:
      repse && cancelled === 0 ? sql`${business} and ${INVOICE} and not ${isSubstituted(partition, 'own')} and ${repse}` : null,
    wrong_receptor_regimen: sql`(${usoInvalid({ rules, days }) ?? sql`0`} or (${personalOwn} and ${isExcluded}))`,
    not_electronic: isElectronicOnly && sql`${isElectronicOnly} and ${isNo}`,
    not_paid: null,
    payment_form_review: isElectronicOnly && sql`${isElectronicOnly} and ${isReview} and not ${isNo}`,
    mortgage_loan: ofUses(({ category }) => category === 'mortgage'),
    // What the complement of schools says is read afterwards.
    tuition_without_iedu: null,
    uso_undefined: sql`${business} and ${own.uso_cfdi} = 'P01'`,
  }
}

export const openPart = (reading: DeductionReading): SQL => sql`(${isFlow(reading)} and ${isOpen(reading.partition)})`
