import { addFilingDays, filingDayFrom } from '../../authority/port/business-days.ts'
import type { TaxObligation } from '../../authority/port/fields-contract.ts'
import type { Rules } from '../../authority/rules/dated.ts'
import type { Day } from '../../platform/time/calendar.ts'
import { addMonths, lastDayOf } from '../../platform/time/months.ts'
import type { Obligation } from './contract.ts'

/** When an obligation is due, as its text says. */
export interface DueRule {
  periodicity: 'monthly' | 'annual' | 'unknown'
  /** The day that the text names for a period, `YYYY-MM` or `YYYY`, and the due day that follows. Null when it names no known one. */
  namedOf: ((period: string) => Day) | null
  dueOf: ((period: string) => Day) | null
  /** Whether the decree of 2013-12-26 extends it in a period by the sixth digit of the RFC. */
  isExtended: (period: string) => boolean
}

const UNKNOWN: DueRule = { periodicity: 'unknown', namedOf: null, dueOf: null, isExtended: () => false }

/** Text without accents and capitals. */
const plain = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()

const rule = (
  periodicity: 'monthly' | 'annual',
  namedOf: (period: string) => Day,
  isExtended: DueRule['isExtended'] = () => false,
): DueRule => ({
  ...{ periodicity, namedOf, isExtended },
  dueOf: (period) => filingDayFrom(namedOf(period)),
})
const monthly = (namedOf: (month: string) => Day, isExtended?: DueRule['isExtended']): DueRule => rule('monthly', namedOf, isExtended)
const annual = (monthDayOf: (year: string) => string): DueRule => rule('annual', (year) => `${Number(year) + 1}-${monthDayOf(year)}`)

/** A day of a month, or its last one when the month is shorter. */
const dayIn = (month: string, day: string): Day => [`${month}-${day.padStart(2, '0')}`, lastDayOf(month)].sort()[0]!

/** The rules of a period, `YYYY-MM` or `YYYY`: those in force on its last day. */
const rulesOfPeriod = (rules: Rules, period: string): Rules =>
  period.length === 4 ? rules.in('year', `${period}-01-01`) : rules.in('month', `${period}-01`)

const dueDay = (rules: Rules, month: string): number => rulesOfPeriod(rules, month).get('obligation.due_day')

/** When the withholdings of a month are due: like an obligation of the day by law, without its extension. */
export const withholdingsDueOn = (rules: Rules, month: string): Day =>
  filingDayFrom(dayIn(addMonths(month, 1), String(dueDay(rules, month))))

/** Returns the rule in the text of an obligation. */
export function dueRuleOf(rules: Rules, isCompany: boolean, text: string | null): DueRule {
  const words = plain(text ?? '')
  const day = /dia (\d{1,2}) del mes inmediato posterior/.exec(words)?.[1]
  if (day !== undefined)
    return monthly(
      (month) => dayIn(addMonths(month, 1), day),
      (month) => Number(day) === dueDay(rules, month),
    )
  if (words.includes('ultimo dia del mes inmediato posterior')) return monthly((month) => lastDayOf(addMonths(month, 1)))
  const monthDayOf = (whose: 'moral' | 'fisica') => (year: string) => rulesOfPeriod(rules, year).get('obligation.annual_due')[whose]
  if (words.includes('tres meses siguientes al cierre')) return annual(monthDayOf('moral'))
  if (words.includes('30 de abril')) return annual(monthDayOf('fisica'))
  return words.includes('conjuntamente con la declaracion anual') ? annual(monthDayOf(isCompany ? 'moral' : 'fisica')) : UNKNOWN
}

/** The subject of a return: a tax, the ISR withheld from wages, or the operations with suppliers (DIOT). */
type Declared = 'iva' | 'isr' | 'ieps' | 'isr_salarios' | 'diot'

/** The first match decides. Null: no return shows it. */
const WORDS: readonly (readonly [words: RegExp, declared: Declared | null])[] = [
  [/\bdiot\b|proveedores|operaciones con terceros/, 'diot'],
  [/informativa/, null],
  [/(retenci|entero).*(sueldos|salarios)/, 'isr_salarios'],
  [/retenci/, null],
  [/\biva\b|valor agregado/, 'iva'],
  [/\bieps\b|especial sobre produccion/, 'ieps'],
  [/\bisr\b|sobre la renta/, 'isr'],
]

/** Returns the subject that a text of the authority names, such as the description of an obligation; null for an unknown one. */
function declaredBy(text: string): Declared | null {
  const words = plain(text).replaceAll('_', ' ')
  return WORDS.find(([pattern]) => pattern.test(words))?.[1] ?? null
}

/**
 * Returns whether a return shows that something is declared: its `impuesto` names it, alone or between commas, or there is an amount of it
 * (`isr_a_cargo`, `iva_a_favor`).
 */
const shows = (attributes: Readonly<Record<string, string>>, declared: Declared): boolean =>
  [...(attributes['impuesto'] ?? '').split(','), ...Object.keys(attributes).filter((name) => /_a_(cargo|favor)$/.test(name))].some(
    (text) => declaredBy(text) === declared,
  )

/** A return as the authority lists it. */
export interface Filing {
  document_id: string
  version: number
  document_date: Day
  period_end: Day | null
  attributes: Record<string, string>
}

/** The data for the obligations of a taxpayer. */
export interface Registered {
  rfc: string
  today: Day
  rules: Rules
  /** Those of the latest visible document. */
  obligations: readonly TaxObligation[]
  returns: readonly Filing[]
  /** Whether the returns were downloaded. */
  downloaded: Readonly<Record<'monthly' | 'annual', boolean>>
}

const PERIODS = { monthly: 12, annual: 3 }
const WHOLE_YEAR = 'del ejercicio'

/** The last periods that are over since the obligation began, and the current one. */
function periodsOf(today: Day, periodicity: 'monthly' | 'annual', from: Day | null): string[] {
  const current = today.slice(0, periodicity === 'monthly' ? 7 : 4)
  const back = (n: number): string => (periodicity === 'monthly' ? addMonths(current, -n) : String(Number(current) - n))
  const periods = Array.from({ length: PERIODS[periodicity] + 1 }, (_, n) => back(n))
  return periods.filter((period) => from === null || period >= from.slice(0, period.length))
}

/** The returns of a period, for whatever tax. */
function returnsOf(returns: readonly Filing[], period: string): Filing[] {
  const [year, month = WHOLE_YEAR] = period.split('-')
  return returns.filter(({ attributes }) => attributes['ejercicio'] === year && attributes['periodo'] === month)
}

/** The latest of these returns that shows what an obligation declares. */
const filingOf = (returns: readonly Filing[], declared: Declared | null): Filing | undefined =>
  returns
    .filter(({ attributes }) => declared !== null && shows(attributes, declared))
    .sort((a, b) => b.version - a.version || (a.document_id < b.document_id ? 1 : -1))[0]

const isBefore = (a: Obligation, b: Obligation): number => {
  const [one, other] = [a, b].map(({ due_date, description }) => `${due_date ?? '9999'} ${description}`)
  return one === other ? 0 : one! < other! ? -1 : 1
}

/** Returns the obligations that are in force, one for each period, in the order of their due dates. */
export function obligationsOf({ rfc, today, rules, obligations, returns, downloaded }: Registered): Obligation[] {
  const isCompany = [...rfc].length === 12
  const sixth = rfc.replace(/\D/g, '')[5] ?? '1'
  const inForce = obligations
    .filter(({ to }) => to === null || to >= today)
    .map((one) => ({ ...one, due: dueRuleOf(rules, isCompany, one.due_rule), declares: declaredBy(one.description) }))
  const rows = inForce.flatMap(
    ({ description, due_rule, from, declares, due: { periodicity, namedOf, dueOf, isExtended } }): Obligation[] => {
      // When two declare the same, a return does not say which it files.
      const isOnly = inForce.filter((one) => one.declares === declares && one.due.periodicity === periodicity).length === 1
      const declared = isOnly ? declares : null
      if (dueOf === null || namedOf === null || periodicity === 'unknown') {
        const unknown = { period: null, due_date: null, extended_due_date: null, status: 'unknown', declaration_id: null } as const
        return [{ description, periodicity, due_rule, ...unknown }]
      }
      return periodsOf(today, periodicity, from).map((period) => {
        const due_date = dueOf(period)
        const filed = returnsOf(returns, period)
        const filing = filingOf(filed, declared)
        // The authority does not list the DIOT among the returns, and a return for another tax may have declared this one too.
        const isMissing = downloaded[periodicity] && filed.length === 0 && declares !== null && declares !== 'diot'
        return {
          ...{ description, periodicity, due_rule, period, due_date },
          extended_due_date: isExtended(period)
            ? addFilingDays(namedOf(period), rulesOfPeriod(rules, period).get('obligation.extension_days')[sixth] ?? 1)
            : null,
          status: filing ? 'filed' : due_date >= today ? 'pending' : isMissing ? 'overdue' : 'unknown',
          declaration_id: filing?.document_id ?? null,
        }
      })
    },
  )
  return rows.sort(isBefore)
}
