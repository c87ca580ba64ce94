import { LATEST_STAMP_MS, lastDayOf } from '../../platform/time/months.ts'
import type { GrantedRange } from './granted-ranges.ts'
import { earliestOf, latestOf, type Window } from './window.ts'

export const DATA_STATUSES = ['complete', 'downloading', 'missing', 'imported'] as const
export type DataStatus = (typeof DATA_STATUSES)[number]

/** The finest statuses of the downloads of a month. */
export const MONTH_STATUSES = ['complete', 'partial', 'requested', 'missing', 'unobtainable'] as const
export type MonthStatus = (typeof MONTH_STATUSES)[number]

const FOLDED = {
  ...{ complete: 'complete', partial: 'downloading', requested: 'downloading' },
  ...{ missing: 'missing', unobtainable: 'missing' },
} as const satisfies Record<MonthStatus, DataStatus>

/** The data status that stands for the status of a month. */
export const dataStatusFor = (status: MonthStatus): DataStatus => FOLDED[status]

/** How a download of a month ended: complete before the month was over or after it, with parts that are not stored, or failed. */
type End = 'so_far' | 'over' | 'incomplete' | 'failed'

/**
 * The changes in how the downloads of a month ended: each counts from the instant in milliseconds of the run that asked for it. Quiet days
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

/** A download ends a little before the instant of its request, and clocks differ a little. */
const LATE_MS = 5 * 60_000

/** Changes that are kept of a month; authorities that fail every other day for a month are rare. */
const MOST_CHANGES = 30

/** Milliseconds at which something of a month changes. */
interface Span {
  /** The first one at which a document of it can be issued, in the first zone. */
  begin: number
  /** The first one at which none can be issued any more, in any zone. */
  end: number
  /** The first one at which it is over: no document of it can be stamped any more. */
  over: number
}

const spans = new Map<string, Span>()

/** Cached: a page shows the status of all months of its windows, and a span depends on the calendar alone. */
function spanOf(month: string): Span {
  const known = spans.get(month)
  if (known) return known
  const end = (latestOf(lastDayOf(month)) + 1) * 1_000
  const span = { begin: earliestOf(`${month}-01`) * 1_000, end, over: end + LATEST_STAMP_MS }
  // Somebody may ask for any month, not only for the ledgers'.
  if (spans.size < 1_000) spans.set(month, span)
  return span
}

/** The coverage of a month after a download of it: the same object when nothing changes. */
export function coverageAfter(before: MonthCoverage, month: string, { joined = 0, ...ended }: EndedDownload): MonthCoverage {
  const after = afterDownload(before, month, ended)
  const isLate = joined > ended.as_of && isShortOf(ended.until, joined, month)
  // The download ends before the instant of the run that joined it: for that run the month is not complete.
  return isLate && ended.outcome === 'complete' ? afterDownload(after, month, { ...ended, outcome: 'incomplete', as_of: joined }) : after
}

/** Whether a download up to an instant lacks a part of the month for a run of another instant. */
export const isShortOf = (until: number, instant: number, month: string): boolean => until < Math.min(instant, spanOf(month).end) - LATE_MS

function afterDownload(before: MonthCoverage, month: string, { outcome, as_of, until }: EndedDownload): MonthCoverage {
  const [since, last] = before.at(-1) ?? [0, null]
  // The download ends before the instant of its run.
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

/** Whether the last download of a month brought all that the month had then. */
export const isWhole = (covered: MonthCoverage): boolean => ['so_far', 'over'].includes(covered.at(-1)?.[1] ?? '')

/** The downloads of the months of a source, and how much of them a connection may know. */
export interface MonthsOfSource {
  coverage: Coverage
  window: Window
  /** The connection's granted ranges, in the order of their instants. */
  grantedRanges: readonly GrantedRange[]
  /**
   * The queued and running jobs that its own runs created or joined: the instant, in milliseconds, of the run that created each, by month.
   */
  open: Readonly<Record<string, number | undefined>>
  /** The first second that the tax authority gives now. */
  oldest: string
}

/** The state of a month for an organization. */
export interface MonthState {
  status: MonthStatus
  /** The instant, in milliseconds, of the last of its own runs whose download of the month was complete. */
  succeeded_at: number | null
}

/** How far a month is at the ceiling of a window. It is over 72 hours after its end: until then its documents may be stamped. */
type Stage = 'running' | 'ended' | 'over'

/** The ends with which the download that counts completes a month. */
const COMPLETE_WITH: Readonly<Record<Stage, readonly End[]>> = {
  running: ['so_far', 'over'],
  ended: ['so_far', 'over'],
  over: ['over'],
}

/** A download of a month, as an answer to a run: the instant of the run in milliseconds, and how the download ended. */
interface Answer {
  at: number
  end: End
}

/**
 * The answers to a connection's own runs, in their order. A download that answered several runs counts for the last. Runs since the instant
 * of an open job wait for it, and so does the last run, which may have joined it late. Others were answered before.
 */
function answersOf(month: string, { coverage, grantedRanges, open }: MonthsOfSource): Answer[] {
  const covered = coverage[month] ?? []
  const { begin } = spanOf(month)
  const first = `${month}-01`
  const asksFor = ({ at, from, to }: GrantedRange) => at >= begin && from <= first && (to === undefined || month <= to.slice(0, 7))
  const job = open[month]
  const awaited = job === undefined ? Number.POSITIVE_INFINITY : Math.min(job, grantedRanges.findLast(asksFor)?.at ?? job)
  return covered.flatMap(([as_of, end], n) => {
    const until = Math.min(covered[n + 1]?.[0] ?? awaited, awaited)
    const run = grantedRanges.findLast((one) => one.at < until && (n === 0 || one.at >= as_of) && asksFor(one))
    return run ? [{ at: run.at, end }] : []
  })
}

/**
 * The state of a month for an organization, by the downloads that its own runs asked for.
 *
 * | at the ceiling, the month … | the download that counts | complete with |
 * |---|---|---|
 * | is running | the last one | `so_far`, `over`; not when a later run waits for an answer |
 * | has ended | the last one since its end that did not fail | `so_far`, `over` |
 * | is over | the last one since then that did not fail | `over` |
 *
 * Therefore a month that has ended stays complete while it is fetched again. Downloads that only others asked for are missing. An
 * organization without extractors sees what is stored. `missingXml` is the number of documents of the month that it sees without the XML
 * that the authority delivers: a month with any is not complete.
 */
export function monthStateOf(month: string, source: MonthsOfSource, now: number, missingXml = 0): MonthState {
  const { coverage, window, open, oldest } = source
  const { end: ended, over } = spanOf(month)
  const answers = answersOf(month, source)
  const seen = window.ceiling === null ? (coverage[month] ?? []).map(([, end]): Answer => ({ at: now, end })) : answers
  const ceiling = window.ceiling ?? now
  const stage: Stage = ceiling >= over ? 'over' : ceiling >= ended ? 'ended' : 'running'
  const since = { running: Number.NEGATIVE_INFINITY, ended, over }[stage]
  const counts = seen.findLast(({ at, end }) => at >= since && (stage === 'running' || end !== 'failed'))
  const last = answers.at(-1)
  // Documents issued since the last answer are unknown: the job of a later run is open, or that run asked for other months.
  const isAhead = stage === 'running' && window.ceiling !== null && last !== undefined && last.at < ceiling - LATE_MS
  const isComplete = !window.isEmpty && !isAhead && counts !== undefined && COMPLETE_WITH[stage].includes(counts.end)
  const succeeded_at = answers.findLast(({ end }) => end === 'over' || end === 'so_far')?.at ?? null
  if (isComplete && missingXml === 0) return { status: 'complete', succeeded_at }
  if (open[month] !== undefined) return { status: 'requested', succeeded_at }
  if (`${month}-01T00:00:00` < oldest) return { status: 'unobtainable', succeeded_at }
  const brought = seen.findLast(({ end }) => end !== 'failed')?.end
  const isPartial = !window.isEmpty && (missingXml > 0 || brought === 'incomplete' || (isAhead && brought !== undefined))
  return { status: isPartial ? 'partial' : 'missing', succeeded_at }
}
