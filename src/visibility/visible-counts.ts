import { shows, type Window } from './window.ts'

/** One document that was created, got its XML or was cancelled. */
export interface DocumentChange {
  what: 'created' | 'updated' | 'cancelled'
  /** Literal local time. */
  fecha: string
  /** Seconds since 1970. */
  issued_at: number
}

/** Of one literal day: created, updated, cancelled; first and last issued_at in seconds. */
type Day = [created: number, updated: number, cancelled: number, first: number, last: number]

/**
 * What a slice brought, as far as windows can tell it apart: floors cut between literal days, ceilings at an instant, which is not
 * long before that of the job. So what was issued from then on stands by itself, and the rest is counted by day.
 */
export interface SliceCounts {
  days: Record<string, Day>
  late: DocumentChange[]
}

/** How long before the job's instant a ceiling may lie to be told exactly, in seconds. */
const LATE = 3_600

export interface VisibleCounts {
  created_count: number
  updated_count: number
  cancelled_count: number
  /** Seconds since 1970. */
  first_issued_at: number | null
  last_issued_at: number | null
}

const place = { created: 0, updated: 1, cancelled: 2 } as const

/** Counts what a slice brought for a job with this instant, in milliseconds. */
export function countSlice(changes: readonly DocumentChange[], as_of: number): SliceCounts {
  const tally: SliceCounts = { days: {}, late: [] }
  for (const change of changes) {
    const { what, fecha, issued_at } = change
    if (issued_at > as_of / 1_000 - LATE) {
      tally.late.push(change)
      continue
    }
    const key = fecha.slice(0, 10)
    tally.days[key] ??= [0, 0, 0, issued_at, issued_at]
    const day = tally.days[key]
    day[place[what]]++
    day[3] = Math.min(day[3], issued_at)
    day[4] = Math.max(day[4], issued_at)
  }
  return tally
}

/** What of all this a window shows. A day that a ceiling cuts, long before the job, counts as hidden. */
export function visibleCounts(window: Window, tallies: readonly SliceCounts[]): VisibleCounts {
  const counts: [number, number, number] = [0, 0, 0]
  let first: number | null = null
  let last: number | null = null
  const span = (from: number, to: number) => {
    first = Math.min(first ?? from, from)
    last = Math.max(last ?? to, to)
  }
  for (const { days, late } of tallies) {
    for (const [fecha, [created, updated, cancelled, from, to]] of Object.entries(days)) {
      if (!shows(window, { fecha, issued_at: to })) continue
      counts[0] += created
      counts[1] += updated
      counts[2] += cancelled
      span(from, to)
    }
    for (const change of late) {
      if (!shows(window, change)) continue
      counts[place[change.what]]++
      span(change.issued_at, change.issued_at)
    }
  }
  return { created_count: counts[0], updated_count: counts[1], cancelled_count: counts[2], first_issued_at: first, last_issued_at: last }
}
