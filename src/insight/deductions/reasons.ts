import { isSubstituted } from '../../cfdi/population/population.ts'
import { inlined, quoted } from '../../platform/db/fragment.ts'
import type { Rules } from '../../rules/dated.ts'
import type { Partition } from '../../visibility/scoped-ledger.ts'
import { repseNotValid, usoInvalid } from '../risk/flags.ts'
import { isOpen, isPaidBy } from '../risk/payments.ts'
import { hasKey } from '../risk/withholding.ts'

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
  sets: ReadonlySet<string>
  /** The personal uses of c_UsoCFDI, none for a company, and those of them that only electronic payment allows. */
  personal: readonly string[]
  electronicOnly: readonly string[]
}

const among = (values: readonly string[]): string => `(${values.map(quoted).join()})`

/** The condition that a form of payment of `own` meets one: its own, or of a complement when it is paid later. */
const paidIn = (partition: Partition, condition: (forma: string) => string): string =>
  `iif(own.metodo_pago is 'PPD', ${isPaidBy(partition, 0, condition('p.forma_pago'))}, ${condition('own.forma_pago')})`

const INVOICE = "own.tipo_comprobante = 'I'"
const PPD = `${INVOICE} and own.metodo_pago is 'PPD'`

/** The condition that only the paid part of the invoice `own` is deducted. */
export function isFlow({ rules, personal }: DeductionReading): string {
  const regimes = rules.find('deduction.flow_basis') ?? []
  return `(${PPD} and (${isPersonal(personal)} or iif(own.receptor_regimen_fiscal is null, length(own.receptor_rfc) = 13, own.receptor_regimen_fiscal in ${among(regimes)})))`
}

/** The condition that `own` is a personal deduction, by the use that `uso` selects. */
export const isPersonal = (personal: readonly string[], uso = 'own.uso_cfdi'): string =>
  personal.length === 0 ? '0' : `coalesce(${uso} in ${among(personal)}, 0)`

/** The condition that an invoice of a business was paid in cash. */
export const paidInCash = (partition: Partition, personalOwn: string): string =>
  `(not ${personalOwn} and ${INVOICE} and ${paidIn(partition, (forma) => `coalesce(${forma} = '01', 0)`)})`

/** Each reason as the condition under which the received document `own` has it, by whether it is personal; null where none can. */
export function reasonsOf(reading: DeductionReading, personalOwn: string): Partial<Record<Reason, string | null>> {
  const { partition, cancelled, rules, sets, personal, electronicOnly } = reading
  const { electronic, review } = rules.get('payment_forms')
  const isElectronicForm = [...electronic, ...review, '99']
  const isNo = (forma: string) => `coalesce(${forma} not in ${among(isElectronicForm)}, 0)`
  const isReview = (forma: string) => `(${forma} is null or ${forma} in ${among([...review, '99'])})`
  const business = `not ${personalOwn}`
  const isElectronicOnly = electronicOnly.length === 0 ? null : `${INVOICE} and ${personalOwn} and own.uso_cfdi in ${among(electronicOnly)}`
  const uses = (category: string) => personal.filter((uso) => rules.get(`deduction.${uso}` as 'deduction.D01').category === category)
  const fuel = rules.find('deduction.fuel')?.claves ?? []
  const repse = repseNotValid({ partition, direction: 1, rules, sets }, (day) => {
    const later = day === null ? '1' : `substr(p.fecha_pago, 1, 10) > ${day}`
    const onDay = day === null ? '1' : `substr(own.fecha, 1, 10) > ${day}`
    return `iif(own.metodo_pago is 'PPD', ${isPaidBy(partition, 0, later)}, ${onDay})`
  })
  const excluded = among(rules.find('deduction.personal_excluded') ?? [])
  return {
    cancelled: cancelled === 1 ? '1' : null,
    substituted: cancelled === 1 ? null : inlined(isSubstituted(partition, 'own')),
    missing_xml: 'own.xml_object is null',
    cash_over_2000: `own.version is not null and coalesce(own.total_mxn + 0 > ${Number(rules.get('cash.threshold')) * 1_000_000}, 0)
      and ${paidInCash(partition, personalOwn)}`,
    fuel_not_electronic:
      fuel.length === 0 ? null : `${business} and ${INVOICE} and coalesce(${hasKey(fuel)}, 0) and ${paidIn(partition, isNo)}`,
    uso_s01: "own.uso_cfdi = 'S01'",
    issuer_69b_definitivo: sets.has('list_definitivo') ? 'own.counterparty_rfc in list_definitivo' : null,
    repse_missing_at_payment:
      repse && cancelled === 0 ? `${business} and ${INVOICE} and not ${inlined(isSubstituted(partition, 'own'))} and ${repse}` : null,
    wrong_receptor_regimen: `(${usoInvalid({ rules }) ?? '0'} or (${personalOwn} and own.receptor_regimen_fiscal in ${excluded}))`,
    not_electronic: isElectronicOnly && `${isElectronicOnly} and ${paidIn(partition, isNo)}`,
    not_paid: null,
    payment_form_review: isElectronicOnly && `${isElectronicOnly} and ${paidIn(partition, isReview)} and not ${paidIn(partition, isNo)}`,
    mortgage_loan: uses('mortgage').length === 0 ? null : `own.uso_cfdi in ${among(uses('mortgage'))}`,
    // What the complement of schools says is read afterwards.
    tuition_without_iedu: null,
    uso_undefined: `${business} and own.uso_cfdi = 'P01'`,
  }
}

export const openPart = (reading: DeductionReading): string => `(${isFlow(reading)} and ${isOpen(reading.partition)})`
