import { type Day, dayOfEpoch, epochDayOf, localDayOf } from '../../platform/time/calendar.ts'
import { type Cadence, cadenceOf, lastDueDay } from './cadence.ts'
import type { ScheduleKind } from './rules.ts'

interface Schedule {
  schedule_kind: ScheduleKind | null
  schedule_spec: Record<string, number>
  timezone: string
  is_enabled: boolean
}

/** A schedule with its cadence and the local day up to which it is never due. */
interface ArmedSchedule extends Schedule {
  cadence: Cadence | null
  armed_day: Day | null
}

/** A common anchor, so that only the schedules are compared. */
const ANY_DAY = '1970-01-01'

const isSameSchedule = (a: Schedule, b: Schedule): boolean =>
  a.timezone === b.timezone &&
  a.schedule_kind !== null &&
  a.schedule_kind === b.schedule_kind &&
  cadenceOf(a.schedule_kind, a.schedule_spec, ANY_DAY) === cadenceOf(a.schedule_kind, b.schedule_spec, ANY_DAY)

const later = (a: Day, b: Day | null): Day => (b === null || a > b ? a : b)

/**
 * Returns the columns of a schedule that is saved now. A new schedule or time zone is anchored to today, and is due only after the last
 * date for which the extractor ran (`ranFor`), which is ahead of today when the zone has moved to the west: no date runs twice, so that the
 * next run is never promised for one that has run. An unchanged schedule keeps its anchor, but never runs for the days on which it was
 * disabled.
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
 * Returns the last date that was due in a schedule which a new one replaces, and has not run because no tick came in time. Null when there
 * is none. That date was promised, so it runs all the same.
 */
export function owedDay(stored: ArmedSchedule, changed: Schedule, ranFor: Day | null, now: Date): Day | null {
  const { cadence, armed_day, timezone, is_enabled } = stored
  if (!is_enabled || !changed.is_enabled || cadence === null || armed_day === null) return null
  if (changed.schedule_kind === null || isSameSchedule(changed, stored)) return null
  const today = localDayOf(now, timezone)
  return lastDueDay(cadence, later(later(armed_day, ranFor), dayOfEpoch(epochDayOf(today) - LOOK_BACK_DAYS)), today)
}
