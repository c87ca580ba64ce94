/** A document that was created, got its XML or was cancelled. */
export interface DocumentChange {
  what: 'created' | 'updated' | 'cancelled'
  /** Literal local time. */
  fecha: string
  /** Seconds since 1970. */
  issued_at: number
}

/**
 * Documents of one literal day, between two boundaries, to which the same happened, with the first and last issued_at among them in seconds.
 */
export type CountedChanges = [what: DocumentChange['what'], day: string, count: number, first: number, last: number]

/**
 * The changes of a slice, as finely as they are divided when they are counted for an organization. Floors divide between literal days.
 * Ceilings and the ends of earlier jobs divide at an instant. Those that are known when the slice is committed are its boundaries; a ceiling
 * that is not is never long before the download. Therefore changes of documents issued shortly before that or later are kept one by one, and
 * all others are counted by day, apart on both sides of a boundary.
 */
export type SliceCounts = CountedChanges[]

/** How long before the instant from which on changes are kept one by one a ceiling may lie and still be applied exactly, in seconds. */
const LATE_SECONDS = 3_600

/** Counts the changes of a slice, one by one from an instant on, in milliseconds. The boundaries are in seconds since 1970. */
export function countSlice(changes: readonly DocumentChange[], as_of: number, boundaries: readonly number[]): SliceCounts {
  const days = new Map<string, CountedChanges>()
  const late: SliceCounts = []
  for (const { what, fecha, issued_at } of changes) {
    const day = fecha.slice(0, 10)
    if (issued_at > as_of / 1_000 - LATE_SECONDS) {
      late.push([what, day, 1, issued_at, issued_at])
      continue
    }
    const key = `${what} ${day} ${boundaries.filter((boundary) => boundary < issued_at).length}`
    const [, , count, first, last] = days.get(key) ?? [what, day, 0, issued_at, issued_at]
    days.set(key, [what, day, count + 1, Math.min(first, issued_at), Math.max(last, issued_at)])
  }
  return [...days.values(), ...late]
}
