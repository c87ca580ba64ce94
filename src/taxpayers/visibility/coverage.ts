import { LATEST_STAMP_MS, lastDayOf } from '../../platform/time/months.ts'
import type { GrantedRange } from './granted-ranges.ts'
import { earliestOf, latestOf, type Window } from './window.ts'

export const DATA_STATUSES = ['complete', 'downloading', 'missing'] as const
export type DataStatus = (typeof DATA_STATUSES)[number]

/** What an organization learns of the downloads of a month, most finely. */
export const MONTH_STATUSES = ['complete', 'partial', 'requested', 'missing', 'unobtainable'] as const
export type MonthStatus = (typeof MONTH_STATUSES)[number]

const FOLDED = {
  ...{ complete: 'complete', partial: 'downloading', requested: 'downloading' },
  ...{ missing: 'missing', unobtainable: 'missing' },
} as const satisfies Record<MonthStatus, DataStatus>

/** The data status that stands for the status of a month. */
export const dataStatusFor = (status: MonthStatus): DataStatus => FOLDED[status]

/** How a download of a month ended: complete before the month was over or after it, with something that is not stored, or failed. */
type End = 'so_far' | 'over' | 'incomplete' | 'failed'

/**
 * How the downloads of a month ended, where it changed: each from the instant in milliseconds of the run that asked for it, on. Quiet days
 * change nothing.
 */
export type MonthCoverage = readonly (readonly [as_of: number, end: End])[]

/** The months of a source that were downloaded, by `YYYY-MM`. */
export type Coverage = Readonly<Record<string, MonthCoverage | undefined>>

/** A download that has ended. `incomplete`: not everything that the authority announces was delivered and could be read. */
export interface EndedDownload {
  outcome: 'complete' | 'incomplete' | 'failed'
  /** The instant of the run that asked for it, in milliseconds. */
  as_of: number
  /** The instant up to which it downloaded, in milliseconds. */
  until: number
  /** The instant of the last run that joined it, in milliseconds. */
  joined?: number
}

/** What is asked for ends a little before the instant at which it is, and clocks differ a little. */
const LATE_MS = 5 * 60_000

/** Changes that are kept of a month; authorities that fail every other day for a month are rare. */
const MOST_CHANGES = 30

/** Milliseconds at which something of a month changes. */
interface Span {
  /** The first one at which a document can be issued in it, in the first zone. */
  begin: number
  /** The first one at which none can be issued any more, whatever its zone. */
  end: number
  /** The first one at which it is over: no document of it can be stamped any more. */
  over: number
}

const spans = new Map<string, Span>()

/** A page tells the status of all months of its windows, so that what depends on the calendar alone is kept. */
function spanOf(month: string): Span {
  const known = spans.get(month)
  if (known) return known
  const end = (latestOf(lastDayOf(month)) + 1) * 1_000
  const span = { begin: earliestOf(`${month}-01`) * 1_000, end, over: end + LATEST_STAMP_MS }
  // Other than months of the ledgers, somebody may ask for any month.
  if (spans.size < 1_000) spans.set(month, span)
  return span
}

/** What is known of a month after a download of it: the same object when nothing changes. */
export function coverageAfter(before: MonthCoverage, month: string, { joined = 0, ...ended }: EndedDownload): MonthCoverage {
  const after = afterDownload(before, month, ended)
  const isLate = joined > ended.as_of && isShortOf(ended.until, joined, month)
  // What was asked for before a run joined it ends before that run: for it the month is not complete.
  return isLate && ended.outcome === 'complete' ? afterDownload(after, month, { ...ended, outcome: 'incomplete', as_of: joined }) : after
}

/** Whether a download up to an instant lacks something of a month that a run of another instant asked for. */
export const isShortOf = (until: number, instant: number, month: string): boolean => until < Math.min(instant, spanOf(month).end) - LATE_MS

function afterDownload(before: MonthCoverage, month: string, { outcome, as_of, until }: EndedDownload): MonthCoverage {
  const [since, last] = before.at(-1) ?? [0, null]
  // What it asked for ends before what it was asked for.
  const isCut = outcome === 'complete' && isShortOf(until, as_of, month)
  const end: End = isCut
    ? 'incomplete'
    : outcome !== 'complete'
      ? outcome
      : last === 'over' || until >= spanOf(month).over
        ? 'over'
        : 'so_far'
  // Another organization's request already completed this month.
  const isMade = outcome === 'failed' && as_of <= since && (last === 'over' || last === 'so_far')
  return end === last || isMade ? before : [...before, [Math.max(since, as_of), end] as const].slice(-MOST_CHANGES)
}

/** Whether the last download of a month brought everything that it had then. */
export const isWhole = (covered: MonthCoverage): boolean => ['so_far', 'over'].includes(covered.at(-1)?.[1] ?? '')

/** What is known of the months of a source, and what a connection may know of it. */
export interface MonthsOfSource {
  coverage: Coverage
  window: Window
  /** What the connection's own runs reached, in the order of their instants. */
  grantedRanges: readonly GrantedRange[]
  /**
   * The queued and running jobs that its own runs created or joined: the instant, in milliseconds, of the run that created each, by month.
   */
  open: Readonly<Record<string, number | undefined>>
  /** The first second that the tax authority gives now. */
  oldest: string
}

/** What an organization learns of a month. */
export interface MonthState {
  status: MonthStatus
  /** The instant, in milliseconds, of the last of its own runs whose download of the month was complete. */
  succeeded_at: number | null
}

/**
 * What an organization learns of a month, by the downloads that its own runs asked for. It is complete by the last one that did not fail
 * since the month was over, or while it is not over since its end; and before its end, or when the ceiling divides it, by the last one. A
 * month is over 72 hours after its end, because its documents may be stamped until then. While a month that has ended is fetched again it
 * stays complete; one that has not is known only up to the last answer, and is complete when the window ends there.
 * What only others downloaded is missing. An organization without extractors sees what is stored. `missingXml` is the number of documents of
 * the month that it is shown without their XML although the authority delivers that: a month with any is not complete.
 */
export function monthStateOf(
  month: string,
  { coverage, window, grantedRanges, open, oldest }: MonthsOfSource,
  now: number,
  missingXml = 0,
): MonthState {
  const covered = coverage[month] ?? []
  const { begin, end, over } = spanOf(month)
  const job = open[month]
  const first = `${month}-01`
  const isAsked = ({ at, from, to }: GrantedRange) => at >= begin && from <= first && (to === undefined || month <= to.slice(0, 7))
  const asked = grantedRanges.findLast(isAsked)
  // The runs of an open job wait for it: those since its instant, and the last one, which may have joined it late. Others were answered
  // before.
  const awaited = job === undefined ? Number.POSITIVE_INFINITY : Math.min(job, asked?.at ?? job)
  // Of the runs that one download answered, the last one tells all.
  const ofRuns = covered.flatMap(([as_of, ended], n) => {
    const until = Math.min(covered[n + 1]?.[0] ?? awaited, awaited)
    const run = grantedRanges.findLast((one) => one.at < until && (n === 0 || one.at >= as_of) && isAsked(one))
    return run ? [[run.at, ended] as const] : []
  })
  const ends = window.ceiling === null ? covered.map(([, ended]) => [now, ended] as const) : ofRuns
  const ceiling = window.ceiling ?? now
  const since = [over, end].find((from) => ceiling >= from)
  // Nothing is known of what was issued since the last answer: the job of a later run is open, or that run asked for other months.
  const answered = ofRuns.at(-1)?.[0]
  const isAhead = since === undefined && window.ceiling !== null && answered !== undefined && answered < ceiling - LATE_MS
  const last = since === undefined ? ends.at(-1) : ends.findLast(([at, ended]) => at >= since && ended !== 'failed')
  const isComplete = !window.isEmpty && !isAhead && (last?.[1] === 'over' || (since !== over && last?.[1] === 'so_far'))
  const [succeeded_at = null] = ofRuns.findLast(([, ended]) => ended === 'over' || ended === 'so_far') ?? []
  if (isComplete && missingXml === 0) return { status: 'complete', succeeded_at }
  if (job !== undefined) return { status: 'requested', succeeded_at }
  if (`${first}T00:00:00` < oldest) return { status: 'unobtainable', succeeded_at }
  const brought = ends.findLast(([, ended]) => ended !== undefined && ended !== 'failed')?.[1]
  const isPartial = !window.isEmpty && (missingXml > 0 || brought === 'incomplete' || (isAhead && brought !== undefined))
  return { status: isPartial ? 'partial' : 'missing', succeeded_at }
}
