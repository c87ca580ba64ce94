import { type Day, dayOfEpoch, epochDayOf } from '../../platform/time/calendar.ts'

/** The time zone in whose calendar days the authority counts. */
export const AUTHORITY_ZONE = 'America/Mexico_City'

/**
 * Days on which the authority is off duty beyond those of the law (CFF, article 12, second paragraph), from one day to another, with their
 * publication: rule 2.1.6 of the Resolución Miscelánea Fiscal (RMF) of the year, and its amendments (RMRMF). They were taken from secondary
 * sources, not from the DOF itself. Add what is published, and move KNOWN_UNTIL. Without some days, a computed deadline is earlier than the
 * true one, and the authority still refuses to deliver what has not been opened.
 */
type Published = readonly (readonly [from: Day, to: Day, source: string])[]

const VACATIONS: Published = [
  ['2024-12-23', '2024-12-31', 'RMF 2024, second general vacation'],
  ['2025-07-18', '2025-07-31', 'RMRMF 2025 in the DOF of 2025-07-09, first general vacation'],
  ['2025-12-18', '2026-01-02', 'Sixth RMRMF 2025, second general vacation'],
  ['2026-07-20', '2026-07-31', 'First RMRMF 2026 in the DOF of 2026-07-09, first general vacation'],
]

const DAYS_OFF: Published = [
  ['2025-04-17', '2025-04-18', 'RMF 2025'],
  ['2026-04-02', '2026-04-03', 'RMF 2026'],
  ['2026-11-02', '2026-11-02', 'RMF 2026'],
]

const isAmong = (published: Published, day: Day): boolean => published.some(([from, to]) => from <= day && day <= to)

/** The tables have all published days from the first of these to the second: none of the vacations before, nor of December 2026 and later. */
const KNOWN_FROM: Day = '2024-12-23'
export const KNOWN_UNTIL: Day = '2026-11-30'

/** The basis of a deadline: all days off that the authority published, or those of the law alone where others may be missing. */
export const DEADLINE_BASES = ['published', 'estimated'] as const
export type DeadlineBasis = (typeof DEADLINE_BASES)[number]

/** The basis of the business days between two days. */
export const deadlineBasisOf = (from: Day, until: Day): DeadlineBasis =>
  from >= KNOWN_FROM && until <= KNOWN_UNTIL ? 'published' : 'estimated'

/** CFF, article 12, first paragraph: the holidays on the same day of every year. */
const FIXED = ['01-01', '05-01', '05-05', '09-16', '12-25']
/** The same: the Mondays, as month and number of the Monday in it, on which 5 February, 21 March and 20 November are commemorated. */
const MONDAYS = ['02-1', '03-3', '11-3']
/** The federal executive changes on 1 October of every sixth year; until 2018 it changed on 1 December. */
const CHANGE_OF_EXECUTIVE = 2024

const SATURDAY = 6
/** 1970-01-01 was a Thursday. */
const weekdayOf = (epochDay: number): number => (epochDay + 4) % 7

function isHoliday(day: Day, weekday: number): boolean {
  const monthDay = day.slice(5)
  if (FIXED.includes(monthDay)) return true
  if (weekday === 1 && MONDAYS.includes(`${day.slice(5, 7)}-${Math.ceil(Number(day.slice(8)) / 7)}`)) return true
  const year = Number(day.slice(0, 4))
  if (monthDay === '10-01' && year >= CHANGE_OF_EXECUTIVE && (year - CHANGE_OF_EXECUTIVE) % 6 === 0) return true
  return isAmong(DAYS_OFF, day)
}

/**
 * Whether a return can be due on a day. The authority's general vacations do not postpone it, because they count as business days for
 * returns and payments alone (CFF, article 12, second paragraph).
 */
export function isFilingDay(day: Day): boolean {
  const weekday = weekdayOf(epochDayOf(day))
  return weekday !== 0 && weekday !== SATURDAY && !isHoliday(day, weekday)
}

/** Whether the authority counts a day in periods that are set in days. */
export const isBusinessDay = (day: Day): boolean => isFilingDay(day) && !isAmong(VACATIONS, day)

function addDays(day: Day, count: number, counts: (day: Day) => boolean): Day {
  const step = Math.sign(count)
  let [at, left] = [epochDayOf(day), Math.abs(count)]
  while (left > 0) {
    at += step
    if (counts(dayOfEpoch(at))) left--
  }
  return dayOfEpoch(at)
}

/** Returns the business day that is so many business days after a day, or before it when the count is negative. */
export const addBusinessDays = (day: Day, count: number): Day => addDays(day, count, isBusinessDay)

/** Returns the day that is so many filing days after a day. */
export const addFilingDays = (day: Day, count: number): Day => addDays(day, count, isFilingDay)

/** Returns the due day of a return: the nominal day, or the next filing day (CFF, article 12, fourth paragraph). */
export const filingDayFrom = (day: Day): Day => (isFilingDay(day) ? day : addFilingDays(day, 1))

/** Counts the business days after a day, up to another one. */
export function businessDaysBetween(after: Day, until: Day): number {
  let count = 0
  for (let at = epochDayOf(after) + 1; at <= epochDayOf(until); at++) if (isBusinessDay(dayOfEpoch(at))) count++
  return count
}
