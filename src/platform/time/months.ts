import { CENTRAL } from './zone-of-postcode.ts'

const calendar = new Intl.DateTimeFormat('en-CA', { timeZone: CENTRAL })

/** The day in central Mexico, where nothing says another zone. */
export const dayOf = (milliseconds: number): string => calendar.format(milliseconds)

/** The month so many months later, or with a negative number earlier. */
export const plus = (month: string, months: number): string =>
  new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)) - 1 + months, 1)).toISOString().slice(0, 7)

export const lastDayOf = (month: string): string =>
  new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 0)).toISOString().slice(0, 10)
