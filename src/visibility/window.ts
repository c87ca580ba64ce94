import type { Connection } from '../platform/tenant.ts'

/** The documents of an RFC that an organization may read: those from the floor, a literal day, up to the ceiling, an instant. */
export interface Window {
  /** Nothing is visible, because no run has reached anything yet. */
  readonly isEmpty: boolean
  /** First literal day, `YYYY-MM-DD`; null when everything back to the first document is visible. */
  readonly floor: string | null
  /** Last instant in milliseconds, inclusive; null when everything up to the last document is visible. */
  readonly ceiling: number | null
}

type Bounds = Pick<Connection, 'visible_from' | 'visible_to'>

/** The first day for which the authority has documents: a floor on this day hides nothing. */
const EARLIEST_DAY = '2018-01-01'

export const EVERYTHING: Window = { isEmpty: false, floor: null, ceiling: null }
export const NOTHING: Window = { isEmpty: true, floor: null, ceiling: null }

/** The window of a connection. Without extractors everything is visible; before the first run nothing is. */
export const windowOf = (extractor_count: number, bounds: Bounds): Window => (extractor_count === 0 ? EVERYTHING : reachOf(bounds))

/** The window that the runs of a connection have reached. It never shrinks, with extractors or without. */
export const reachOf = ({ visible_from, visible_to }: Bounds): Window =>
  visible_from === null || visible_to === null ? NOTHING : { isEmpty: false, floor: visible_from, ceiling: visible_to }

/** Whether the window hides documents that the service has or can have. `latest` is the latest ceiling of any connection to the RFC. */
export const isBounded = ({ isEmpty, floor, ceiling }: Window, latest: number | null): boolean =>
  isEmpty || (floor !== null && floor > EARLIEST_DAY) || (ceiling !== null && latest !== null && ceiling < latest)

/** Whether the window shows a document: `fecha` is its literal local time, `issued_at` its instant in seconds. */
export const shows = ({ isEmpty, floor, ceiling }: Window, { fecha, issued_at }: { fecha: string; issued_at: number }): boolean =>
  !isEmpty && (floor === null || fecha.slice(0, 10) >= floor) && (ceiling === null || issued_at * 1_000 <= ceiling)

/** How many hours Mexico's time zones are behind UTC. A CFDI is dated in the zone of its place of issue. */
const EASTERNMOST_HOURS = 5
const WESTERNMOST_HOURS = 8

const midnight = (day: string): number => Date.parse(`${day}T00:00:00Z`) / 1_000

/** The first second that belongs to a literal day in any of the zones. */
export const earliestOf = (day: string): number => midnight(day) + EASTERNMOST_HOURS * 3_600

/** The last second that belongs to a literal day in any of the zones. */
export const latestOf = (day: string): number => midnight(day) + (24 + WESTERNMOST_HOURS) * 3_600 - 1

/** The first literal day that is not over in every zone at a bound in seconds; all earlier days are complete. Null without a bound. */
export const firstOpenDay = (until: number | null): string | null =>
  until === null ? null : new Date((until + 1 - WESTERNMOST_HOURS * 3_600) * 1_000).toISOString().slice(0, 10)

/** The last second of a literal day in the easternmost zone: until then no zone has a later day. */
export const endingOf = (day: string): number => earliestOf(day) + 24 * 3_600 - 1
