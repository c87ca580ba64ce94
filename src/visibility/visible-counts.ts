import { shows, type Window } from './window.ts'

/** A document that was created, got its XML or was cancelled. */
export interface DocumentChange {
  what: 'created' | 'updated' | 'cancelled'
  /** Literal local time. */
  fecha: string
  /** Seconds since 1970. */
  issued_at: number
}

/** The changes of one literal day, and the first and last issued_at among them in seconds. */
type DayCounts = [created: number, updated: number, cancelled: number, first: number, last: number]

/**
 * The changes of a slice, as finely as windows can divide them. Floors divide between literal days. Ceilings divide at an instant, which is
 * never long before that of the job. Therefore changes of documents issued shortly before that instant or later are kept one by one, and
 * all others are counted by day.
 */
export interface SliceCounts {
  days: Record<string, DayCounts>
  late: DocumentChange[]
}

/** How long before the job's instant a ceiling may lie and still be applied exactly, in seconds. */
const LATE_SECONDS = 3_600

/** The changes that a window shows. */
export interface VisibleCounts {
  created_count: number
  updated_count: number
  cancelled_count: number
  /** Seconds since 1970; null without changes. */
  first_issued_at: number | null
  last_issued_at: number | null
}

const PLACES = { created: 0, updated: 1, cancelled: 2 } as const

/** Counts the changes of a slice for a job with this instant, in milliseconds. */
export function countSlice(changes: readonly DocumentChange[], as_of: number): SliceCounts {
  const counts: SliceCounts = { days: {}, late: [] }
  for (const change of changes) {
    const { what, fecha, issued_at } = change
    if (issued_at > as_of / 1_000 - LATE_SECONDS) {
      counts.late.push(change)
      continue
    }
    const key = fecha.slice(0, 10)
    counts.days[key] ??= [0, 0, 0, issued_at, issued_at]
    const day = counts.days[key]
    day[PLACES[what]]++
    day[3] = Math.min(day[3], issued_at)
    day[4] = Math.max(day[4], issued_at)
  }
  return counts
}

/** Sums the changes that a window shows. A day that is divided by a ceiling long before the job counts as hidden. */
export function visibleCounts(window: Window, slices: readonly SliceCounts[]): VisibleCounts {
  const counts: [number, number, number] = [0, 0, 0]
  let first: number | null = null
  let last: number | null = null
  const include = (from: number, to: number) => {
    first = Math.min(first ?? from, from)
    last = Math.max(last ?? to, to)
  }
  for (const { days, late } of slices) {
    for (const [fecha, [created, updated, cancelled, from, to]] of Object.entries(days)) {
      if (!shows(window, { fecha, issued_at: to })) continue
      counts[0] += created
      counts[1] += updated
      counts[2] += cancelled
      include(from, to)
    }
    for (const change of late) {
      if (!shows(window, change)) continue
      counts[PLACES[change.what]]++
      include(change.issued_at, change.issued_at)
    }
  }
  return { created_count: counts[0], updated_count: counts[1], cancelled_count: counts[2], first_issued_at: first, last_issued_at: last }
}
