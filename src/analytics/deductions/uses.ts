import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { Rules } from '../../authority/rules/dated.ts'
import { shareOf } from '../../cfdi/cash/exact-amounts.ts'
import { partsOf } from '../../cfdi/chunks/chunks.ts'
import { contentOf } from '../../cfdi/chunks/content.ts'
import { relatedIn } from '../../cfdi/columns.ts'
import { cfdi, cfdiChunks, i, k, own } from '../../cfdi/population/aliases.ts'
import type { Days } from '../../cfdi/population/population.ts'
import type { Concepto } from '../../cfdi/xml/document.ts'
import { type Micros, micros, sumAll, times } from '../../platform/money.ts'
import { isVisible, partitionsToRead, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { type Finding, FOUND, QUESTIONS_OF } from '../common/deductible.ts'
import { anyComposedByDay, composedByDay, repseNotValid, usoInvalid } from '../risk/flags.ts'

const PERSONAL = ['D01', 'D02', 'D03', 'D04', 'D05', 'D06', 'D07', 'D08', 'D09', 'D10'] as const
export const INVESTMENTS = ['I01', 'I02', 'I03', 'I04', 'I05', 'I06', 'I07', 'I08'] as const

/** The uses that are personal deductions of the RFC, none for a company, and those of tuition in some year. */
export interface Uses {
  personal: readonly string[]
  tuition: readonly string[]
}

/** The uses in the years of some days. */
export function usesOf(rules: Rules, rfc: string, days: Days): Uses {
  if (rfc.length === 12) return { personal: [], tuition: [] }
  const years = rules.partsOf(days, 'year').map((part) => part.rules)
  const personal = PERSONAL.filter((uso) => years.some((on) => on.find(`deduction.${uso}`) !== null))
  return { personal, tuition: personal.filter((uso) => years.some((on) => on.find(`deduction.${uso}`)?.cap_group === 'tuition')) }
}

/** The rule of a personal use, in a year. */
export const personalRule = (rules: Rules, uso: string) => rules.get(`deduction.${uso}` as `deduction.${(typeof PERSONAL)[number]}`)

/** The part of an investment that is deducted in a year, as decimal text; null for other uses. */
export const rateOf = (rules: Rules, uso: string | null): string | null => {
  const known = INVESTMENTS.find((one) => one === uso)
  return known === undefined ? null : (rules.find(`investment.${known}`)?.annual_rate ?? null)
}

/** A limit that deductions of a year use up. A null amount limits nothing; `isUnknown` says that an unknown income would lower it. */
export interface Limit {
  key: string
  amount: Micros | null
  isUnknown: boolean
}

/** Returns the income of a year, in micros; null when it is not known. */
export type IncomeOf = (year: string) => Micros | null

const smallest = (amounts: readonly (Micros | null)[]): Micros | null =>
  amounts.reduce<Micros | null>((least, one) => (one === null ? least : least === null || one < least ? one : least), null)

const partOf = (income: Micros | null, rate: string | undefined): Micros | null =>
  income === null || rate === undefined ? null : times(income < 0n ? 0n : income, rate)

/** The limits of a personal deduction in a year, its own first. It uses up all of them. */
export function limitsOf(all: Rules, uso: string, year: string, incomeOf: IncomeOf): Limit[] {
  const rules = all.on(`${year}-12-31`)
  const { category, cap_group, limit } = personalRule(rules, uso)
  if (cap_group === null) return []
  const annual = rules.find('uma')?.annual ?? null
  const umas = (count: string | undefined) => (annual === null || count === undefined ? null : times(micros(annual)!, count))
  const limits: Limit[] = []
  if (limit !== null) {
    const before = limit.prior_income === undefined ? null : incomeOf(String(Number(year) - 1))
    const now = limit.income === undefined ? null : incomeOf(year)
    const amount = smallest([
      ...[umas(limit.uma), partOf(now, limit.income), partOf(before, limit.prior_income)],
      limit.amount === undefined ? null : micros(limit.amount),
    ])
    const isUnknown = (limit.income !== undefined && now === null) || (limit.prior_income !== undefined && before === null)
    limits.push({ key: `${cap_group === 'global' ? category : cap_group}|${year}`, amount, isUnknown })
  }
  if (cap_group !== 'global') return limits
  const { uma, income } = rules.get('deduction.global_cap')
  const earned = incomeOf(year)
  return [...limits, { key: `global|${year}`, amount: smallest([umas(uma), partOf(earned, income)]), isUnknown: earned === null }]
}

/** The amount claimed under a limit so far, and the part of it that all limits allowed. */
export interface Use {
  claimed: Micros
  allowed: Micros
}
export type Used = ReadonlyMap<string, Use>

const atMost = (limit: Micros, amount: Micros): Micros => (amount > limit ? limit : amount)

/**
 * Claims an amount under limits, and returns the part that they allow. The net of a year is deducted up to the limit, so a negative amount
 * first takes back what the limit did not allow. The part that one limit allows is claimed under the next one.
 */
export function take(limits: readonly Limit[], used: Map<string, Use>, wanted: Micros): Micros {
  let allowed = wanted
  for (const { key, amount } of limits) {
    const use = used.get(key) ?? { claimed: 0n, allowed: 0n }
    const before = use.claimed
    used.set(key, use)
    use.claimed += allowed
    if (amount !== null) allowed = atMost(amount, use.claimed) - atMost(amount, before)
  }
  for (const { key } of limits) used.get(key)!.allowed += allowed
  return allowed
}

/** A student, and the part of an invoice that is their tuition, in its currency. Null where the complement does not say it. */
export interface Student {
  curp: string | null
  nivel: string | null
  net: Micros
}

/** The packed bytes of chunks that are read. */
const MOST_BYTES = 3 * 1024 * 1024

/**
 * SQL for the students of the documents of the common table expression `marked`: those with these uses, and for a credit note those of the
 * invoice that it credits. `tables` are further common table expressions, `selects` rows of JSON for `studentsOf`. Nothing without uses.
 */
export function tuition(ledger: ScopedLedger, usos: readonly string[]): { tables: SQL; selects: SQL } {
  if (usos.length === 0) return { tables: sql``, selects: sql`` }
  const among = sql`${usos}`.inlineParams()
  const shown = sql.join(
    partitionsToRead(ledger).map((partition) => isVisible(partition, 'i')),
    sql` or `,
  )
  const chunks = sql`from (select distinct entity, chunk from places) p cross join ${cfdiChunks} ${k} where ${k.entity} = p.entity and ${k.chunk} = p.chunk`
  return {
    tables: sql`, places as materialized (
      select m.uuid, ${own.entity}, ${own.issued_at}, ${own.chunk}, ${own.chunk_at} from marked m cross join ${cfdi} ${own}
        where m.tipo = 'I' and m.uso in ${among} and ${own.entity} = m.entity and ${own.uuid} = m.uuid and ${own.chunk_parts} = 1
      union all
      select m.uuid, ${i.entity}, ${i.issued_at}, ${i.chunk}, ${i.chunk_at}
        from marked m cross join ${cfdi} ${own} cross join json_each(${relatedIn(own)}) r cross join ${cfdi} ${i}
        where m.tipo = 'E' and m.uso in ${among} and ${own.entity} = m.entity and ${own.uuid} = m.uuid and ${i.entity} = m.entity and ${i.uuid} = r.value
          and ${i.emisor_rfc} = ${own.emisor_rfc} and ${i.uso_cfdi} in ${among} and ${i.tipo_comprobante} = 'I' and ${i.chunk_parts} = 1 and (${shown}))`,
    selects: sql` union all select 'place', json_array(uuid, entity || ' ' || chunk, chunk_at, issued_at) from places
      union all select 'chunk', json_array(${k.entity} || ' ' || ${k.chunk}, hex(${k.data})) ${chunks}
        and (select sum(length(${k.data})) ${chunks}) <= ${sql.raw(String(MOST_BYTES))}`,
  }
}

/** The students of each document, by its UUID; for a credit note, those of the newest invoice that it credits. */
export function studentsOf(positions: readonly string[], chunks: readonly string[]): ReadonlyMap<string, readonly Student[]> {
  const data = new Map(chunks.map((text) => JSON.parse(text) as [string, string]))
  const kept = new Map<string, { issued_at: number; students: Student[] }>()
  for (const [chunk, some] of Map.groupBy(
    positions.map((text) => JSON.parse(text) as [uuid: string, chunk: string, at: number, issued_at: number]),
    ([, one]) => one,
  )) {
    const packed = data.get(chunk)
    if (packed === undefined) continue
    const parts = partsOf([packed])
    // `contentOf` uses up what it reads, and a credit note names the content of its invoice again.
    for (const [at, same] of Map.groupBy(some, ([, , one]) => one)) {
      const students = contentOf(parts[at]).conceptos.map(studentOf)
      for (const [uuid, , , issued_at] of same) if ((kept.get(uuid)?.issued_at ?? 0) < issued_at) kept.set(uuid, { issued_at, students })
    }
  }
  return new Map([...kept].map(([uuid, { students }]) => [uuid, students]))
}

const studentOf = ({ iedu, importe, descuento }: Concepto): Student => ({
  ...{ curp: iedu?.curp ?? null, nivel: iedu?.nivel_educativo ?? null },
  net: (micros(importe) ?? 0n) - (micros(descuento) ?? 0n),
})

/** A part of a tuition invoice, with its student and their level. */
type Known = Student & { curp: string; nivel: string }

/**
 * The annual limit of tuition for each student: that of the higher of their levels (Decree of 2013-12-26, 1.8). `all` are the students of
 * the documents that can be deducted, with their years.
 */
export class TuitionLimits {
  readonly #rules: Rules
  readonly #most = new Map<string, Micros>()

  constructor(rules: Rules, all: Iterable<readonly [year: string, students: readonly Student[] | undefined]>) {
    this.#rules = rules
    for (const [year, students] of all)
      for (const { curp, nivel } of this.known(year, students) ?? []) {
        const [key, cap] = [keyOf(curp, year), this.#capOf(year, nivel)!]
        if (cap > (this.#most.get(key) ?? 0n)) this.#most.set(key, cap)
      }
  }

  #capOf = (year: string, nivel: string): Micros | null =>
    micros(this.#rules.on(`${year}-12-31`).find('deduction.tuition')?.[nivel] ?? null)

  /** The students of a document; null unless each of its lines names one and a level with a limit. */
  known(year: string, students: readonly Student[] = []): readonly Known[] | null {
    const isKnown = (one: Student): one is Known => one.curp !== null && one.nivel !== null && this.#capOf(year, one.nivel) !== null
    return students.length > 0 && students.every(isKnown) ? (students as Known[]) : null
  }

  of = (year: string, students: readonly Known[]): Limit[] =>
    [...new Set(students.map(({ curp }) => keyOf(curp, year)))].map((key) => ({ key, amount: this.#most.get(key) ?? 0n, isUnknown: false }))

  /** Claims each student’s part of an amount under their limit, and returns the allowed part. */
  take(year: string, students: readonly Known[], limits: readonly Limit[], used: Map<string, Use>, wanted: Micros): Micros {
    if (limits.length === 1) return take(limits, used, wanted)
    const whole = sumAll(students.map(({ net }) => net))
    let left = wanted
    return sumAll(
      limits.map((limit, n) => {
        const own = sumAll(students.filter(({ curp }) => keyOf(curp, year) === limit.key).map(({ net }) => net))
        const part = n === limits.length - 1 ? left : shareOf(wanted, own, whole)
        left -= part
        return take([limit], used, part)
      }),
    )
  }
}

const keyOf = (curp: string, year: string): string => `tuition|${curp}|${year}`

/** Why a document cannot be deducted, and why somebody has to look at it, in the order in which rows name them. */
export const NOT_DEDUCTIBLE = [
  ...(['cancelled', 'substituted', 'missing_xml', 'cash_over_2000', 'fuel_not_electronic', 'uso_s01', 'issuer_69b_definitivo'] as const),
  ...(['restaurant_not_by_card', 'bar'] as const),
  ...(['repse_missing_at_payment', 'wrong_receptor_regimen', 'regimen_without_deductions', 'not_electronic', 'not_paid'] as const),
]
export const REVIEW = [
  'missing_rate',
  'payment_form_review',
  'mortgage_loan',
  'tuition_without_iedu',
  'uso_undefined',
  'unpaid_to_626',
  'possible_travel',
  'vehicle_review',
  'cash_in_parts',
  'cap_unknown',
  'car_rental_review',
  'restaurant_form_unknown',
] as const
export type Reason = (typeof NOT_DEDUCTIBLE)[number] | (typeof REVIEW)[number]
export const REASONS: readonly Reason[] = [...NOT_DEDUCTIBLE, ...REVIEW]
/** What a CFDI cannot decide, as a question. */
export const QUESTIONS: Record<(typeof REVIEW)[number], string> = {
  missing_rate: 'Which exchange rate applies to it?',
  payment_form_review: 'Was it paid by cheque, transfer, card or electronic wallet?',
  mortgage_loan: 'Was the loan of at most 750,000 UDIS, and how much of the interest is real?',
  tuition_without_iedu: 'Whose tuition is it, and of which level?',
  uso_undefined: 'What is it used for?',
  unpaid_to_626: 'Must what a company of 626 bills be paid before it is deducted?',
  ...QUESTIONS_OF,
  cap_unknown: 'What was the income on which its limit depends?',
}
export const bitOf = (reason: Reason): number => 2 ** REASONS.indexOf(reason)
export const isNotDeductible = (mask: number): boolean => mask % bitOf('missing_rate') !== 0

export interface DeductionReading {
  rules: Rules
  /** The days of the documents. */
  days: Days
  sets: ReadonlySet<string>
  /** The personal uses of c_UsoCFDI, none for a company. */
  personal: readonly string[]
}

/** Columns of a received document that depend on its partition (`documents` in store.ts), beside those of the alias `own`. */
export const READ = {
  cancelled: sql.raw('own.is_cancelled'),
  substituted: sql.raw('own.is_substituted'),
  /** A PPD invoice is not fully paid. */
  left: sql.raw('own.is_left'),
  /** Its payments, as `paymentsOf` has them. */
  payments: sql.raw('own.payments'),
  /** Of a credit note: the invoices that it lowers, `BOUGHT` each. */
  bought: sql.raw('own.bought'),
} as const

const INVOICE = sql`${own.tipo_comprobante} = 'I'`
const PPD = sql`${INVOICE} and ${own.metodo_pago} is 'PPD'`
const IS_TO_COMPANY = sql`length(${own.receptor_rfc}) = 12`

/** The condition that only the paid part of the invoice `own` is deducted; `personalOwn` says whether it is a personal deduction. */
export function isFlow({ rules, days }: DeductionReading, personalOwn: SQL): SQL {
  const isOfRegime = composedByDay(
    rules,
    own.fecha,
    days,
    (on) => sql`${own.receptor_regimen_fiscal} in ${on.find('deduction.flow_basis') ?? []}`,
  )
  const isPaidOnly = composedByDay(rules, own.fecha, days, (on) => {
    const { emisor_regimenes, nombres } = on.get('deduction.paid_only')
    const named = nombres.map((nombre) => sql` or upper(${own.emisor_nombre}) like ${`% ${nombre}`}`)
    return sql`(length(${own.emisor_rfc}) = 13 or coalesce(${own.emisor_regimen_fiscal} in ${emisor_regimenes}, 0)${sql.join(named)})`
  })
  return sql`coalesce(${PPD} and (${personalOwn} or length(${own.receptor_rfc}) = 13 or ${isOfRegime}
    or (${IS_TO_COMPANY} and ${isPaidOnly})), 0)`
}

/** The condition that `uso` is a personal deduction. */
export const isPersonal = (personal: readonly string[], uso: SQLWrapper): SQL =>
  personal.length === 0 ? sql`0` : sql`coalesce(${uso} in ${sql`${personal}`.inlineParams()}, 0)`

const formsOf = (rules: Rules) => rules.get('payment_forms')

/** The reasons that personal deductions alone can have, and those of businesses. */
export const REASONS_OF: Readonly<Record<'personal' | 'business', ReadonlySet<Reason>>> = {
  personal: new Set(['not_electronic', 'payment_form_review']),
  business: new Set([
    ...(['cash_over_2000', 'fuel_not_electronic', 'restaurant_not_by_card', 'bar', 'repse_missing_at_payment'] as const),
    ...(['uso_undefined', 'possible_travel', 'vehicle_review', 'cash_in_parts', 'car_rental_review', 'restaurant_form_unknown'] as const),
  ]),
}

/** The condition of each reason on a row of `facts` (store.ts), of a kind of deduction that can have it; null where none can have it. */
export function reasonsOf(reading: DeductionReading): Partial<Record<Reason, SQL | null>> {
  const { rules, days, sets, personal } = reading
  const onDay = (make: (on: Rules) => SQL) => composedByDay(rules, own.fecha, days, make)
  const isPaidIn = (condition: SQL): SQL => sql`exists (select 1 from json_each(${READ.payments}) where ${condition})`
  const forma = sql.raw('value->>0')
  const isNo = isPaidIn(onDay((on) => sql`coalesce(${forma} not in ${[...formsOf(on).electronic, ...formsOf(on).review, '99']}, 0)`))
  const isReview = isPaidIn(onDay((on) => sql`(${forma} is null or ${forma} in ${[...formsOf(on).review, '99']})`))
  // Limits by year follow the rules of the year.
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
  const isElectronicOnly = ofElectronic && sql`${INVOICE} and ${ofElectronic}`
  const repse = repseNotValid({ direction: 1, rules, days, sets }, (day) =>
    isPaidIn(day === null ? sql`1` : sql`substr(value->>3, 1, 10) > ${day}`),
  )
  const isUnsettled = onDay((on) => sql`coalesce(${own.emisor_regimen_fiscal} in ${on.get('deduction.paid_only').review_regimenes}, 0)`)
  const isExcluded = onDay((on) => sql`coalesce(${own.receptor_regimen_fiscal} in ${on.find('deduction.excluded_regimes') ?? []}, 0)`)
  const isOut = (found: Finding): SQL => sql.raw(`(is_out and found & ${FOUND[found]})`)
  const isFound = (found: Finding): SQL => sql.raw(`(found & ${FOUND[found]})`)
  return {
    cancelled: READ.cancelled,
    substituted: READ.substituted,
    missing_xml: sql`${own.xml_object} is null`,
    cash_over_2000: isOut('cash_over_2000'),
    fuel_not_electronic: isOut('fuel_not_electronic'),
    restaurant_not_by_card: isOut('restaurant_not_by_card'),
    bar: isFound('bar'),
    uso_s01: sql`(${own.uso_cfdi} is 'S01' or exists (select 1 from json_each(${READ.bought}) where value->>3 = 'S01'))`,
    issuer_69b_definitivo: sets.has('list_definitivo') ? sql`${own.counterparty_rfc} in list_definitivo` : null,
    repse_missing_at_payment: repse && sql`${INVOICE} and not ${READ.cancelled} and not ${READ.substituted} and ${repse}`,
    wrong_receptor_regimen: usoInvalid({ rules, days }),
    regimen_without_deductions: sql`length(${own.receptor_rfc}) = 13 and ${isExcluded}`,
    not_electronic: isElectronicOnly && sql`${isElectronicOnly} and ${isNo}`,
    not_paid: sql.raw('(is_flow and paid + credited <= 0)'),
    payment_form_review: isElectronicOnly && sql`${isElectronicOnly} and ${isReview} and not ${isNo}`,
    mortgage_loan: ofUses(({ category }) => category === 'mortgage'),
    // The complement of schools is read afterwards.
    tuition_without_iedu: null,
    uso_undefined: sql`${own.uso_cfdi} is 'P01'`,
    possible_travel: isFound('possible_travel'),
    vehicle_review: isFound('vehicle_review'),
    cash_in_parts: isFound('cash_in_parts'),
    car_rental_review: isFound('car_rental_review'),
    // What is still owed has no form of payment.
    restaurant_form_unknown: sql`(${isFound('restaurant_form_unknown')} or (${isFound('restaurant')} and ${PPD} and not is_flow and ${READ.left}))`,
    unpaid_to_626: sql`${PPD} and ${IS_TO_COMPANY} and length(${own.emisor_rfc}) = 12 and ${isUnsettled} and not is_flow and ${READ.left}`,
  }
}
