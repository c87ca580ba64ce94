import { filingDayFrom } from '../../authority/port/business-days.ts'
import type { Day } from '../../platform/time/calendar.ts'
import { addMonths, lastDayOf } from '../../platform/time/months.ts'
import type { Rules } from '../../rules/dated.ts'

/** When an obligation is due, as its text says. */
export interface DueRule {
  periodicity: 'monthly' | 'annual' | 'unknown'
  /** The day that the text names for a period, `YYYY-MM` or `YYYY`, and the one on which it is then due. Null when it says none that is known. */
  namedOf: ((period: string) => Day) | null
  dueOf: ((period: string) => Day) | null
  /** Whether the decree of 2013-12-26 extends it by the sixth digit of the RFC. */
  isExtended: boolean
}

const UNKNOWN: DueRule = { periodicity: 'unknown', namedOf: null, dueOf: null, isExtended: false }

/** Text without accents and capitals. */
export const plain = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()

const rule = (periodicity: 'monthly' | 'annual', namedOf: (period: string) => Day, isExtended = false): DueRule => ({
  ...{ periodicity, namedOf, isExtended },
  dueOf: (period) => filingDayFrom(namedOf(period)),
})
const monthly = (namedOf: (month: string) => Day, isExtended = false): DueRule => rule('monthly', namedOf, isExtended)
const annual = (monthDay: string): DueRule => rule('annual', (year) => `${Number(year) + 1}-${monthDay}`)

/** A day of a month, or its last one when the month is shorter. */
const dayIn = (month: string, day: string): Day => [`${month}-${day.padStart(2, '0')}`, lastDayOf(month)].sort()[0]!

/** Returns what the text of an obligation says about when it is due. */
export function dueRuleOf(rules: Rules, isCompany: boolean, text: string | null): DueRule {
  const words = plain(text ?? '')
  const day = /dia (\d{1,2}) del mes inmediato posterior/.exec(words)?.[1]
  if (day !== undefined) return monthly((month) => dayIn(addMonths(month, 1), day), Number(day) === rules.get('obligation.due_day'))
  if (words.includes('ultimo dia del mes inmediato posterior')) return monthly((month) => lastDayOf(addMonths(month, 1)))
  const { moral, fisica } = rules.get('obligation.annual_due')
  if (words.includes('tres meses siguientes al cierre')) return annual(moral)
  if (words.includes('30 de abril')) return annual(fisica)
  return words.includes('conjuntamente con la declaracion anual') ? annual(isCompany ? moral : fisica) : UNKNOWN
}
