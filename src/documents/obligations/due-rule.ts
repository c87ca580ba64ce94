import type { Day } from '../../platform/time/calendar.ts'
import { addMonths, lastDayOf } from '../../platform/time/months.ts'
import type { Rules } from '../../rules/dated.ts'

/** When an obligation is due, as its text says. */
export interface DueRule {
  periodicity: 'monthly' | 'annual' | 'unknown'
  /** The last day for a period, `YYYY-MM` or `YYYY`. Null when the text says none that is known. */
  dueOf: ((period: string) => Day) | null
  /** Whether the decree of 2013-12-26 extends it by the sixth digit of the RFC. */
  isExtended: boolean
}

const UNKNOWN: DueRule = { periodicity: 'unknown', dueOf: null, isExtended: false }

const plain = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()

const monthly = (dueOf: DueRule['dueOf'], isExtended = false): DueRule => ({ periodicity: 'monthly', dueOf, isExtended })
const annual = (monthDay: string): DueRule => ({
  periodicity: 'annual',
  dueOf: (year) => `${Number(year) + 1}-${monthDay}`,
  isExtended: false,
})

/** A day of a month, or its last one when the month is shorter. */
const dayIn = (month: string, day: string): Day => [`${month}-${day.padStart(2, '0')}`, lastDayOf(month)].sort()[0]!

/** Returns what the text of an obligation says about when it is due. */
export function dueRuleOf(rules: Rules, isCompany: boolean, text: string | null): DueRule {
  const rule = plain(text ?? '')
  const day = /dia (\d{1,2}) del mes inmediato posterior/.exec(rule)?.[1]
  if (day !== undefined) return monthly((month) => dayIn(addMonths(month, 1), day), Number(day) === rules.get('obligation.due_day'))
  if (rule.includes('ultimo dia del mes inmediato posterior')) return monthly((month) => lastDayOf(addMonths(month, 1)))
  const { moral, fisica } = rules.get('obligation.annual_due')
  if (rule.includes('tres meses siguientes al cierre')) return annual(moral)
  if (rule.includes('30 de abril')) return annual(fisica)
  return rule.includes('conjuntamente con la declaracion anual') ? annual(isCompany ? moral : fisica) : UNKNOWN
}
