import type { Connection } from '../platform/tenant.ts'

/** What of an RFC’s documents an organization may read: literal days from the floor on, instants up to the ceiling. */
export interface Window {
  /** Nothing at all is visible: there was no extraction yet. */
  readonly isEmpty: boolean
  /** First literal day, `YYYY-MM-DD`; null when everything back to the first document is visible. */
  readonly floor: string | null
  /** Last instant, milliseconds, inclusive; null when everything up to the last document is visible. */
  readonly ceiling: number | null
}

type Bounds = Pick<Connection, 'visible_from' | 'visible_to'>

/** The first day of which the authority has documents: a floor here hides nothing. */
const EARLIEST_DAY = '2018-01-01'

export const EVERYTHING: Window = { isEmpty: false, floor: null, ceiling: null }
export const NOTHING: Window = { isEmpty: true, floor: null, ceiling: null }

/** The window of a connection. Without extractors everything is visible; before the first extraction nothing is. */
export const windowOf = (extractor_count: number, bounds: Bounds): Window => (extractor_count === 0 ? EVERYTHING : reachOf(bounds))

/** What the extractions of a connection have reached: the part of its window that nothing shrinks, with extractors or without. */
export const reachOf = ({ visible_from, visible_to }: Bounds): Window =>
  visible_from === null || visible_to === null ? NOTHING : { isEmpty: false, floor: visible_from, ceiling: visible_to }

/** Whether something held, or holdable, for the RFC is hidden; `latest` is the greatest ceiling of anybody's connection to it. */
export const isBounded = ({ isEmpty, floor, ceiling }: Window, latest: number | null): boolean =>
  isEmpty || (floor !== null && floor > EARLIEST_DAY) || (ceiling !== null && latest !== null && ceiling < latest)

/** Whether the window shows a document: `fecha` is its literal local time, `issued_at` its instant in seconds. */
export const shows = ({ isEmpty, floor, ceiling }: Window, { fecha, issued_at }: { fecha: string; issued_at: number }): boolean =>
  !isEmpty && (floor === null || fecha.slice(0, 10) >= floor) && (ceiling === null || issued_at * 1_000 <= ceiling)

/** The greatest and the least offset of a Mexican zone (CFDI are stamped in the zone of their place of issue). */
const EASTMOST_HOURS = 5
const WESTMOST_HOURS = 8

const midnight = (day: string): number => Date.parse(`${day}T00:00:00Z`) / 1_000

/** The first second that belongs to a literal day in any Mexican zone. */
export const earliestOf = (day: string): number => midnight(day) + EASTMOST_HOURS * 3_600

/** The last second that belongs to a literal day in any Mexican zone. */
export const latestOf = (day: string): number => midnight(day) + (24 + WESTMOST_HOURS) * 3_600 - 1

/** The first literal day that a bound in seconds leaves open in some Mexican zone: earlier days are whole. Null without a bound. */
export const firstOpenDay = (until: number | null): string | null =>
  until === null ? null : new Date((until + 1 - WESTMOST_HOURS * 3_600) * 1_000).toISOString().slice(0, 10)

/** The last second at which a literal day, or an earlier one, is still on in every Mexican zone. */
export const endingOf = (day: string): number => earliestOf(day) + 24 * 3_600 - 1
