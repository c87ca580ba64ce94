import { DATA_SOURCE_KEYS } from '../../src/authority/port/authority.ts'
import { defaultExtractors } from '../../src/connections/extractors/extractors.ts'
import { isDue } from '../../src/connections/extractors/rules.ts'
import { monthsOf, rangeOf } from '../../src/connections/extractors/runs/scope.ts'
import { dayOfEpoch, epochDayOf, firstInstantOf } from '../../src/platform/time/calendar.ts'
import { FIRST_DAY } from './assumptions.ts'
import type { Group } from './population.ts'

/** A midnight of some zone at which extractors are due. */
export interface Tick {
  /** Minutes since the beginning of the first day, in UTC: the quarter of an hour whose cron finds that the zone's day has begun. */
  minute: number
  group: Group
  /** Jobs that each of their runs requests for an RFC. */
  jobs: number
}

const START = Date.parse(`${FIRST_DAY}T00:00:00Z`)
const QUARTER_MINUTES = 15

/** What every organization begins with: the extractor of a new RFC, and the one that runs every day. */
const defaults = defaultExtractors('org_', new Date(START), DATA_SOURCE_KEYS)
const [first, daily] = [false, true].map((isScheduled) => defaults.find(({ schedule_kind }) => (schedule_kind !== null) === isScheduled)!)

function jobsOf({ data_source_keys, scope, scope_months }: typeof first & object, instant: Date, zone: string): number {
  const cfdi = data_source_keys.filter((key) => key.startsWith('sat_cfdi_')).length
  return cfdi * monthsOf(rangeOf(scope, scope_months, instant, zone, null), zone).length + data_source_keys.length - cfdi
}

/** Jobs of the first downloads of an RFC. */
export const FIRST_JOBS = jobsOf(first!, new Date(START), 'America/Mexico_City')

/** The ticks of so many days, in their order. */
export function ticksOf(groups: readonly Group[], days: number): Tick[] {
  const zones = [...new Set(groups.map(({ zone }) => zone))]
  const dayBefore = dayOfEpoch(epochDayOf(FIRST_DAY) - 1)
  return Array.from({ length: days + 1 }, (_, n) => dayOfEpoch(epochDayOf(FIRST_DAY) + n))
    .flatMap((day) => zones.map((zone) => ({ zone, day, instant: firstInstantOf(day, zone) })))
    .flatMap(({ zone, day, instant }) => {
      const minute = Math.ceil((instant.getTime() - START) / 60_000 / QUARTER_MINUTES) * QUARTER_MINUTES
      const jobs = jobsOf(daily!, instant, zone)
      return groups.filter((group) => group.zone === zone && isDue(group.cadence, dayBefore, day)).map((group) => ({ minute, group, jobs }))
    })
    .filter(({ minute }) => minute >= 0 && minute < days * 1_440)
    .sort((a, b) => a.minute - b.minute)
}
