/** Dates as the authority's lists spell them. Source: sat.md 5. */

const MONTHS = 'enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre'.split(' ')

/** `2022-05-25`; `25/05/2022`, `25-05-22`, `25.5.2022`; `25 de mayo de 2022`. */
const DATE =
  /(?<!\d)(?:(?<iso>\d{4})-(\d{1,2})-(\d{1,2})|(\d{1,2})[/.-](\d{1,2})[/.-](\d{4}|\d{2})|(\d{1,2})[°º]?\s+de\s+([a-zé]+)\s+del?\s+(\d{4}))(?!\d)/giu

/** A spreadsheet's serial number of a date: days since 1899-12-30. */
const SERIAL = /^\s*(\d{5})\s*$/
const DAY = 86_400_000
const SERIAL_ZERO = Date.UTC(1899, 11, 30)

/** Years outside this range are typing errors. */
const YEARS = [2000, 2099] as const

function dateOf(year: number, month: number, day: number): string | null {
  const date = new Date(Date.UTC(year, month - 1, day))
  const isReal = date.getUTCMonth() === month - 1 && date.getUTCDate() === day
  return isReal && year >= YEARS[0] && year <= YEARS[1] ? date.toISOString().slice(0, 10) : null
}

/** Returns the dates in a text, in order, as `YYYY-MM-DD`; null for one that is spelled like a date but does not exist. */
export function datesIn(text: string): (string | null)[] {
  const serial = SERIAL.exec(text)?.[1]
  if (serial !== undefined) {
    const date = new Date(SERIAL_ZERO + Number(serial) * DAY)
    return [dateOf(date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate())]
  }
  return [...text.matchAll(DATE)].map(([, iso, isoMonth, isoDay, day, month, year, longDay, longMonth, longYear]) => {
    if (iso !== undefined) return dateOf(Number(iso), Number(isoMonth), Number(isoDay))
    if (year !== undefined) return dateOf(Number(year.length === 2 ? `20${year}` : year), Number(month), Number(day))
    const named = longMonth!.toLowerCase().replace('setiembre', 'septiembre')
    return dateOf(Number(longYear), MONTHS.indexOf(named) + 1, Number(longDay))
  })
}
