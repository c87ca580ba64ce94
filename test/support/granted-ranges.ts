import { epochDayOf } from '../../src/platform/time/calendar.ts'
import { parseGrantedRanges } from '../../src/taxpayers/visibility/granted-ranges.ts'

/** A run as a connection keeps it: its instant in milliseconds, and its floor. */
export type Kept = [at: number, floor: string]

/** Runs as the column of a connection has them. */
export function grantedRangesOf(kept: readonly Kept[]): string {
  const grantedRanges = kept.map(([at, floor]) => [at, epochDayOf(floor)] as const)
  const steps = grantedRanges.slice(1).map(([at, day], n) => [at - grantedRanges[n]![0], day - grantedRanges[n]![1], 1])
  return JSON.stringify([...grantedRanges.slice(-1).map((last) => [...last, kept.length]), ...steps])
}

/** Ranges of days that runs were asked for, as the column of a connection has them. */
export const rangesOf = (ranges: readonly (readonly [...Kept, to: string])[]): string =>
  JSON.stringify(ranges.map(([at, floor, to]) => [at, epochDayOf(floor), epochDayOf(to)]))

/** The runs of a column, in the order of their instants. */
export const keptOf = (text: string): Kept[] => parseGrantedRanges(text).map(({ at, floor }) => [at, floor])
