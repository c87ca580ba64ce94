import type { Fault } from '../../platform/failures.ts'
import { type Day, dayOfEpoch, epochDayOf, firstInstantOf, localDayOf } from '../../platform/time/calendar.ts'
import type { extractors } from '../tables.ts'

type Stored = typeof extractors.$inferSelect
export type ScheduleKind = NonNullable<Stored['schedule_kind']>
export type ScopeKind = Stored['scope']

/** Members of an extractor whose valid values depend on each other. */
export interface DependentMembers extends Pick<Stored, 'trigger_kind' | 'schedule_kind' | 'scope' | 'scope_months'> {
  schedule_spec: Readonly<Record<string, unknown>>
}

type Bounds = readonly [min: number, max: number, note?: string]

/** The members of schedule_spec that each schedule_kind requires, with their bounds. */
const SPECS: Record<ScheduleKind, Readonly<Record<string, Bounds>>> = {
  daily: {},
  every_n_days: { n: [1, 365] },
  nth_weekday_monthly: { weekday: [0, 6, ' (0 is Monday)'], nth: [1, 5] },
}

/** Returns every contradiction between dependent members. Absent members are not checked. */
export function faultsOf(known: Partial<DependentMembers>): Fault[] {
  return [...triggerFaults(known), ...specFaults(known), ...scopeFaults(known)]
}

function* triggerFaults({ trigger_kind, schedule_kind, schedule_spec = {} }: Partial<DependentMembers>): Generator<Fault> {
  if (trigger_kind === undefined) return
  if (trigger_kind === 'schedule') {
    if (schedule_kind === null)
      yield { path: 'schedule_kind', message: `Missing: the trigger schedule requires one of ${Object.keys(SPECS).join(', ')}.` }
    return
  }
  if (schedule_kind) yield { path: 'schedule_kind', message: `Must be null with the trigger ${trigger_kind}.` }
  if (Object.keys(schedule_spec).length > 0) yield { path: 'schedule_spec', message: `Must be {} with the trigger ${trigger_kind}.` }
}

function* specFaults({ trigger_kind = 'schedule', schedule_kind, schedule_spec }: Partial<DependentMembers>): Generator<Fault> {
  if (trigger_kind !== 'schedule' || !schedule_kind || !schedule_spec) return
  const required = SPECS[schedule_kind]
  for (const [member, [min, max, note = '']] of Object.entries(required)) {
    const value = Object.hasOwn(schedule_spec, member) ? schedule_spec[member] : undefined
    if (value === undefined || !Number.isInteger(value) || Number(value) < min || Number(value) > max)
      yield {
        path: `schedule_spec.${member}`,
        message:
          value === undefined
            ? `Missing: ${schedule_kind} requires ${member}, an integer from ${min} to ${max}${note}.`
            : `Must be an integer from ${min} to ${max}${note}.`,
      }
  }
  for (const member of Object.keys(schedule_spec))
    if (!Object.hasOwn(required, member))
      yield {
        path: `schedule_spec.${member}`,
        message: `Unknown member: ${schedule_kind} accepts ${Object.keys(required).join(' and ') || 'no members'}.`,
      }
}

function* scopeFaults({ scope, scope_months }: Partial<DependentMembers>): Generator<Fault> {
  if (scope === 'last_n_months' && scope_months === null)
    yield { path: 'scope_months', message: 'Missing: the scope last_n_months requires an integer from 1 to 240.' }
  if (scope !== undefined && scope !== 'last_n_months' && typeof scope_months === 'number')
    yield { path: 'scope_months', message: `Must be null with the scope ${scope}.` }
}

/**
 * Returns the members that result from a PATCH. A new trigger or scope clears the members that only the previous one uses.
 */
export const mergeChanges = (stored: DependentMembers, changes: Partial<DependentMembers>): DependentMembers => ({
  ...stored,
  ...((changes.trigger_kind ?? 'schedule') !== 'schedule' && { schedule_kind: null, schedule_spec: {} }),
  ...((changes.scope ?? 'last_n_months') !== 'last_n_months' && { scope_months: null }),
  ...changes,
})

/** The largest `n` of `every_n_days` (rules.ts). */
const LONGEST_N = 365

/**
 * The local days on which an extractor runs, as a key: `daily`, `every:{n}:{phase}` with the phase in days since 1970-01-01 modulo n, or
 * `nth:{weekday}:{nth}` with 0 for Monday. A run starts at the first instant of its day.
 */
type Cadence = string

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

interface ScheduledExtractor extends Pick<Stored, 'is_enabled' | 'cadence' | 'armed_day' | 'timezone'> {
  /** The last local day of the zone whose cadences have been evaluated. It is ahead of today after a tick at a later time. */
  evaluated_day?: Day | null
}

/** Returns the first instant after `now` at which the extractor runs; null when it is disabled or not scheduled. */
export function nextRunAt({ is_enabled, cadence, armed_day, timezone, evaluated_day = null }: ScheduledExtractor, now: Date): Date | null {
  if (!is_enabled || cadence === null || armed_day === null) return null
  let day = nextDay(cadence, armed_day, later(localDayOf(now, timezone), evaluated_day))
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

type Schedule = Pick<Stored, 'schedule_kind' | 'schedule_spec' | 'timezone' | 'is_enabled'>

/** A schedule with its cadence and the local day up to which it is never due. */
type ArmedSchedule = Schedule & Pick<Stored, 'cadence' | 'armed_day'>

/** A common anchor, so that only the schedules are compared. */
const ANY_DAY = '1970-01-01'

const isSameSchedule = (a: Schedule, b: Schedule): boolean =>
  a.timezone === b.timezone &&
  a.schedule_kind !== null &&
  a.schedule_kind === b.schedule_kind &&
  cadenceOf(a.schedule_kind, a.schedule_spec, ANY_DAY) === cadenceOf(a.schedule_kind, b.schedule_spec, ANY_DAY)

const later = (a: Day, b: Day | null): Day => (b === null || a > b ? a : b)

/**
 * Returns the columns of a schedule that is saved now. A new schedule or time zone is anchored to today. It is due only after the last date
 * for which the extractor ran (`ranFor`), which is ahead of today when the zone has moved to the west: no date runs twice or is promised
 * after it has run. An unchanged schedule keeps its anchor, but never runs for the days on which it was disabled.
 */
export function arm(
  schedule: Schedule,
  ranFor: Day | null,
  now: Date,
  stored?: ArmedSchedule,
): Pick<ArmedSchedule, 'cadence' | 'armed_day'> {
  const { schedule_kind, schedule_spec, timezone, is_enabled } = schedule
  if (schedule_kind === null) return { cadence: null, armed_day: null }
  const today = localDayOf(now, timezone)
  if (!stored?.armed_day || !isSameSchedule(schedule, stored))
    return { cadence: cadenceOf(schedule_kind, schedule_spec, today), armed_day: later(today, ranFor) }
  return { cadence: stored.cadence, armed_day: is_enabled && !stored.is_enabled ? later(today, stored.armed_day) : stored.armed_day }
}

/** Runs are kept for longer. */
const LOOK_BACK_DAYS = 60

/**
 * Returns the last due date of a replaced schedule that has not run because no tick came in time. Null when there is none. That date was
 * promised, so it runs all the same.
 */
export function owedDay(stored: ArmedSchedule, changed: Schedule, ranFor: Day | null, now: Date): Day | null {
  const { cadence, armed_day, timezone, is_enabled } = stored
  if (!is_enabled || !changed.is_enabled || cadence === null || armed_day === null) return null
  if (changed.schedule_kind === null || isSameSchedule(changed, stored)) return null
  const today = localDayOf(now, timezone)
  return lastDueDay(cadence, later(later(armed_day, ranFor), dayOfEpoch(epochDayOf(today) - LOOK_BACK_DAYS)), today)
}
