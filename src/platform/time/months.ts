import { CENTRAL } from './zone-of-postcode.ts'

const calendar = new Intl.DateTimeFormat('en-CA', { timeZone: CENTRAL })

/** Returns the calendar day of an instant in central Mexico, the zone of everything without a zone of its own. */
export const centralDayOf = (milliseconds: number): string => calendar.format(milliseconds)

/** A document is stamped, and the authority has it, at most so long after its Fecha. */
export const LATEST_STAMP_MS = 72 * 3_600_000

/** Returns the month this many months later, or earlier when the number is negative. Months are `YYYY-MM`, from the year 1000 on. */
export const addMonths = (month: string, months: number): string => {
  const count = Number(month.slice(0, 4)) * 12 + Number(month.slice(5)) - 1 + months
  return `${Math.floor(count / 12)}-${String((count % 12) + 1).padStart(2, '0')}`
}

/** Returns the last day of a month. */
export const lastDayOf = (month: string): string =>
  `${month}-${new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 0)).getUTCDate()}`
