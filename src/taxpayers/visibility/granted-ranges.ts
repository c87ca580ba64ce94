import { dayOfEpoch } from '../../platform/time/calendar.ts'
import { type Bounds, latestOf } from './window.ts'

/** The documents of a source that one run of a connection reached: whole months, up to the instant of the run. */
export interface GrantedRange {
  /** The instant of the run, in milliseconds. */
  readonly at: number
  /** The first day, `YYYY-MM-DD`, of the run's range, which its window shows. */
  readonly floor: string
  /** The first day of that month, because whole months are downloaded. */
  readonly from: string
  /** The last day that was asked for, in a run for a range of days alone. Its window still reaches up to the instant. */
  readonly to?: string
}

/** The documents that some runs reached: from a literal day up to an instant in seconds. */
type VisibleRange = readonly [until: number, from: string]

interface Dated {
  fecha: string
  issued_at: number
}

const DAY_SECONDS = 86_400

/**
 * The granted ranges of a connection in the order of their instants, out of their stored text and that of the ranges of days among them
 * (taxpayers/widen-windows.ts).
 */
export function parseGrantedRanges(text: string, asked = '[]'): GrantedRange[] {
  const [last, ...steps] = JSON.parse(text) as [at: number, day: number, times: number][]
  if (!last) return []
  const ends = new Map((JSON.parse(asked) as [at: number, day: number, last: number][]).map(([at, day, end]) => [`${at}|${day}`, end]))
  let [at, day] = last
  const grantedRanges = [grantedRangeOn(at, day, ends)]
  for (const [milliseconds, days, times] of steps.reverse())
    for (let n = 0; n < times; n++) {
      at -= milliseconds
      day -= days
      grantedRanges.push(grantedRangeOn(at, day, ends))
    }
  return grantedRanges.reverse().sort((a, b) => a.at - b.at)
}

function grantedRangeOn(at: number, day: number, ends: ReadonlyMap<string, number>): GrantedRange {
  const [floor, end] = [dayOfEpoch(day), ends.get(`${at}|${day}`)]
  return { at, floor, from: `${floor.slice(0, 7)}-01`, ...(end !== undefined && { to: dayOfEpoch(end) }) }
}

/** When the connection's own runs first reached a document, in milliseconds. Undefined when none did. */
export const reachedAt = (grantedRanges: readonly GrantedRange[], { fecha, issued_at }: Dated): number | undefined =>
  grantedRanges.find(({ at, from }) => issued_at * 1_000 <= at && from <= fecha)?.at

/** The bounds that a connection's windows had at an instant, in milliseconds: its runs up to then made them. */
export const boundsAt = (issued: readonly GrantedRange[], received: readonly GrantedRange[], instant: number): Bounds => {
  const [one, other] = [issued, received].map((grantedRanges) => grantedRanges.filter(({ at }) => at <= instant))
  return { issued_from: floorOf(one!), issued_to: ceilingOf(one!), received_from: floorOf(other!), received_to: ceilingOf(other!) }
}

const floorOf = (grantedRanges: readonly GrantedRange[]): string | null => grantedRanges.map(({ floor }) => floor).sort()[0] ?? null
const ceilingOf = (grantedRanges: readonly GrantedRange[]): number | null =>
  grantedRanges.length === 0 ? null : Math.max(...grantedRanges.map(({ at }) => at))

/**
 * The fewest visible ranges with exactly the documents of some granted ranges. Two granted ranges make one visible range when no document
 * can be issued after the first one and dated before the second one. Usually there are one to three.
 */
export function visibleRangesOf(grantedRanges: readonly GrantedRange[]): VisibleRange[] {
  const visibleRanges: [until: number, from: string][] = []
  for (const { at, from } of grantedRanges.toSorted((a, b) => (a.from < b.from ? -1 : a.from > b.from ? 1 : b.at - a.at))) {
    const until = Math.floor(at / 1_000)
    const last = visibleRanges.at(-1)
    if (last && (until <= last[0] || latestOf(from) - DAY_SECONDS <= last[0])) last[0] = Math.max(last[0], until)
    else visibleRanges.push([until, from])
  }
  return visibleRanges
}
