import { type Day, dayOfEpoch, epochDayOf, localDayOf } from '../../platform/time/calendar.ts'
import type { ScopeKind } from '../rules.ts'

/** What the authority has goes back to here (service.md, Limits). */
export const EARLIEST: Day = '2018-01-01'

/** The authority's own zone: most literal dates of documents are of it. */
const MEXICO = 'America/Mexico_City'
const MONTH_DAYS = 30

/** Fiscal dates to download: from a literal day up to an instant. */
export interface Range {
  from: Day
  to: Date
}

/**
 * The range of a run at `now` (service.md, Scope), cut at 2018-01-01. Days are of the extractor's zone; `watermark` is where the last
 * range ended whose downloads all succeeded, null for none. A watermark counts from the earlier of its days there and in Mexico City,
 * because what was issued after it bears a Mexican date.
 */
export function rangeOf(scope: ScopeKind, scope_months: number | null, now: Date, timezone: string, watermark: Date | null): Range {
  const from = startOf(scope, scope_months, now, timezone, watermark)
  return { from: from > EARLIEST ? from : EARLIEST, to: now }
}

function startOf(scope: ScopeKind, scope_months: number | null, now: Date, timezone: string, watermark: Date | null): Day {
  if (scope === 'last_n_months' && scope_months !== null)
    return dayOfEpoch(epochDayOf(localDayOf(now, timezone)) - scope_months * MONTH_DAYS)
  if (scope === 'since_watermark' && watermark !== null) return first(localDayOf(watermark, timezone), localDayOf(watermark, MEXICO))
  return EARLIEST
}

const first = (a: Day, b: Day): Day => (a < b ? a : b)
const last = (a: Day, b: Day): Day => (a < b ? b : a)

/** The calendar months, `YYYY-MM`, that a range touches, up to the later of the months of its end in the extractor's zone and in Mexico City. */
export function monthsOf({ from, to }: Range, timezone: string): string[] {
  const end = last(localDayOf(to, timezone), localDayOf(to, MEXICO)).slice(0, 7)
  const months: string[] = []
  for (let month = from.slice(0, 7); month <= end; month = monthAfter(month)) months.push(month)
  return months
}

const monthAfter = (month: string): string =>
  new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 1)).toISOString().slice(0, 7)
