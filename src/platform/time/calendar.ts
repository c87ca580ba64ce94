/** A calendar day, `YYYY-MM-DD`. Days can be compared as texts. */
export type Day = string

const MS = 86_400_000

/** Days since 1970-01-01. */
export const epochDayOf = (day: Day): number => Date.parse(`${day}T00:00:00Z`) / MS

/** The day this many days after 1970-01-01. */
export const dayOfEpoch = (epochDay: number): Day => new Date(epochDay * MS).toISOString().slice(0, 10)

// Making a formatter takes 36 µs, using one 2 µs.
const formatters = new Map<string, Intl.DateTimeFormat>()

function formatterOf(zone: string): Intl.DateTimeFormat {
  const known = formatters.get(zone)
  if (known) return known
  const number = '2-digit'
  const made = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    ...{ year: 'numeric', month: number, day: number, hour: number, minute: number, second: number },
  })
  formatters.set(zone, made)
  return made
}

/** The local date and time of an instant in a zone, as the milliseconds at which UTC has the same date and time. */
export function wallClock(at: number, zone: string): number {
  const part: Record<string, number> = {}
  for (const { type, value } of formatterOf(zone).formatToParts(at)) part[type] = Number(value)
  return Date.UTC(part['year']!, part['month']! - 1, part['day'], part['hour'], part['minute'], part['second'])
}

/** Returns the local time of an instant in an IANA time zone, `YYYY-MM-DDTHH:mm:ss`. */
export const localTimeOf = (instant: Date, zone: string): string => new Date(wallClock(instant.getTime(), zone)).toISOString().slice(0, 19)

/** Returns the calendar day of an instant in an IANA time zone. */
export const localDayOf = (instant: Date, zone: string): Day => dayOfEpoch(Math.floor(wallClock(instant.getTime(), zone) / MS))

/** Calendar days from the day of `now` to that of an instant in an IANA time zone; negative when that day is over. */
export const daysLeft = (instant: Date, now: Date, zone: string): number =>
  epochDayOf(localDayOf(instant, zone)) - epochDayOf(localDayOf(now, zone))

/**
 * Returns the first instant of a day in an IANA time zone: 00:00, the earlier of two where it occurs twice, or the instant of the change
 * where daylight saving skips midnight.
 */
export function firstInstantOf(day: Day, zone: string): Date {
  const midnight = epochDayOf(day) * MS
  const asOffsetAt = (at: number) => midnight - (wallClock(at, zone) - at)
  const [earlier, later] = [asOffsetAt(midnight - MS), asOffsetAt(midnight + MS)].sort((a, b) => a - b) as [number, number]
  const exact = [earlier, later].find((at) => wallClock(at, zone) === midnight)
  return new Date(exact ?? firstReaching(midnight, earlier, later, zone))
}

/** Searches for the first instant after `from`, up to `to`, whose local time is this or later. */
function firstReaching(wall: number, from: number, to: number, zone: string): number {
  let [before, reached] = [from, to]
  while (reached - before > 1) {
    const middle = Math.floor((before + reached) / 2)
    if (wallClock(middle, zone) >= wall) reached = middle
    else before = middle
  }
  return reached
}
