import { addFilingDays } from '../../authority/port/business-days.ts'
import type { TaxObligation } from '../../authority/port/fields-contract.ts'
import type { Rules } from '../../authority/rules/dated.ts'
import type { Day } from '../../platform/time/calendar.ts'
import { addMonths } from '../../platform/time/months.ts'
import type { Obligation } from './contract.ts'
import { type Declared, declaredBy, shows } from './declared.ts'
import { dueRuleOf, rulesOfPeriod } from './due-rule.ts'

/** A return as the authority lists it. */
export interface Filing {
  document_id: string
  version: number
  document_date: Day
  period_end: Day | null
  attributes: Record<string, string>
}

/** What the obligations of a taxpayer are computed from. */
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
      // Of two that declare the same, a return does not say which it files.
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
