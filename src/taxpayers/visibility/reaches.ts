import { dayOfEpoch } from '../../platform/time/calendar.ts'
import { type Bounds, latestOf } from './window.ts'

/** What one run of a connection reached of a source: the documents of whole months, up to the instant of the run. */
export interface Reach {
  /** The instant of the run, in milliseconds. */
  readonly at: number
  /** The first day, `YYYY-MM-DD`, of the run's range, which its window shows. */
  readonly floor: string
  /** The first day of that month, because whole months are downloaded. */
  readonly from: string
  /** The last day that the run asked for, when it was asked for a range of days alone. Its window reaches up to the instant all the same. */
  readonly to?: string
}

/** The documents that some runs reached: from a literal day up to an instant in seconds. */
type Stretch = readonly [until: number, from: string]

interface Dated {
  fecha: string
  issued_at: number
}

const DAY_SECONDS = 86_400

/**
 * The reaches of a connection out of the texts in which they and the ranges among them are stored (taxpayers/login-answers.ts), in the order of their
 * instants.
 */
export function parseReaches(text: string, asked = '[]'): Reach[] {
  const [last, ...steps] = JSON.parse(text) as [at: number, day: number, times: number][]
  if (!last) return []
  const ends = new Map((JSON.parse(asked) as [at: number, day: number, last: number][]).map(([at, day, end]) => [`${at}|${day}`, end]))
  let [at, day] = last
  const reaches = [reachOn(at, day, ends)]
  for (const [milliseconds, days, times] of steps.reverse())
    for (let n = 0; n < times; n++) {
      at -= milliseconds
      day -= days
      reaches.push(reachOn(at, day, ends))
    }
  return reaches.reverse().sort((a, b) => a.at - b.at)
}

function reachOn(at: number, day: number, ends: ReadonlyMap<string, number>): Reach {
  const [floor, end] = [dayOfEpoch(day), ends.get(`${at}|${day}`)]
  return { at, floor, from: `${floor.slice(0, 7)}-01`, ...(end !== undefined && { to: dayOfEpoch(end) }) }
}

/** When the connection's own runs first reached a document, in milliseconds. Undefined when none did. */
export const reachedAt = (reaches: readonly Reach[], { fecha, issued_at }: Dated): number | undefined =>
  reaches.find(({ at, from }) => issued_at * 1_000 <= at && from <= fecha)?.at

/** The bounds that a connection's windows had at an instant, in milliseconds: its runs up to then made them. */
export const boundsAt = (issued: readonly Reach[], received: readonly Reach[], instant: number): Bounds => {
  const [one, other] = [issued, received].map((reaches) => reaches.filter(({ at }) => at <= instant))
  return { issued_from: floorOf(one!), issued_to: ceilingOf(one!), received_from: floorOf(other!), received_to: ceilingOf(other!) }
}

const floorOf = (reaches: readonly Reach[]): string | null => reaches.map(({ floor }) => floor).sort()[0] ?? null
const ceilingOf = (reaches: readonly Reach[]): number | null => (reaches.length === 0 ? null : Math.max(...reaches.map(({ at }) => at)))

/**
 * The fewest stretches that hold the documents of some reaches and no others. Two reaches make one stretch when no document can be issued
 * after the first one and dated before the second one. Usually there are one to three.
 */
export function stretchesOf(reaches: readonly Reach[]): Stretch[] {
  const stretches: [until: number, from: string][] = []
  for (const { at, from } of reaches.toSorted((a, b) => (a.from < b.from ? -1 : a.from > b.from ? 1 : b.at - a.at))) {
    const until = Math.floor(at / 1_000)
    const last = stretches.at(-1)
    if (last && (until <= last[0] || latestOf(from) - DAY_SECONDS <= last[0])) last[0] = Math.max(last[0], until)
    else stretches.push([until, from])
  }
  return stretches
}
