import type { Connection } from '../../platform/tenant/tenant.ts'

/** The CFDIs of one direction that an organization may read: those from the floor, a literal day, up to the ceiling, an instant. */
export interface Window {
  /** Nothing is visible, because no run has reached anything yet. */
  readonly isEmpty: boolean
  /** First literal day, `YYYY-MM-DD`; null when everything back to the first document is visible. */
  readonly floor: string | null
  /** Last instant in milliseconds, inclusive; null when everything up to the last document is visible. */
  readonly ceiling: number | null
}

/** The windows of an organization on the issued and on the received CFDIs of an RFC: each source has its own. */
export interface Windows {
  readonly issued: Window
  readonly received: Window
}

/** Nothing reached yet; the floors hide what the authority has or had; or they hide nothing. Ceilings make no difference: they move on with each run. */
export type WindowState = 'empty' | 'bounded' | 'open'

export type Bounds = Pick<Connection, 'issued_from' | 'issued_to' | 'received_from' | 'received_to'>

/** The first day for which the authority has documents: a floor on this day hides nothing. */
export const EARLIEST_DAY = '2018-01-01'

const UNBOUNDED: Window = { isEmpty: false, floor: null, ceiling: null }
const EMPTY: Window = { isEmpty: true, floor: null, ceiling: null }

export const EVERYTHING: Windows = { issued: UNBOUNDED, received: UNBOUNDED }
export const NOTHING: Windows = { issued: EMPTY, received: EMPTY }

/** Both directions as the ledger stores them, and as the API names them. */
export const DIRECTIONS = [0, 1] as const
export const DIRECTION_NAMES = ['issued', 'received'] as const

/** The windows of a connection. Without extractors everything is visible; before the first run of a source nothing of it is. */
export const windowsOf = (extractor_count: number, bounds: Bounds): Windows =>
  extractor_count === 0 ? EVERYTHING : reachedWindowsOf(bounds)

/** The windows that the runs of a connection have reached. They never shrink, with extractors or without. */
export const reachedWindowsOf = ({ issued_from, issued_to, received_from, received_to }: Bounds): Windows => ({
  issued: between(issued_from, issued_to),
  received: between(received_from, received_to),
})

const between = (floor: string | null, ceiling: number | null): Window =>
  floor === null || ceiling === null ? EMPTY : { isEmpty: false, floor, ceiling }

const isUnbounded = ({ isEmpty, floor, ceiling }: Window): boolean => !isEmpty && floor === null && ceiling === null

/** Whether windows hide nothing. */
export const isEverything = ({ issued, received }: Windows): boolean => isUnbounded(issued) && isUnbounded(received)

/** The windows that show what both show. */
export const intersectionOf = (one: Windows, other: Windows): Windows => ({
  issued: bothOf(one.issued, other.issued),
  received: bothOf(one.received, other.received),
})

function bothOf(one: Window, other: Window): Window {
  if (one.isEmpty || other.isEmpty) return EMPTY
  const floor = (one.floor ?? '') > (other.floor ?? '') ? one.floor : other.floor
  const ceilings = [one, other].flatMap(({ ceiling }) => ceiling ?? [])
  return { isEmpty: false, floor, ceiling: ceilings.length === 0 ? null : Math.min(...ceilings) }
}

/** The window from the earlier floor to the later ceiling of both. */
export function combinedWindowOf({ issued, received }: Windows): Window {
  if (issued.isEmpty || received.isEmpty) return issued.isEmpty ? received : issued
  const floor = issued.floor === null || received.floor === null ? null : issued.floor < received.floor ? issued.floor : received.floor
  const ceiling = issued.ceiling === null || received.ceiling === null ? null : Math.max(issued.ceiling, received.ceiling)
  return { isEmpty: false, floor, ceiling }
}

/** The state of an organization's windows on an RFC. It follows from its own runs alone, so that it tells nothing of others. */
export const windowStateOf = ({ issued, received }: Windows): WindowState => {
  if (issued.isEmpty && received.isEmpty) return 'empty'
  return isBounded(issued) || isBounded(received) ? 'bounded' : 'open'
}

const isBounded = ({ isEmpty, floor }: Window): boolean => isEmpty || (floor !== null && floor > EARLIEST_DAY)

/** Whether a window shows a document of its direction: `fecha` is its literal local time, `issued_at` its instant in seconds. */
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

/** The first literal day that is not over in every zone at an instant in seconds; all earlier days are complete. */
export const firstOpenDay = (at: number): string => new Date((at + 1 - WESTERNMOST_HOURS * 3_600) * 1_000).toISOString().slice(0, 10)

/** The last literal day that has begun in any zone at an instant in seconds; of later days there is no document yet. */
export const lastBegunDay = (at: number): string => new Date((at - EASTERNMOST_HOURS * 3_600) * 1_000).toISOString().slice(0, 10)

/** The first second of a day in UTC−6, where most documents are issued. */
export const centralStartOf = (day: string): number => midnight(day) + 6 * 3_600
