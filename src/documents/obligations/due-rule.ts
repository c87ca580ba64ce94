import { filingDayFrom } from '../../authority/port/business-days.ts'
import type { Rules } from '../../authority/rules/dated.ts'
import type { Day } from '../../platform/time/calendar.ts'
import { addMonths, lastDayOf } from '../../platform/time/months.ts'

/** When an obligation is due, as its text says. */
export interface DueRule {
  periodicity: 'monthly' | 'annual' | 'unknown'
  /** The day that the text names for a period, `YYYY-MM` or `YYYY`, and the one on which it is then due. Null when it says none that is known. */
  namedOf: ((period: string) => Day) | null
  dueOf: ((period: string) => Day) | null
  /** Whether the decree of 2013-12-26 extends it in a period by the sixth digit of the RFC. */
  isExtended: (period: string) => boolean
}

const UNKNOWN: DueRule = { periodicity: 'unknown', namedOf: null, dueOf: null, isExtended: () => false }

/** Text without accents and capitals. */
export const plain = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()

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
export const rulesOfPeriod = (rules: Rules, period: string): Rules =>
  period.length === 4 ? rules.in('year', `${period}-01-01`) : rules.in('month', `${period}-01`)

const dueDay = (rules: Rules, month: string): number => rulesOfPeriod(rules, month).get('obligation.due_day')

/** When what was withheld in a month is due: as an obligation of the day by law, without its extension. */
export const withholdingsDueOn = (rules: Rules, month: string): Day =>
  filingDayFrom(dayIn(addMonths(month, 1), String(dueDay(rules, month))))

/** Returns what the text of an obligation says about when it is due. */
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
