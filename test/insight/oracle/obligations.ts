import { addBusinessDays } from '../../../src/authority/port/business-days.ts'
import type { ObligationRow } from './analytics-shapes.ts'
import type { Rules } from './rules.ts'
import type { Day } from './shapes.ts'
import { addMonths, compare, daysBetween, isCompany, lastDayOf, monthOf, type Return } from './world.ts'

export interface Registry {
  rfc: string
  today: Day
  rules: Rules
  /** The obligations of the latest visible document. */
  obligations: readonly { description: string; due_rule: string | null; from: Day | null; to: Day | null }[]
  returns: readonly Return[]
  /** Whether a run of the organization downloaded monthly, annual returns. */
  downloaded: { monthly: boolean; annual: boolean }
}

interface Due {
  periodicity: ObligationRow['periodicity']
  /** The last day for a period; null when the text says none that is known. */
  dueOf: ((period: string) => Day) | null
  isExtended: boolean
}

const plain = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()

function dueRuleOf({ rfc, rules }: Registry, text: string | null): Due {
  const rule = plain(text ?? '')
  const day = /dia (\d{1,2}) del mes inmediato posterior/.exec(rule)?.[1]
  if (day !== undefined)
    return {
      periodicity: 'monthly',
      dueOf: (period) => `${addMonths(period, 1)}-${day.padStart(2, '0')}`,
      isExtended: Number(day) === rules.obligations.due_day,
    }
  if (/ultimo dia del mes inmediato posterior/.test(rule))
    return { periodicity: 'monthly', dueOf: (period) => lastDayOf(addMonths(period, 1)), isExtended: false }
  const annual = (monthDay: string): Due => ({
    periodicity: 'annual',
    dueOf: (year) => `${Number(year) + 1}-${monthDay}`,
    isExtended: false,
  })
  if (/tres meses siguientes al cierre/.test(rule)) return annual('03-31')
  if (/30 de abril/.test(rule)) return annual('04-30')
  if (/conjuntamente con la declaracion anual/.test(rule)) return annual(isCompany(rfc) ? '03-31' : '04-30')
  return { periodicity: 'unknown', dueOf: null, isExtended: false }
}

const PERIODS = { monthly: 12, annual: 3 }

function periodsOf(today: Day, periodicity: 'monthly' | 'annual', from: Day | null): string[] {
  const current = periodicity === 'monthly' ? monthOf(today) : today.slice(0, 4)
  const back = (n: number) => (periodicity === 'monthly' ? addMonths(current, -n) : String(Number(current) - n))
  const periods = Array.from({ length: PERIODS[periodicity] + 1 }, (_, n) => back(n))
  return periods.filter((period) => from === null || period >= from.slice(0, period.length))
}

function filingOf({ returns }: Registry, period: string): Return | undefined {
  const [year = '', month = 'del ejercicio'] = period.split('-')
  return returns
    .filter(({ attributes }) => attributes['ejercicio'] === year && attributes['periodo'] === month)
    .sort((a, b) => b.version - a.version)[0]
}

/** GET /v1/fiscal-entities/{id}/obligations: all rows in their order. */
export function obligationsOf(registry: Registry): ObligationRow[] {
  const { rfc, today, rules, downloaded } = registry
  const digit = rfc.replace(/\D/g, '')[5]!
  const rows = registry.obligations
    .filter(({ to }) => to === null || to >= today)
    .flatMap(({ description, due_rule, from }): ObligationRow[] => {
      const { periodicity, dueOf, isExtended } = dueRuleOf(registry, due_rule)
      const common = { description, periodicity, due_rule }
      const unknown = { period: null, due_date: null, extended_due_date: null, status: 'unknown', declaration_id: null } as const
      if (dueOf === null || periodicity === 'unknown') return [{ ...common, ...unknown }]
      return periodsOf(today, periodicity, from).map((period) => {
        const due_date = dueOf(period)
        const filing = filingOf(registry, period)
        const late = downloaded[periodicity] ? 'overdue' : 'unknown'
        return {
          ...{ ...common, period, due_date },
          extended_due_date: isExtended ? addBusinessDays(due_date, rules.obligations.extension[digit]!) : null,
          status: filing ? 'filed' : due_date >= today ? 'pending' : late,
          declaration_id: filing?.document_id ?? null,
        }
      })
    })
  const key = ({ due_date, description }: ObligationRow) => [due_date === null ? 1 : 0, due_date ?? '', description]
  return rows.sort((a, b) => compare(key(a), key(b)))
}

/** What `obligation.due_soon` tells on a day: what is due in five days or in one, and not filed. */
export const dueSoon = (registry: Registry): ObligationRow[] =>
  obligationsOf(registry).filter(
    ({ due_date, status }) => status !== 'filed' && due_date !== null && [5, 1].includes(daysBetween(registry.today, due_date)),
  )
