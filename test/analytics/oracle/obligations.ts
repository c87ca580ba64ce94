import type { ObligationRow } from './analytics-shapes.ts'
import type { Rules } from './rules.ts'
import type { Day } from './shapes.ts'
import { addMonths, compare, daysBetween, isCompany, lastDayOf, monthOf, type Return } from './world.ts'

export interface Registry {
  rfc: string
  today: Day
  /** The rules of a day. */
  rules: (day: Day) => Rules
  /** The obligations of the latest visible document. */
  obligations: readonly { description: string; due_rule: string | null; from: Day | null; to: Day | null }[]
  returns: readonly Return[]
  /** Whether a run of the organization downloaded monthly, annual returns. */
  downloaded: { monthly: boolean; annual: boolean }
}

/** Holidays of article 12 of the CFF, and days off that were published and are no general vacation, of the years that tests use. */
const CLOSED = [
  ...['2020-11-16', '2021-02-01', '2021-03-15', '2021-11-15', '2022-02-07', '2022-03-21', '2022-11-21', '2023-02-06', '2023-03-20'],
  ...['2023-11-20', '2024-02-05', '2024-03-18', '2024-10-01', '2024-11-18'],
  ...[2020, 2021, 2022, 2023, 2024].flatMap((year) => ['01-01', '05-01', '05-05', '09-16', '12-25'].map((day) => `${year}-${day}`)),
  ...['2025-01-01', '2025-02-03', '2025-03-17', '2025-04-17', '2025-04-18', '2025-05-01', '2025-05-05', '2025-09-16', '2025-11-17'],
  ...['2025-12-25', '2026-01-01', '2026-02-02', '2026-03-16', '2026-04-02', '2026-04-03', '2026-05-01', '2026-05-05', '2026-09-16'],
  ...['2026-11-02', '2026-11-16', '2026-12-25', '2027-01-01', '2027-02-01', '2027-03-15', '2027-05-05', '2027-09-16', '2027-11-15'],
]
const isOpen = (day: Day): boolean => !CLOSED.includes(day) && ![0, 6].includes(new Date(`${day}T00:00:00Z`).getUTCDay())
const next = (day: Day): Day => new Date(Date.parse(`${day}T00:00:00Z`) + 86_400_000).toISOString().slice(0, 10)
/** The day itself, or the first after it on which the authority takes returns. */
export const openFrom = (day: Day): Day => (isOpen(day) ? day : openFrom(next(day)))
const after = (day: Day, count: number): Day => (count === 0 ? day : after(openFrom(next(day)), count - 1))

/** What a description or a return names. */
function nameOf(text: string): string | null {
  const words = plain(text).replaceAll('_', ' ')
  if (/diot|proveedores|operaciones con terceros/.test(words)) return 'DIOT'
  if (/informativa/.test(words)) return null
  if (/retenci/.test(words)) return /sueldos|salarios/.test(words) ? 'wages' : null
  return ['iva', 'ieps', 'isr'].find((tax) => words.split(/\W+/).includes(tax)) ?? null
}

const namesIn = (attributes: Record<string, string>) =>
  [...(attributes['impuesto'] ?? '').split(','), ...Object.keys(attributes).filter((one) => /_a_cargo|_a_favor/.test(one))].map(nameOf)

interface Due {
  periodicity: ObligationRow['periodicity']
  /** The last day for a period; null when the text says none that is known. */
  dueOf: ((period: string) => Day) | null
  isExtended: (period: string) => boolean
}

const plain = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()

function dueRuleOf({ rfc, rules }: Registry, text: string | null): Due {
  const rule = plain(text ?? '')
  const day = /dia (\d{1,2}) del mes inmediato posterior/.exec(rule)?.[1]
  if (day !== undefined)
    return {
      periodicity: 'monthly',
      dueOf: (period) => `${addMonths(period, 1)}-${day.padStart(2, '0')}`,
      isExtended: (period) => Number(day) === rules(lastDayOf(period)).obligations.due_day,
    }
  if (/ultimo dia del mes inmediato posterior/.test(rule))
    return { periodicity: 'monthly', dueOf: (period) => lastDayOf(addMonths(period, 1)), isExtended: () => false }
  const annual = (monthDay: string): Due => ({
    periodicity: 'annual',
    dueOf: (year) => `${Number(year) + 1}-${monthDay}`,
    isExtended: () => false,
  })
  if (/tres meses siguientes al cierre/.test(rule)) return annual('03-31')
  if (/30 de abril/.test(rule)) return annual('04-30')
  if (/conjuntamente con la declaracion anual/.test(rule)) return annual(isCompany(rfc) ? '03-31' : '04-30')
  return { periodicity: 'unknown', dueOf: null, isExtended: () => false }
}

const PERIODS = { monthly: 12, annual: 3 }

function periodsOf(today: Day, periodicity: 'monthly' | 'annual', from: Day | null): string[] {
  const current = periodicity === 'monthly' ? monthOf(today) : today.slice(0, 4)
  const back = (n: number) => (periodicity === 'monthly' ? addMonths(current, -n) : String(Number(current) - n))
  const periods = Array.from({ length: PERIODS[periodicity] + 1 }, (_, n) => back(n))
  return periods.filter((period) => from === null || period >= from.slice(0, period.length))
}

function filedIn({ returns }: Registry, period: string): Return[] {
  const [year = '', month = 'del ejercicio'] = period.split('-')
  return returns
    .filter(({ attributes }) => attributes['ejercicio'] === year && attributes['periodo'] === month)
    .sort((a, b) => b.version - a.version)
}

/** GET /v1/fiscal-entities/{id}/obligations: all rows in their order. */
export function obligationsOf(registry: Registry): ObligationRow[] {
  const { rfc, today, rules, downloaded } = registry
  const digit = rfc.replace(/\D/g, '')[5]!
  const inForce = registry.obligations.filter(({ to }) => to === null || to >= today)
  const rows = inForce.flatMap(({ description, due_rule, from }): ObligationRow[] => {
    const { periodicity, dueOf, isExtended } = dueRuleOf(registry, due_rule)
    const common = { description, periodicity, due_rule }
    const unknown = { period: null, due_date: null, extended_due_date: null, status: 'unknown', declaration_id: null } as const
    if (dueOf === null || periodicity === 'unknown') return [{ ...common, ...unknown }]
    return periodsOf(today, periodicity, from).map((period) => {
      const due_date = openFrom(dueOf(period))
      const name = nameOf(description)
      const isAlone = !inForce.some(
        (one) =>
          one.description !== description &&
          nameOf(one.description) === name &&
          dueRuleOf(registry, one.due_rule).periodicity === periodicity,
      )
      const filed = filedIn(registry, period)
      const filing = name !== null && isAlone ? filed.find(({ attributes }) => namesIn(attributes).includes(name)) : undefined
      const isMissing = downloaded[periodicity] && filed.length === 0 && name !== null && name !== 'DIOT'
      const late = isMissing ? 'overdue' : 'unknown'
      return {
        ...{ ...common, period, due_date },
        extended_due_date: isExtended(period) ? after(dueOf(period), rules(lastDayOf(period)).obligations.extension[digit]!) : null,
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
