import { type Micros, micros, part, sum, times } from '../amounts.ts'
import { appliedTo, balanceOf } from '../balances.ts'
import { returnedOf } from '../cash.ts'
import { countedAt, inPesos, rateOf } from '../counting.ts'
import { hasPrefix, isRepseInvalid, situacionAt } from '../lists.ts'
import { loweredBy } from '../notes.ts'
import type { Rules } from '../rules.ts'
import { compare, type Document, dayOf, isCompany, rulesOf, rulesOfYear, type World } from '../world.ts'
import { isBar, isRestaurant, type Noted, type Purchase, purchaseOf } from './purchase.ts'

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

/** Why a payment does not let its part of an invoice be deducted (LISR 27-III, 28-XX), by the rules of a day. */
export function wrongsOf(world: World, document: Document, { forma, pesos }: Pick<Paid, 'forma' | 'pesos'>, on: string): string[] {
  const isFuel = document.conceptos.some((line) => hasPrefix(line.clave_prod_serv, rulesOf(world, document).claves.fuel))
  const reasons: [string, boolean][] = [
    ['cash_over_2000', forma === '01' && pesos !== null && pesos > micros(world.rules(on).cash_limit)],
    ['fuel_not_electronic', forma === '01' && isFuel],
    ['restaurant_not_by_card', isRestaurant(document) && forma !== null && !['04', '05', '28', '29', '99'].includes(forma)],
  ]
  return reasons.flatMap(([reason, holds]) => (holds ? [reason] : []))
}

/** Whether reasons take a whole payment out: those for fuel take the part of it that is for fuel. */
export const isOutright = (reasons: readonly string[]): boolean => reasons.some((reason) => reason !== 'fuel_not_electronic')

/** The part of a payment that is out. The part for fuel is of what is deductible by what it is. */
export function lostOf(
  world: World,
  document: Document,
  payment: Pick<Paid, 'forma' | 'pesos' | 'day'>,
  { fuel, of, out }: Purchase,
): readonly [part: Micros, of: Micros] {
  const reasons = wrongsOf(world, document, payment, payment.day)
  if (isOutright(reasons)) return [1n, 1n]
  return reasons.length === 0 ? [0n, 1n] : [fuel, of - out]
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
  ...(isBar(document) ? ['bar'] : []),
  ...(document.uso_cfdi === 'S01' ? ['uso_s01'] : []),
  ...(situacionAt(world, document.emisor_rfc, world.today) === 'definitivo' ? ['issuer_69b_definitivo'] : []),
]

/** What credit notes took off an invoice before one of them, or until a day, and the part of the one. */
export function notedOf(world: World, invoice: Document, until: Document | string): Noted {
  const notes = appliedTo(world, invoice, null).filter(({ kind }) => kind === 'E')
  if (typeof until === 'string') return { before: sum(notes.flatMap(({ day, amount }) => (day <= until ? [amount] : []))), own: null }
  const isBefore = ({ time, uuid }: (typeof notes)[number]) => compare([time, uuid], [until.fecha, until.uuid]) < 0
  return {
    before: sum(notes.filter(isBefore).map(({ amount }) => amount)),
    own: sum(notes.filter(({ uuid }) => uuid === until.uuid).map(({ amount }) => amount)),
  }
}

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

/** What a business does not deduct of a document. */
interface Out {
  /** The part that is out because of payments, of so much. */
  out: Micros
  of: Micros
  /** Why; a document of which all is out is not deductible. */
  reasons: string[]
  isWhole: boolean
  /** What is deducted of `of`: of a credit note at the annual rate of each investment that it returns. */
  deducted: readonly [part: Micros, of: Micros]
  caps: string[]
  review: string[]
}

/** What is out of a document of a business because of its payments and by what it is, and of a credit note what is out of its purchases. */
export function outOf(world: World, document: Document): Out {
  const reasons = new Set<string>()
  const [caps, review] = [new Set<string>(), new Set<string>()]
  const judged = (invoice: Document, payments: Paid[], purchase: Purchase, all = payments) => {
    for (const one of payments) {
      for (const reason of wrongsOf(world, invoice, one, one.day)) reasons.add(reason)
      if (isInParts(world, invoice, one, one.day, all)) review.add('cash_in_parts')
      if (isFormUnknown(invoice, one)) review.add('restaurant_form_unknown')
    }
    for (const reason of purchase.caps) caps.add(reason)
    for (const reason of purchase.review) review.add(reason)
    return sum(payments.map((one) => part(one.amount, ...lostOf(world, invoice, one, purchase))))
  }
  const found = (out: Micros, of: Micros) => ({
    ...{ out, of, isWhole: out > 0n && out >= of },
    ...{ reasons: out > 0n ? [...reasons] : [], caps: [...caps], review: [...review] },
  })
  const invoices = document.tipo_comprobante === 'I' ? [] : invoicesOf(world, document)
  if (invoices.length === 0) {
    const purchase = purchaseOf(world, document)
    const isInvoice = document.tipo_comprobante === 'I'
    const out = judged(document, isInvoice ? paymentsOf(world, document) : [], purchase)
    const paid = isInvoice ? (paidPartOf(world, document, 'business')?.paid ?? null) : null
    return { ...found(out, paid ?? micros(document.total)), deducted: [purchase.of - purchase.out, purchase.of] }
  }
  let [excluded, deducted, whole] = [0n, 0n, 0n]
  for (const [invoice, stated] of invoices) {
    const isPaidLater = paymentsOf(world, invoice).length > 0 && balanceOf(world, invoice, null).payments.length > 0
    const returns = returnedOf(world, document, stated, invoice, isPaidLater)
    const returned = sum(returns.map((one) => one.returned))
    const of = [...new Set(returns.flatMap((one) => one.of))] as Paid[]
    const purchase = purchaseOf(world, invoice, () => notedOf(world, invoice, document))
    const out = judged(invoice, of, purchase, paymentsOf(world, invoice))
    const lost = out > 0n ? part(returned, out, sum(of.map(({ amount }) => amount))) : 0n
    const without = lost + part(stated - lost, purchase.out, purchase.of)
    if (isBar(invoice)) reasons.add('bar')
    whole += stated
    excluded += without
    deducted += times(stated - without, rulesOfYear(world, invoice).investment_rates[invoice.uso_cfdi ?? ''] ?? '1')
  }
  return { ...found(excluded, whole), deducted: [deducted, whole] }
}

type Electronic = 'yes' | 'no' | 'review'
const isElectronic = (rules: Rules, forma: string | null): Electronic => {
  if (forma !== null && rules.electronic_forms.includes(forma)) return 'yes'
  return forma === null || forma === '99' || rules.review_forms.includes(forma) ? 'review' : 'no'
}

const isFlow = (world: World, document: Document): boolean =>
  !isCompany(document.receptor_rfc) || rulesOf(world, document).flow_regimes.includes(document.receptor_regimen_fiscal ?? '')

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

/** Whether nobody knows how a payment in a restaurant is made. */
export const isFormUnknown = (document: Document, { forma }: Pick<Paid, 'forma'>): boolean => isRestaurant(document) && forma === '99'

/** Whether a restaurant is owed by somebody who deducts before they pay. */
const isOwedRestaurant = (world: World, document: Document): boolean =>
  isRestaurant(document) &&
  document.tipo_comprobante === 'I' &&
  document.metodo_pago === 'PPD' &&
  paidPartOf(world, document, 'business') === null &&
  balanceOf(world, document, null).isOpen

/** The order in which rows name reasons. Limits, and `not_paid` of what is paid in part, come last. */
const ORDER = [
  ...['cancelled', 'substituted', 'missing_xml', 'cash_over_2000', 'fuel_not_electronic', 'uso_s01', 'issuer_69b_definitivo'],
  ...['restaurant_not_by_card', 'bar', 'repse_missing_at_payment', 'wrong_receptor_regimen', 'regimen_without_deductions'],
  ...['not_electronic', 'not_paid', 'missing_rate', 'payment_form_review', 'mortgage_loan', 'tuition_without_iedu', 'uso_undefined'],
  ...['unpaid_to_626', 'possible_travel', 'vehicle_review', 'cash_in_parts', 'cap_unknown', 'car_rental_review'],
  'restaurant_form_unknown',
]
export const inOrder = (reasons: readonly string[]): string[] => ORDER.filter((one) => reasons.includes(one))

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
  const out = profile === 'business' ? outOf(world, document) : null
  const bought = isInvoice ? [] : invoicesOf(world, document)
  const excluded = [
    ...(bought.length === 0 ? exclusionsOf(world, document) : exclusionsOf(world, document).filter((reason) => reason !== 'bar')),
    ...bought.flatMap(([invoice]) => exclusionsOf(world, invoice).filter((reason) => reason !== 'bar')),
  ]
  const list = (reasons: [string, boolean][]) => reasons.flatMap(([reason, holds]) => (holds ? [reason] : []))
  return {
    not_deductible: [
      ...list([
        ['cancelled', isCancelled],
        ['substituted', !isCancelled && !countedAt(world, null).has(document.uuid)],
        ['missing_xml', !document.has_xml],
      ]),
      ...excluded.filter((reason) => reason !== 'bar' || profile === 'business'),
      ...(out?.isWhole ? out.reasons : []),
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
      ['restaurant_form_unknown', profile === 'business' && isOwedRestaurant(world, document)],
    ]).concat(out?.review ?? []),
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
