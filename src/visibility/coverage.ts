import { lastDayOf } from '../platform/time/months.ts'
import type { Reach } from './reaches.ts'
import { earliestOf, latestOf, type Window } from './window.ts'

export const DATA_STATUSES = ['complete', 'downloading', 'missing'] as const
export type DataStatus = (typeof DATA_STATUSES)[number]

/**
 * A month that was downloaded completely: 1 when that was after its end, otherwise 0, and the instant in milliseconds from which on the
 * downloads that runs asked for were not complete again. Quiet days change neither.
 */
export type MonthCoverage = readonly [wasOver: 0 | 1, brokenFrom?: number]

/** The months of a source that were downloaded completely, by `YYYY-MM`. */
export type Coverage = Readonly<Record<string, MonthCoverage | undefined>>

/** How a download of a month ended. `incomplete`: the authority delivered files that could not be read. */
export interface DownloadEnd {
  outcome: 'complete' | 'incomplete' | 'failed'
  /** The instant of the run that asked for it, in milliseconds. */
  as_of: number
  /** The instant up to which it downloaded, in milliseconds. */
  until: number
}

/** The first millisecond at which no document can be issued in a month any more, whatever its zone. */
const endOf = (month: string): number => (latestOf(lastDayOf(month)) + 1) * 1_000

/** What is known of a month after a download of it has ended: the same object when nothing changes. Null when it never was complete. */
export function coverageAfter(before: MonthCoverage | null, month: string, { outcome, as_of, until }: DownloadEnd): MonthCoverage | null {
  if (outcome === 'complete') {
    const wasOver = before?.[0] === 1 || until >= endOf(month) ? 1 : 0
    return before?.[0] === wasOver && before[1] === undefined ? before : [wasOver]
  }
  if (before === null || (outcome === 'failed' && before[0] === 1) || (before[1] ?? Number.POSITIVE_INFINITY) <= as_of) return before
  return [before[0], as_of]
}

/** What is known of the months of a source, and what a connection may know of it. */
export interface MonthsOfSource {
  coverage: Coverage
  window: Window
  /** What the connection's own runs reached, in the order of their instants. */
  reaches: readonly Reach[]
  /** The queued and running jobs that its own runs created or joined: the instant, in milliseconds, of the run that created each, by month. */
  open: Readonly<Record<string, number | undefined>>
}

/**
 * Whether a month is complete for an organization: its own runs reached it, and since then it was downloaded completely. While it is fetched
 * again it stays complete. A month that the ceiling divides, or that is not over, is complete up to the last run. An organization without
 * extractors is told what is held.
 */
export function dataStatusOf(month: string, { coverage, window, reaches, open }: MonthsOfSource, now: number): DataStatus {
  const covered = coverage[month]
  const end = endOf(month)
  const isComplete = (): boolean => {
    if (covered === undefined || window.isEmpty) return false
    const [wasOver, brokenFrom = Number.POSITIVE_INFINITY] = covered
    const isEnough = (until: number): boolean => wasOver === 1 || until < end
    if (window.ceiling === null) return brokenFrom === Number.POSITIVE_INFINITY && isEnough(now)
    // The run of an open job, and those that joined it, wait for the job. The runs before it were answered by earlier jobs.
    const before = open[month] ?? Number.POSITIVE_INFINITY
    const begin = earliestOf(`${month}-01`) * 1_000
    const reached = reaches.findLast(({ at, from }) => at < before && at >= begin && from <= `${month}-01`)?.at
    if (reached === undefined || reached >= brokenFrom) return false
    return isEnough(window.ceiling) && (window.ceiling < end || reached >= end)
  }
  return isComplete() ? 'complete' : open[month] === undefined ? 'missing' : 'downloading'
}
