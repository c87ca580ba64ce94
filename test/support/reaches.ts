import { epochDayOf } from '../../src/platform/time/calendar.ts'
import { parseReaches } from '../../src/visibility/reaches.ts'

/** A run as a connection keeps it: its instant in milliseconds, and its floor. */
export type Kept = [at: number, floor: string]

/** Runs as the column of a connection has them. */
export const reachesOf = (kept: readonly Kept[]): string =>
  JSON.stringify(
    kept.map(([at, floor], n) => {
      const [before, day] = n === 0 ? [0, 0] : [kept[n - 1]![0], epochDayOf(kept[n - 1]![1])]
      return [at - before, epochDayOf(floor) - day, 1]
    }),
  )

/** The runs of a column, in the order of their instants. */
export const keptOf = (text: string): Kept[] => parseReaches(text).map(({ at, floor }) => [at, floor])
