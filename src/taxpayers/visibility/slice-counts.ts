/** A document that was created, got its XML or was cancelled. */
export interface DocumentChange {
  what: 'created' | 'updated' | 'cancelled'
  /** Literal local time. */
  fecha: string
  /** Seconds since 1970. */
  issued_at: number
  /** Since when a document that is not new has been stored, in seconds since 1970: it may have been stamped long after it was issued. */
  stored_at?: number
}

/**
 * Documents of one literal day, between two boundaries, with the same change, the first and last issued_at among them in seconds, and the
 * last stored_at if that is later.
 */
export type CountedChanges = [what: DocumentChange['what'], day: string, count: number, first: number, last: number, stored?: number]

/**
 * The changes of a slice, counted as finely as organizations need. Floors divide between literal days; ceilings and the ends of earlier
 * jobs divide at an instant. Those that are known at the commit of the slice are its boundaries. A ceiling that is not known is never long
 * before the download. Therefore changes of documents issued shortly before the download or later are kept one by one, and all others are
 * counted by day, separately on both sides of a boundary.
 */
export type SliceCounts = CountedChanges[]

/** From some instant, changes are kept one by one. A ceiling may lie this many seconds before that instant and is still applied exactly. */
const LATE_SECONDS = 3_600

/** Counts the changes of a slice, one by one from an instant on, in milliseconds. The boundaries are in seconds since 1970. */
export function countSlice(changes: readonly DocumentChange[], as_of: number, boundaries: readonly number[]): SliceCounts {
  const sideOf = (at: number): number => boundaries.filter((boundary) => boundary < at).length
  const days = new Map<string, CountedChanges>()
  const late: SliceCounts = []
  for (const { what, fecha, issued_at, stored_at = issued_at } of changes) {
    const day = fecha.slice(0, 10)
    const isLate = issued_at > as_of / 1_000 - LATE_SECONDS
    const key = isLate ? String(late.length) : `${what} ${day} ${sideOf(issued_at)} ${sideOf(Math.max(issued_at, stored_at))}`
    const [, , count, first, last, stored = last] = days.get(key) ?? [what, day, 0, issued_at, issued_at]
    const counted: CountedChanges = [what, day, count + 1, Math.min(first, issued_at), Math.max(last, issued_at)]
    if (Math.max(stored, stored_at) > counted[4]) counted.push(Math.max(stored, stored_at))
    if (isLate) late.push(counted)
    else days.set(key, counted)
  }
  return [...days.values(), ...late]
}
