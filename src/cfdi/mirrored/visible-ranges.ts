import { type SQL, sql } from 'drizzle-orm'
import { earliestOf, latestOf, type Window, type Windows } from '../../taxpayers/visibility/window.ts'
import { cfdiAs } from '../columns.ts'

/** Documents of a direction between bounds, all of them inclusive but `before`. Null is no bound. */
export interface VisibleRange {
  direction: 0 | 1
  /** Of issued_at, in seconds. */
  since: number | null
  until: number | null
  /** Literal days. */
  floor: string | null
  before: string | null
}

const DAY_SECONDS = 86_400
const NOTHING: Window = { isEmpty: true, floor: null, ceiling: null }

const sinceOf = (floor: string | null): number | null => (floor === null ? null : earliestOf(floor))
const untilOf = (ceiling: number | null): number | null => (ceiling === null ? null : Math.floor(ceiling / 1_000))

/** Whether the wider window shows everything that the other one shows. */
const contains = (wider: Window, other: Window): boolean =>
  other.isEmpty ||
  (!wider.isEmpty &&
    (wider.floor === null || (other.floor !== null && wider.floor <= other.floor)) &&
    (wider.ceiling === null || (other.ceiling !== null && wider.ceiling >= other.ceiling)))

/** Whether windows show everything that others show. */
export const contain = (wider: Windows, other: Windows): boolean =>
  contains(wider.issued, other.issued) && contains(wider.received, other.received)

/** The ranges of windows beyond those of narrower windows before, null for none. No document is in two of them. */
export const visibleRangesBetween = (before: Windows | null, now: Windows): VisibleRange[] => [
  ...widened(0, before?.issued ?? NOTHING, now.issued),
  ...widened(1, before?.received ?? NOTHING, now.received),
]

function widened(direction: 0 | 1, before: Window, now: Window): VisibleRange[] {
  if (now.isEmpty) return []
  const whole = { direction, since: sinceOf(now.floor), until: untilOf(now.ceiling), floor: now.floor, before: null }
  if (before.isEmpty) return [whole]
  const { floor, ceiling } = before
  const isEarlier = floor !== null && (now.floor === null || now.floor < floor)
  const isLater = ceiling !== null && (now.ceiling === null || now.ceiling > ceiling)
  const lastBefore = isEarlier ? latestOf(floor) - DAY_SECONDS : 0
  return [
    ...(isEarlier ? [{ ...whole, until: whole.until === null ? lastBefore : Math.min(whole.until, lastBefore), before: floor }] : []),
    ...(isLater ? [{ ...whole, since: untilOf(ceiling)! + 1, floor }] : []),
  ]
}

const c = cfdiAs('c')

/** A position in visible ranges: issued_at and UUID, both ascending. It does not change when a document is cancelled. */
export type VisibleRangePosition = readonly [issued_at: number, uuid: string]

/** The conditions that a row `c` lies in a visible range, behind a position. */
export const within = ({ direction, since, until, floor, before }: VisibleRange, after: VisibleRangePosition | null): SQL[] => [
  sql`${c.direction} = ${direction}`,
  ...(after && after[0] >= (since ?? after[0])
    ? [sql`(${c.issued_at}, ${c.uuid}) > (${after[0]}, ${after[1]})`]
    : since === null
      ? []
      : [sql`${c.issued_at} >= ${since}`]),
  ...(until === null ? [] : [sql`${c.issued_at} <= ${until}`]),
  ...(floor === null ? [] : [sql`+${c.fecha} >= ${floor}`]),
  ...(before === null ? [] : [sql`+${c.fecha} < ${before}`]),
]
