import { type Day, dayOfEpoch, epochDayOf, firstInstantOf, localDayOf } from '../platform/time/calendar.ts'
import type { ScheduleKind } from './rules.ts'

/** The `n` of `every_n_days` is at most this (rules.ts). */
const LONGEST_N = 365

/** The first instant of the day is what a cadence is about; which days it falls on is all that is kept of it, as a key. */
export type Cadence = string

/**
 * The key of a cadence: `daily`, `every:{n}:{phase}` with the days since 1970-01-01 modulo n on which it is due, or
 * `nth:{weekday}:{nth}` with 0 for Monday. `anchor` is the local day on which it was saved: `every_n_days` counts from it.
 */
export function cadenceOf(kind: ScheduleKind, spec: Readonly<Record<string, number>>, anchor: Day): Cadence {
  if (kind === 'daily') return 'daily'
  if (kind === 'every_n_days') return `every:${spec['n']}:${epochDayOf(anchor) % spec['n']!}`
  return `nth:${spec['weekday']}:${spec['nth']}`
}

/** Whether it runs on this local day. It never does on the day on which it was saved, or before. */
export const isDue = (cadence: Cadence, armedDay: Day, day: Day): boolean => day > armedDay && fallsOn(cadence, epochDayOf(day))

function fallsOn(cadence: Cadence, epochDay: number): boolean {
  const [kind, a, b] = cadence.split(':')
  if (kind === 'daily') return true
  if (kind === 'every') return epochDay % Number(a) === Number(b)
  return weekdayOf(epochDay) === Number(a) && nthOf(epochDay) === Number(b)
}

/** The how manyth of its weekday in the month. */
const nthOf = (epochDay: number): number => Math.ceil(Number(dayOfEpoch(epochDay).slice(8)) / 7)

/** 0 is Monday; 1970-01-01 was a Thursday. */
const weekdayOf = (epochDay: number): number => (epochDay + 3) % 7

/** The next local day after `after` on which it runs: at most 365 days later. */
export function nextDay(cadence: Cadence, armedDay: Day, after: Day): Day {
  let epochDay = epochDayOf(after > armedDay ? after : armedDay) + 1
  while (!fallsOn(cadence, epochDay)) epochDay += 1
  return dayOfEpoch(epochDay)
}

interface Scheduled {
  is_enabled: boolean
  cadence: Cadence | null
  armed_day: Day | null
  timezone: string
}

/** The next instant after `now` at which it runs; null when it is disabled or not scheduled. */
export function nextRunAt({ is_enabled, cadence, armed_day, timezone }: Scheduled, now: Date): Date | null {
  if (!is_enabled || cadence === null || armed_day === null) return null
  let day = nextDay(cadence, armed_day, localDayOf(now, timezone))
  // Where clocks go back over midnight, the next day's first moment may be over already.
  while (firstInstantOf(day, timezone) <= now) day = nextDay(cadence, armed_day, day)
  return firstInstantOf(day, timezone)
}

/** Every cadence falls on a day of any so many: fifth weekdays are up to 119 days apart, `every_n_days` up to 365. */
const LOOK_BACK = 400

/** The last day after `from`, up to and with `to`, on which it falls; null when it falls on none. */
export function lastDueDay(cadence: Cadence, from: Day, to: Day): Day | null {
  const [after, until] = [epochDayOf(from), epochDayOf(to)]
  for (let epochDay = until; epochDay > after && epochDay > until - LOOK_BACK; epochDay -= 1)
    if (fallsOn(cadence, epochDay)) return dayOfEpoch(epochDay)
  return null
}

/** Every cadence there can be that falls on a day after `from`, up to and with `to`: of one day 367. */
export function cadencesBetween(from: Day, to: Day): Cadence[] {
  const [after, until] = [epochDayOf(from), epochDayOf(to)]
  const found = new Set<Cadence>(after < until ? ['daily'] : [])
  for (let epochDay = until; epochDay > after && epochDay > until - LOOK_BACK; epochDay -= 1) {
    for (let n = 1; n <= LONGEST_N; n += 1) found.add(`every:${n}:${epochDay % n}`)
    found.add(`nth:${weekdayOf(epochDay)}:${nthOf(epochDay)}`)
  }
  return [...found]
}
