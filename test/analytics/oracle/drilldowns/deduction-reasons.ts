import { type Micros, micros, part, sum, times } from '../amounts.ts'
import { balanceOf } from '../balances.ts'
import { returnedOf } from '../cash.ts'
import { countedAt, inPesos, rateOf } from '../counting.ts'
import { hasPrefix, isRepseInvalid, situacionAt } from '../lists.ts'
import { loweredBy } from '../notes.ts'
import type { Rules } from '../rules.ts'
import { type Document, dayOf, isCompany, rulesOf, rulesOfYear, type World } from '../world.ts'
import { mainClave } from './expectation.ts'
import { carsOf } from './vehicles.ts'

export type Profile = 'personal' | 'business'

/** A payment; `pesos` is what all of it is of in MXN, whatever it pays, null when that is not known. */
interface Paid {
  forma: string | null
  pesos: Micros | null
  amount: Micros
  day: string
}

/** The payments of a document: its complements when it is PPD or has some, else itself. */
export function paymentsOf(world: World, document: Document): Paid[] {
  const { payments } = balanceOf(world, document, null)
  if (document.metodo_pago === 'PPD' || payments.length > 0) return payments
  const pesos = rateOf(world, document) === null ? null : inPesos(world, document, micros(document.total))
  return [{ forma: document.forma_pago, day: dayOf(document.fecha), pesos, amount: micros(document.total) }]
}

export const isRestaurant = (document: Document): boolean => mainClave(document).startsWith('901015') && mainClave(document) !== '90101502'

/** Why a payment does not let its part of an invoice be deducted (LISR 27-III, 28-XX), by the rules of a day. */
export function wrongsOf(world: World, document: Document, { forma, pesos }: Pick<Paid, 'forma' | 'pesos'>, on: string): string[] {
  const rules = world.rules(on)
  const isFuel = fuelOf(world, document).fuel.length > 0
  const reasons: [string, boolean][] = [
    ['cash_over_2000', forma === '01' && pesos !== null && pesos > micros(rules.cash_limit)],
    ['fuel_not_electronic', forma === '01' && isFuel],
    ['restaurant_not_by_card', isRestaurant(document) && forma !== null && !['04', '05', '28', '29', '99'].includes(forma)],
  ]
  return reasons.flatMap(([reason, holds]) => (holds ? [reason] : []))
}

const lineNet = (lines: Document['conceptos']): Micros => sum(lines.map(({ importe, descuento }) => micros(importe) - micros(descuento)))

/** The lines of fuel of an invoice, by the rules of its own day. */
const fuelOf = (world: World, document: Document) => {
  const { claves } = rulesOf(world, document)
  return { fuel: document.conceptos.filter((line) => hasPrefix(line.clave_prod_serv, claves.fuel)), all: document.conceptos }
}

/** What of an amount of a payment is out: all of it, or of a payment in cash the part that is for fuel. */
export function lostOf(world: World, document: Document, payment: Pick<Paid, 'forma' | 'pesos'>, on: string, amount: Micros): Micros {
  const reasons = wrongsOf(world, document, payment, on)
  if (reasons.some((reason) => reason !== 'fuel_not_electronic')) return amount
  const { fuel, all } = fuelOf(world, document)
  return reasons.length === 0 ? 0n : part(amount, lineNet(fuel), lineNet(all))
}

/** Whether a payment is one of several in cash within the limit, of an invoice above it. */
export function isInParts(
  world: World,
  invoice: Document,
  { forma, pesos }: Pick<Paid, 'forma' | 'pesos'>,
  on: string,
  all: Pick<Paid, 'forma'>[],
): boolean {
  const limit = micros(world.rules(on).cash_limit)
  const total = rateOf(world, invoice) === null ? null : inPesos(world, invoice, micros(invoice.total))
  if (forma !== '01' || pesos === null || pesos > limit || total === null || total <= limit) return false
  return all.filter((one) => one.forma === '01').length > 1
}

/** Reasons of the law for which nothing of an invoice or its IVA counts for a business, whoever pays it and how. */
export const exclusionsOf = (world: World, document: Document): string[] => [
  ...(mainClave(document) === '90101502' ? ['bar'] : []),
  ...(document.uso_cfdi === 'S01' ? ['uso_s01'] : []),
  ...(situacionAt(world, document.emisor_rfc, world.today) === 'definitivo' ? ['issuer_69b_definitivo'] : []),
]

/** The invoices that a credit note lowers, and its part of each. */
export const invoicesOf = (world: World, note: Document): [invoice: Document, part: Micros][] =>
  [...loweredBy(world, note)].flatMap(([uuid, part]) =>
    world.documents
      .filter(
        (one) =>
          one.uuid === uuid &&
          one.origin === note.origin &&
          one.tipo_comprobante === 'I' &&
          one.emisor_rfc === note.emisor_rfc &&
          one.receptor_rfc === note.receptor_rfc,
      )
      .map((one): [Document, Micros] => [one, part]),
  )

/** What was bought: the invoice itself, or the first one that a credit note is of. */
export const boughtBy = (world: World, document: Document): Document =>
  document.tipo_comprobante === 'I' ? document : (invoicesOf(world, document)[0]?.[0] ?? document)

/**
 * The part of a document of a business that is out because of its payments, or of what a credit note returns of payments that were; why; and
 * whether somebody has to look at it.
 */
export function outOf(
  world: World,
  document: Document,
): { out: Micros; of: Micros; reasons: string[]; isInParts: boolean; deducted: Micros } {
  const reasons = new Set<string>()
  const judged = (invoice: Document, payments: Paid[], all = payments) => {
    for (const one of payments) for (const reason of wrongsOf(world, invoice, one, one.day)) reasons.add(reason)
    const lost = payments.map((one) => lostOf(world, invoice, one, one.day, one.amount))
    return { out: sum(lost), open: payments.some((one) => isInParts(world, invoice, one, one.day, all)) }
  }
  if (document.tipo_comprobante === 'I') {
    const { out, open } = judged(document, paymentsOf(world, document))
    const [total, flow] = [micros(document.total), paidPartOf(world, document, 'business')]
    const of = flow === null ? total : flow.paid
    return { out, of, deducted: of - out, reasons: out > 0n ? [...reasons] : [], isInParts: open }
  }
  let [excluded, deducted, whole, open] = [0n, 0n, 0n, false]
  for (const [invoice, stated] of invoicesOf(world, document)) {
    const returns = returnedOf(
      world,
      document,
      stated,
      invoice,
      paymentsOf(world, invoice).length > 0 && balanceOf(world, invoice, null).payments.length > 0,
    )
    const returned = sum(returns.map((one) => one.returned))
    const of = [...new Set(returns.flatMap((one) => one.of))]
    const { out, open: isOpen } = judged(invoice, of as Paid[], paymentsOf(world, invoice))
    const all = sum(of.map(({ amount }) => amount))
    whole += stated
    const without = out > 0n ? part(returned, out, all) : 0n
    const rate = rulesOfYear(world, invoice).investment_rates[invoice.uso_cfdi ?? ''] ?? '1'
    excluded += without
    deducted += times(stated - without, rate)
    open ||= isOpen
  }
  return { out: excluded, of: whole, deducted, reasons: excluded > 0n ? [...reasons] : [], isInParts: open }
}

type Electronic = 'yes' | 'no' | 'review'
const isElectronic = (rules: Rules, forma: string | null): Electronic => {
  if (forma !== null && rules.electronic_forms.includes(forma)) return 'yes'
  return forma === null || forma === '99' || rules.review_forms.includes(forma) ? 'review' : 'no'
}

const isFlow = (world: World, document: Document): boolean => {
  const { receptor_regimen_fiscal, receptor_rfc } = document
  return receptor_regimen_fiscal === null
    ? !isCompany(receptor_rfc)
    : rulesOf(world, document).flow_regimes.includes(receptor_regimen_fiscal)
}

/** The part that a business deducts of what a restaurant bills; null of others (LISR 28-XX). Bars are no restaurants. */
export const deductedPartOf = (document: Document, profile: Profile): string | null =>
  profile === 'business' && isRestaurant(document) ? '0.085' : null

/** Whether the states of the place of issue and of the receiver's address differ. Two digits of a postal code tell the state. */
const FIRST_DIGITS = [
  17, 21, 23, 24, 25, 28, 29, 31, 34, 36, 39, 42, 44, 50, 58, 62, 63, 64, 68, 72, 76, 77, 78, 80, 83, 86, 87, 90, 91, 97, 98,
]
export const isElsewhere = ({ lugar_expedicion: there, receptor_domicilio_fiscal: here }: Document): boolean => {
  const stateOf = (code: string) => FIRST_DIGITS.filter((first) => first <= Number(code.slice(0, 2))).length
  return !!there && !!here && stateOf(there) !== stateOf(here)
}

/** Of whom a company deducts only what is paid (LISR 27-VIII): natural persons, payers of LISR 72 to 74, and civil societies by their name. */
const isPaidOnly = ({ receptor_rfc, emisor_rfc, emisor_regimen_fiscal, emisor_nombre }: Document): boolean =>
  isCompany(receptor_rfc) &&
  (!isCompany(emisor_rfc) ||
    ['622', '624'].includes(emisor_regimen_fiscal ?? '') ||
    / (SC|S\.C\.|S C|S\. C\.|SOCIEDAD CIVIL)$/i.test(emisor_nombre ?? ''))

/** Whether a company owes a company of 626 something, of which no source says whether it must be paid to be deducted. */
function isUnsettled(world: World, document: Document, profile: Profile): boolean {
  const { tipo_comprobante, metodo_pago, emisor_rfc, receptor_rfc, emisor_regimen_fiscal } = document
  if (tipo_comprobante !== 'I' || metodo_pago !== 'PPD' || emisor_regimen_fiscal !== '626') return false
  if (!isCompany(emisor_rfc) || !isCompany(receptor_rfc) || paidPartOf(world, document, profile) !== null) return false
  return balanceOf(world, document, null).isOpen
}

/** Whether only the paid part of a document is deducted, and how much of it is paid. */
export function paidPartOf(world: World, document: Document, profile: Profile): { paid: bigint; total: bigint; isOpen: boolean } | null {
  if (document.tipo_comprobante !== 'I' || document.metodo_pago !== 'PPD') return null
  if (profile === 'business' && !isFlow(world, document) && !isPaidOnly(document)) return null
  const { paid, credited, total, isOpen } = balanceOf(world, document, null)
  // A credit note is a row of its own: what it takes off the invoice is deducted here and given back there.
  const applied = paid + credited
  return { paid: applied > total ? total : applied, total, isOpen }
}

/** Whether an invoice says 99, or is owed by somebody who deducts before they pay. */
const isFormUnknown = (world: World, document: Document, profile: Profile): boolean =>
  paymentsOf(world, document).some(({ forma }) => forma === '99') ||
  (document.metodo_pago === 'PPD' && paidPartOf(world, document, profile) === null && balanceOf(world, document, null).isOpen)

const ORDER = ['cash_over_2000', 'fuel_not_electronic', 'uso_s01', 'issuer_69b_definitivo', 'restaurant_not_by_card', 'bar']

export interface Verdict {
  not_deductible: string[]
  review: string[]
}

/** Why a document cannot be deducted, or not before somebody looks at it. */
export function verdictOf(world: World, document: Document, profile: Profile): Verdict {
  const rules = rulesOf(world, document)
  const personal = profile === 'personal' ? rulesOfYear(world, document).personal[document.uso_cfdi ?? ''] : undefined
  const forms = paymentsOf(world, document).map(({ forma }) => isElectronic(rules, forma))
  const isElectronicOnly = personal?.electronic === true && document.tipo_comprobante === 'I'
  const regimes = document.uso_cfdi === null ? undefined : rules.uso_regimes[document.uso_cfdi]
  const regime = document.receptor_regimen_fiscal
  const isCancelled = document.estatus === 'cancelado'
  const paid = paidPartOf(world, document, profile)
  const isInvoice = document.tipo_comprobante === 'I'
  const cash = profile === 'business' ? outOf(world, document) : null
  const bought = isInvoice ? [] : invoicesOf(world, document).flatMap(([invoice]) => exclusionsOf(world, invoice))
  const whole = new Set([
    ...[...exclusionsOf(world, document), ...bought].filter((reason) => reason !== 'bar' || profile === 'business'),
    ...(cash !== null && cash.out > 0n && cash.out >= cash.of ? cash.reasons : []),
  ])
  const list = (reasons: [string, boolean][]) => reasons.flatMap(([reason, holds]) => (holds ? [reason] : []))
  return {
    not_deductible: [
      ...list([
        ['cancelled', isCancelled],
        ['substituted', !isCancelled && !countedAt(world, null).has(document.uuid)],
        ['missing_xml', !document.has_xml],
      ]),
      ...ORDER.filter((reason) => whole.has(reason)),
      ...list([
        [
          'repse_missing_at_payment',
          isInvoice &&
            countedAt(world, null).has(document.uuid) &&
            profile === 'business' &&
            paymentsOf(world, document).some(({ day }) => isRepseInvalid(world, document, day)),
        ],
        ['wrong_receptor_regimen', regimes !== undefined && regime !== null && !regimes.includes(regime)],
        ['regimen_without_deductions', !isCompany(document.receptor_rfc) && regime === '626'],
        ['not_electronic', isElectronicOnly && forms.includes('no')],
        ['not_paid', paid !== null && paid.paid === 0n],
      ]),
    ],
    review: list([
      ['missing_rate', document.has_xml && rateOf(world, document) === null],
      ['payment_form_review', isElectronicOnly && forms.includes('review') && !forms.includes('no')],
      ['mortgage_loan', personal?.category === 'mortgage'],
      ['tuition_without_iedu', personal?.category === 'tuition' && isInvoice && tuitionOf(world, document) === null],
      ['uso_undefined', profile === 'business' && document.uso_cfdi === 'P01'],
      ['unpaid_to_626', isUnsettled(world, document, profile)],
      ['vehicle_review', profile === 'business' && carsOf(world, boughtBy(world, document)).isToReview],
      ['possible_travel', isInvoice && deductedPartOf(document, profile) !== null && isElsewhere(document)],
      ['cash_in_parts', cash?.isInParts === true],
      ['restaurant_form_unknown', isInvoice && deductedPartOf(document, profile) !== null && isFormUnknown(world, document, profile)],
    ]),
  }
}

/** Whose tuition each line is, and what of it; null when a line does not say a student and a level with a limit. */
export function tuitionOf(
  { rules }: World,
  { conceptos, fecha }: Document,
  year = fecha.slice(0, 4),
): { curp: string; cap: Micros; net: Micros }[] | null {
  const lines = conceptos.map(({ iedu, importe, descuento }) => {
    const cap = rules(`${year}-12-31`).tuition[iedu?.nivel_educativo ?? '']
    return iedu?.curp && cap !== undefined ? { curp: iedu.curp, cap: micros(cap), net: micros(importe) - micros(descuento) } : null
  })
  const known = lines.flatMap((one) => one ?? [])
  return known.length > 0 && known.length === lines.length ? known : null
}
