/** A document that was created, got its XML or was cancelled. */
export interface DocumentChange {
  what: 'created' | 'updated' | 'cancelled'
  /** Literal local time. */
  fecha: string
  /** Seconds since 1970. */
  issued_at: number
}

/** Documents of one literal day to which the same happened, with the first and last issued_at among them in seconds. */
export type CountedChanges = [what: DocumentChange['what'], day: string, count: number, first: number, last: number]

/**
 * The changes of a slice, as finely as windows can divide them. Floors divide between literal days. Ceilings divide at an instant, which is
 * never long before that of the job. Therefore changes of documents issued shortly before that instant or later are kept one by one, and
 * all others are counted by day.
 */
export type SliceCounts = CountedChanges[]

/** How long before the job's instant a ceiling may lie and still be applied exactly, in seconds. */
const LATE_SECONDS = 3_600

/** Counts the changes of a slice for a job with this instant, in milliseconds. */
export function countSlice(changes: readonly DocumentChange[], as_of: number): SliceCounts {
  const days = new Map<string, CountedChanges>()
  const late: SliceCounts = []
  for (const { what, fecha, issued_at } of changes) {
    const day = fecha.slice(0, 10)
    if (issued_at > as_of / 1_000 - LATE_SECONDS) {
      late.push([what, day, 1, issued_at, issued_at])
      continue
    }
    const [, , count, first, last] = days.get(`${what} ${day}`) ?? [what, day, 0, issued_at, issued_at]
    days.set(`${what} ${day}`, [what, day, count + 1, Math.min(first, issued_at), Math.max(last, issued_at)])
  }
  return [...days.values(), ...late]
}
