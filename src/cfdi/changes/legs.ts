import { type Reach, stretchesOf } from '../../taxpayers/visibility/reaches.ts'
import { EVERYTHING, type Window } from '../../taxpayers/visibility/window.ts'
import { type Stretch, stretchesBetween } from '../mirrored/stretches.ts'
import { type ChangesPosition, isEverything, type Walk } from './position.ts'

/** What a ceiling newly reaches: instants of a direction in seconds, both inclusive. */
export interface Range {
  direction: 0 | 1
  since: number
  until: number | null
}

/** Documents that a walk tells as they are read. */
export interface RowsLeg {
  rows: 'shown' | 'imported'
  stretches: readonly Stretch[]
}

/**
 * Documents that a walk names: those that are shown no more, those whose balance or place among substitutions depends on what a ceiling newly
 * reaches, and those that a run reached after others had shown them.
 */
export type NamesLeg =
  | { names: 'closed' | 'reached'; stretches: readonly Stretch[] }
  | { names: 'applied' | 'substituted' | 'substituting'; ranges: readonly Range[] }

/** Stretches that one statement merges: each is two terms of five. */
const TOGETHER = 2

const grouped = (stretches: readonly Stretch[]): (readonly Stretch[])[] =>
  Array.from({ length: Math.ceil(stretches.length / TOGETHER) }, (_, n) => stretches.slice(n * TOGETHER, (n + 1) * TOGETHER))

/** The legs of a walk: first those that tell, then those that name. They follow from the walk alone, whatever happens meanwhile. */
export function legsOf(
  { windows }: ChangesPosition,
  { to, closed, imports }: Walk,
  reachesOf: (direction: 0 | 1) => readonly Reach[],
): { rows: RowsLeg[]; names: NamesLeg[] } {
  const stretches = stretchesBetween(windows, to)
  const [later, earlier] = [stretches.filter(({ before }) => before === null), stretches.filter(({ before }) => before !== null)]
  const ranges = windows === null ? [] : [...reached(0, windows.issued, to.issued), ...reached(1, windows.received, to.received)]
  const hidden = closed === 0 || isEverything(to) ? [] : stretchesBetween(to, EVERYTHING)
  const late =
    windows === null
      ? []
      : [...newlyOwn(0, windows.issued, to.issued, reachesOf(0)), ...newlyOwn(1, windows.received, to.received, reachesOf(1))]
  return {
    rows: [
      ...(imports ? [{ rows: 'imported', stretches: stretchesBetween(null, EVERYTHING) } as const] : []),
      ...[...grouped(later), ...grouped(earlier)].map((some) => ({ rows: 'shown', stretches: some }) as const),
    ],
    names: [
      ...grouped(hidden).map((some) => ({ names: 'closed', stretches: some }) as const),
      ...(ranges.length === 0 ? [] : (['applied', 'substituted', 'substituting'] as const).map((names) => ({ names, ranges }))),
      ...grouped(late).map((some) => ({ names: 'reached', stretches: some }) as const),
    ],
  }
}

const secondOf = (ceiling: number): number => Math.floor(ceiling / 1_000)

/** What a ceiling newly reaches, whatever the floor: payments count although the floor hides them. */
const reached = (direction: 0 | 1, before: Window, now: Window): Range[] =>
  before.isEmpty || before.ceiling === null || before.ceiling === now.ceiling
    ? []
    : [{ direction, since: secondOf(before.ceiling) + 1, until: now.ceiling === null ? null : secondOf(now.ceiling) }]

/**
 * What a window showed already and no run of one's own had reached: `updated_at` is as of the first one that does. Usually there is nothing. A
 * window's ceiling is the instant of the last run.
 */
function newlyOwn(direction: 0 | 1, before: Window, now: Window, reaches: readonly Reach[]): Stretch[] {
  const { floor, ceiling } = before
  if (before.isEmpty || floor === null || ceiling === null || now.ceiling === null) return []
  const known = stretchesOf(reaches.filter(({ at }) => at <= ceiling))
  const from = reaches
    .filter(({ at }) => at > ceiling && at <= now.ceiling!)
    .map((one) => one.from)
    .sort()[0]
  if (from === undefined) return []
  const first = from < floor ? floor : from
  const gaps = [...known, null].map((next, n) => ({ since: n === 0 ? null : known[n - 1]![0] + 1, before: next === null ? null : next[1] }))
  return gaps
    .filter((gap) => (gap.before === null || first < gap.before) && (gap.since === null || gap.since <= secondOf(ceiling)))
    .map((gap) => ({ direction, ...gap, until: secondOf(ceiling), floor: first }))
}
