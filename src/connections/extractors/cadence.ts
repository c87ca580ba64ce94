import { type Day, dayOfEpoch, epochDayOf, firstInstantOf, localDayOf } from '../../platform/time/calendar.ts'
import type { ScheduleKind } from './rules.ts'

/** The largest `n` of `every_n_days` (rules.ts). */
const LONGEST_N = 365

/**
 * The local days on which an extractor runs, as a key: `daily`, `every:{n}:{phase}` with the phase in days since 1970-01-01 modulo n, or
 * `nth:{weekday}:{nth}` with 0 for Monday. A run starts at the first instant of its day.
 */
export type Cadence = string

/** Returns the key of a schedule. `every_n_days` counts from `anchor`, the local day on which the schedule was saved. */
export function cadenceOf(kind: ScheduleKind, spec: Readonly<Record<string, number>>, anchor: Day): Cadence {
  if (kind === 'daily') return 'daily'
  if (kind === 'every_n_days') return `every:${spec['n']}:${epochDayOf(anchor) % spec['n']!}`
  return `nth:${spec['weekday']}:${spec['nth']}`
}

/** Whether a cadence is due on a local day. It is never due on or before `armedDay`, the day on which it was saved. */
export const isDue = (cadence: Cadence, armedDay: Day, day: Day): boolean => day > armedDay && fallsOn(cadence, epochDayOf(day))

function fallsOn(cadence: Cadence, epochDay: number): boolean {
  const [kind, a, b] = cadence.split(':')
  if (kind === 'daily') return true
  if (kind === 'every') return epochDay % Number(a) === Number(b)
  return weekdayOf(epochDay) === Number(a) && nthOf(epochDay) === Number(b)
}

/** Which occurrence of its weekday in the month the day is, from 1. */
const nthOf = (epochDay: number): number => Math.ceil(Number(dayOfEpoch(epochDay).slice(8)) / 7)

/** 0 is Monday; 1970-01-01 was a Thursday. */
const weekdayOf = (epochDay: number): number => (epochDay + 3) % 7

/** Returns the next local day after `after` on which the cadence is due, at most 365 days later. */
export function nextDay(cadence: Cadence, armedDay: Day, after: Day): Day {
  let epochDay = epochDayOf(after > armedDay ? after : armedDay) + 1
  while (!fallsOn(cadence, epochDay)) epochDay += 1
  return dayOfEpoch(epochDay)
}

interface ScheduledExtractor {
  is_enabled: boolean
  cadence: Cadence | null
  armed_day: Day | null
  timezone: string
}

/** Returns the first instant after `now` at which the extractor runs; null when it is disabled or not scheduled. */
export function nextRunAt({ is_enabled, cadence, armed_day, timezone }: ScheduledExtractor, now: Date): Date | null {
  if (!is_enabled || cadence === null || armed_day === null) return null
  let day = nextDay(cadence, armed_day, localDayOf(now, timezone))
  // Where clocks go back across midnight, the next day may already have begun once.
  while (firstInstantOf(day, timezone) <= now) day = nextDay(cadence, armed_day, day)
  return firstInstantOf(day, timezone)
}

/** Every cadence is due at least once in this many days: fifth weekdays are up to 119 days apart, `every_n_days` up to 365. */
const LOOK_BACK = 400

/** Returns the last due day after `from` and up to `to`, inclusive; null when there is none. */
export function lastDueDay(cadence: Cadence, from: Day, to: Day): Day | null {
  const [after, until] = [epochDayOf(from), epochDayOf(to)]
  for (let epochDay = until; epochDay > after && epochDay > until - LOOK_BACK; epochDay -= 1)
    if (fallsOn(cadence, epochDay)) return dayOfEpoch(epochDay)
  return null
}

/** Returns every possible cadence that is due on a day after `from` and up to `to`, inclusive: 367 for a single day. */
export function cadencesBetween(from: Day, to: Day): Cadence[] {
  const [after, until] = [epochDayOf(from), epochDayOf(to)]
  const found = new Set<Cadence>(after < until ? ['daily'] : [])
  for (let epochDay = until; epochDay > after && epochDay > until - LOOK_BACK; epochDay -= 1) {
    for (let n = 1; n <= LONGEST_N; n += 1) found.add(`every:${n}:${epochDay % n}`)
    found.add(`nth:${weekdayOf(epochDay)}:${nthOf(epochDay)}`)
  }
  return [...found]
}
