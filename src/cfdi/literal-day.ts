// A document's Fecha is literal local time, `YYYY-MM-DDTHH:mm:ss`; its first ten characters are its literal day.

/** Whether a bound, which is a day or an instant, is a day. */
export const isDay = (bound: string): boolean => bound.length === 10

/** A text that sorts after every literal time of a day and before those of the next day. */
export const afterDay = (day: string): string => `${day}U`
