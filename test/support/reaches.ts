import { epochDayOf } from '../../src/platform/time/calendar.ts'
import { parseReaches } from '../../src/taxpayers/visibility/reaches.ts'

/** A run as a connection keeps it: its instant in milliseconds, and its floor. */
export type Kept = [at: number, floor: string]

/** Runs as the column of a connection has them. */
export function reachesOf(kept: readonly Kept[]): string {
  const reaches = kept.map(([at, floor]) => [at, epochDayOf(floor)] as const)
  const steps = reaches.slice(1).map(([at, day], n) => [at - reaches[n]![0], day - reaches[n]![1], 1])
  return JSON.stringify([...reaches.slice(-1).map((last) => [...last, kept.length]), ...steps])
}

/** Ranges of days that runs were asked for, as the column of a connection has them. */
export const rangesOf = (ranges: readonly (readonly [...Kept, to: string])[]): string =>
  JSON.stringify(ranges.map(([at, floor, to]) => [at, epochDayOf(floor), epochDayOf(to)]))

/** The runs of a column, in the order of their instants. */
export const keptOf = (text: string): Kept[] => parseReaches(text).map(({ at, floor }) => [at, floor])
