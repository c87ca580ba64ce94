import { type Day, dayOfEpoch, epochDayOf, localDayOf } from '../../../platform/time/calendar.ts'
import { addMonths, LATEST_STAMP_MS } from '../../../platform/time/months.ts'
import type { ScopeKind } from '../rules.ts'

/** The first day of the authority's history. */
export const EARLIEST: Day = '2018-01-01'

/**
 * The zones in which Mexico's days begin first and end last, as in taxpayers/visibility/window.ts. Documents are dated in the zone of their place of
 * issue.
 */
const EASTERNMOST = 'Etc/GMT+5'
const WESTERNMOST = 'Etc/GMT+8'
const MONTH_DAYS = 30

/** What to download: from the start of a literal day up to an instant. */
export interface DownloadRange {
  from: Day
  to: Date
}

/**
 * Returns the range of a run at `now`, which begins no earlier than 2018-01-01. Days are in the extractor's time zone.
 * `watermark` is the end of the last range whose downloads all succeeded, or null. The range begins 72 hours before it, where documents may
 * have been stamped since: on the earlier of the days in that zone and in Mexico's westernmost, because documents bear a Mexican date.
 */
export function rangeOf(scope: ScopeKind, scope_months: number | null, now: Date, timezone: string, watermark: Date | null): DownloadRange {
  const from = startOf(scope, scope_months, now, timezone, watermark)
  return { from: from > EARLIEST ? from : EARLIEST, to: now }
}

/** The range of days that was asked for, up to the run at most. */
export const askedRange = ({ from, to }: { from: Day; to: Day }, now: Date): DownloadRange => {
  // At this hour it is the same day in all of Mexico.
  const end = new Date(`${to}T18:00:00Z`)
  return { from: from > EARLIEST ? from : EARLIEST, to: end < now ? end : now }
}

function startOf(scope: ScopeKind, scope_months: number | null, now: Date, timezone: string, watermark: Date | null): Day {
  if (scope === 'last_n_months' && scope_months !== null)
    return dayOfEpoch(epochDayOf(localDayOf(now, timezone)) - scope_months * MONTH_DAYS)
  if (scope === 'since_watermark' && watermark !== null) return first(reachedDay(watermark, timezone), reachedDay(watermark, WESTERNMOST))
  return EARLIEST
}

/** The first day, in a zone, whose documents may have been stamped only after an extraction. */
const reachedDay = (extracted: Date, timezone: string): Day => localDayOf(new Date(extracted.getTime() - LATEST_STAMP_MS), timezone)

/**
 * Returns the day from which a reactivated connection is downloaded in addition to the range of its first run: that of its last extraction,
 * less 72 hours for late stamps, when it is before the month in which the range begins. Null when there is no such gap. The months before
 * the range are the gap.
 */
export function gapStart({ from }: DownloadRange, ceiling: Date | null, active_since: Date | null): Day | null {
  if (ceiling === null || active_since === null || active_since <= ceiling) return null
  const day = reachedDay(ceiling, WESTERNMOST)
  return day.slice(0, 7) < from.slice(0, 7) ? day : null
}

/** A day, or the first one that a consent lets runs ask for when that is later. */
export const boundedBy = (from: Day, access_from: Day | null): Day => (access_from === null ? from : last(from, access_from))

/** The earliest of some days. Null is none. */
export const firstOf = (days: readonly [Day, ...(Day | null)[]]): Day =>
  days.reduce<Day>((earliest, day) => (day !== null && day < earliest ? day : earliest), days[0])

const first = (a: Day, b: Day): Day => (a < b ? a : b)
const last = (a: Day, b: Day): Day => (a < b ? b : a)

/**
 * Returns the calendar months, `YYYY-MM`, that overlap a range. The last one is the later of the months in which the range ends in the
 * extractor's time zone and in Mexico's easternmost.
 */
export function monthsOf({ from, to }: DownloadRange, timezone: string): string[] {
  const end = last(localDayOf(to, timezone), localDayOf(to, EASTERNMOST)).slice(0, 7)
  const months: string[] = []
  for (let month = from.slice(0, 7); month <= end; month = monthAfter(month)) months.push(month)
  return months
}

const monthAfter = (month: string): string =>
  new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 1)).toISOString().slice(0, 7)

/** The months before this one that are downloaded again each week: documents are cancelled late. */
const SWEPT_MONTHS = 13
const WEEK = 7

/**
 * Returns the months before a range that its run downloads again, as far as they lie within the floor of the connection's granted ranges:
 * those of the last seven days and, for the first run in a week, the last 13. `since` is the ceiling, the instant of the last run;
 * `weekday`, from 0 to 6, says on which day a week begins.
 */
export function sweptMonths({ from, to }: DownloadRange, floor: Day | null, since: Date | null, weekday: number): string[] {
  if (floor === null || since === null) return []
  const today = epochDayOf(localDayOf(to, WESTERNMOST))
  const isNewWeek = Math.floor((epochDayOf(localDayOf(since, WESTERNMOST)) + weekday) / WEEK) < Math.floor((today + weekday) / WEEK)
  const begin = isNewWeek ? addMonths(dayOfEpoch(today).slice(0, 7), -SWEPT_MONTHS) : dayOfEpoch(today - WEEK).slice(0, 7)
  const months: string[] = []
  for (let month = last(begin, floor.slice(0, 7)); month < from.slice(0, 7); month = monthAfter(month)) months.push(month)
  return months
}
