import { dayOfEpoch, epochDayOf, firstInstantOf, localDayOf, wallClock } from '../../platform/time/calendar.ts'

export const MINUTE = 60_000
export const QUARTER = 15 * MINUTE
const DAY = 96 * QUARTER
/** The daily work begins at 10:00 UTC. */
const DAILY_AT = 40 * QUARTER
const DAILY = '0 10 * * *'
const DIGEST_AT = 32 * QUARTER
/** The remainder by 7 of the days since 1970 on a Monday. */
const MONDAY = 4

export const isDaily = (cron: string): boolean => cron === DAILY

/** The first time that is a whole number of steps, from `at` on. */
export const from = (at: number, step: number): number => Math.ceil(at / step) * step

/** The first such time after `at`. */
export const after = (at: number, step: number): number => (Math.floor(at / step) + 1) * step

/** The crons of a minute. */
export const cronsOf = (at: number): string[] => [
  '* * * * *',
  ...(at % QUARTER === 0 ? ['*/15 * * * *'] : []),
  ...(at % DAY === DAILY_AT ? [DAILY] : []),
]

/** When the crons find something to do without any row that waits: after a midnight of these zones, at 08:00 of a Monday there, and every day. */
export function nextByCalendar(zones: readonly string[], now: number): number {
  const midnights = zones.flatMap((zone) => {
    const today = epochDayOf(localDayOf(new Date(now), zone))
    const guess = firstInstantOf(dayOfEpoch(today), zone).getTime() + DIGEST_AT
    // Another time where daylight saving begins or ends in that night.
    const morning = guess - (wallClock(guess, zone) - today * DAY - DIGEST_AT)
    return [firstInstantOf(dayOfEpoch(today + 1), zone).getTime(), ...(today % 7 === MONDAY && morning > now ? [morning] : [])]
  })
  return Math.min(after(now - DAILY_AT, DAY) + DAILY_AT, ...midnights.map((at) => from(at, QUARTER)))
}
