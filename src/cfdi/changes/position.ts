import { type GrantedRange, visibleRangesOf } from '../../taxpayers/visibility/granted-ranges.ts'
import { EVERYTHING, isEverything, NOTHING, type Window, type Windows } from '../../taxpayers/visibility/window.ts'
import { contain, type VisibleRange, visibleRangesBetween } from '../mirrored/visible-ranges.ts'
import type { PageItem } from '../search/store.ts'
import { type ChangeReason, REASONS } from './contract.ts'

/** A change as it was found. Without an item, the document is removed. */
export interface NotifiedChange {
  uuid: string
  reasons: ChangeReason[]
  item: PageItem | null
}

/** The changes of an answer, each document once. */
export class ChangePage {
  readonly #limit: number
  readonly #changes = new Map<string, { reasons: Set<ChangeReason>; item: PageItem | null }>()

  /** The greatest of the commits that first stored what was put. */
  lastStored = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Puts a document as it was read last. False when there is no room for it. */
  put(uuid: string, reason: ChangeReason, item: PageItem | null, stored_by: number): boolean {
    const known = this.#changes.get(uuid)
    if (known === undefined && this.#changes.size === this.#limit) return false
    if (item?.context.partition.origin === 'authority') this.lastStored = Math.max(this.lastStored, stored_by)
    this.#changes.set(uuid, { reasons: new Set(known?.reasons).add(reason), item })
    return true
  }

  get left(): number {
    return this.#limit - this.#changes.size
  }

  changes(): NotifiedChange[] {
    return [...this.#changes].map(([uuid, { reasons, item }]) => ({
      uuid,
      item,
      reasons: REASONS.filter((one) => (item === null ? one === 'removed' : one !== 'removed' && reasons.has(one))),
    }))
  }
}

/** Where a leg continues: behind the last thing that was reported of it. */
export type LegCheckpoint = readonly (string | number)[]

/** How far the commits of a partition are reported: whole ones up to `sequence`, and `behind` names of the next. */
export interface Notified {
  sequence: number
  behind: number
}

/** A walk, leg by leg, through what the windows show beyond those already reported. */
interface Walk {
  to: Windows
  /** The documents stored up to this commit were reported before they ceased to be visible; 0 for none. */
  closed: number
  /** Whether it goes through the imports too. */
  imports: boolean
  /** `fingerprintOf` the granted ranges when it began. */
  reached?: string
  leg: number
  checkpoint: LegCheckpoint | null
}

/** The contents of a cursor: how far the changes of a fiscal entity are reported. */
export interface ChangesPosition {
  /** The windows of which everything has been reported; null before. */
  windows: Windows | null
  /** `fingerprintOf` the granted ranges up to these windows' ceilings: `updated_at` depends on them. */
  reached?: string
  walk: Walk | null
  authority: Notified
  imports: Notified
  /** The last commit of which a new document was reported while everything was visible. */
  everything: number
}

/** The last commits of both partitions. */
export interface Last {
  authority: number
  imports: number
}

const at = (sequence: number): Notified => ({ sequence, behind: 0 })

/** Begins with everything that there is. */
export const fromAll = (windows: Windows, last: Last): ChangesPosition => ({
  ...{ windows: null, authority: at(last.authority), imports: at(last.imports), everything: 0 },
  walk: walkTo(windows, { imports: last.imports > 0 }),
})

/** Begins with changes from now on. */
export const fromNow = (windows: Windows, last: Last): ChangesPosition => ({
  ...{ windows, walk: null, authority: at(last.authority), imports: at(last.imports) },
  everything: isEverything(windows) ? last.authority : 0,
})

const walkTo = (to: Windows, { closed = 0, imports = false } = {}): Walk => ({ to, closed, imports, leg: 0, checkpoint: null })

/** The windows of which anything may have been reported. */
export const notifiedIn = ({ windows, walk }: ChangesPosition): Windows => walk?.to ?? windows ?? NOTHING

const showNothing = ({ issued, received }: Windows): boolean => issued.isEmpty && received.isEmpty
const areSame = (one: Windows, other: Windows): boolean => contain(one, other) && contain(other, one)

/** Whether the windows begin to show something, so that earlier commits do not matter. */
export const isBlank = ({ windows, walk }: ChangesPosition, now: Windows): boolean =>
  walk === null && showNothing(windows ?? NOTHING) && !showNothing(now)

/** The position behind the authority's commits so far, because the windows are gone through from the beginning. */
export const startedAt = (position: ChangesPosition, last: Last): ChangesPosition => ({
  ...position,
  windows: null,
  authority: at(last.authority),
})

/** The position with a walk through everything that is shown, because commits do not say what they changed. */
export const restarted = (position: ChangesPosition, now: Windows): ChangesPosition => ({
  ...position,
  windows: null,
  walk: walkTo(now, { closed: position.walk?.closed ?? 0, imports: position.walk?.imports ?? false }),
})

type GrantedRangesOf = (direction: 0 | 1) => readonly GrantedRange[]

/** A short text that changes with one's own runs up to the ceilings of windows, when some are forgotten or revoked. */
function fingerprintOf({ issued, received }: Windows, grantedRangesOf: GrantedRangesOf): string {
  let [a, b] = [0x811c9dc5, 0x1b873593]
  for (const [direction, { isEmpty, ceiling }] of [issued, received].entries())
    for (const { at: instant, from } of isEmpty ? [] : grantedRangesOf(direction as 0 | 1)) {
      if (ceiling !== null && instant > ceiling) continue
      for (const one of `${direction}${instant}${from}`) {
        a = Math.imul(a ^ one.charCodeAt(0), 0x01000193)
        b = Math.imul(b + one.charCodeAt(0), 0x5bd1e995)
      }
    }
  return (a >>> 0).toString(36) + (b >>> 0).toString(36)
}

/** The position with the granted ranges that its walk begins with, or those of now. */
export const withReached = (position: ChangesPosition, grantedRangesOf: GrantedRangesOf): ChangesPosition =>
  position.walk === null
    ? { ...position, ...(position.windows && { reached: fingerprintOf(position.windows, grantedRangesOf) }) }
    : { ...position, walk: { ...position.walk, reached: position.walk.reached ?? fingerprintOf(position.walk.to, grantedRangesOf) } }

/** Whether the granted ranges behind what is reported are still the same. */
export function isReachedAlike(position: ChangesPosition, grantedRangesOf: GrantedRangesOf): boolean {
  const { reached } = position.walk ?? position
  return reached === undefined || reached === fingerprintOf(notifiedIn(position), grantedRangesOf)
}

/** The position behind its walk. */
export const walked = (position: ChangesPosition): ChangesPosition => {
  const { windows, reached, walk, ...rest } = position
  return walk === null ? position : { ...rest, windows: walk.to, ...(walk.reached && { reached: walk.reached }), walk: null }
}

/** The position with an import walk. */
export const withImports = (position: ChangesPosition): ChangesPosition => {
  const to = notifiedIn(position)
  return { ...position, walk: walkTo(to, { imports: true }) }
}

/**
 * The position with the walk that the windows of now need. They only grow, except when an organization without extractors, which sees
 * everything, gets one: then documents that it no longer sees are taken back, and all others are reported again, because payments after the
 * ceiling no longer count.
 */
export function resumed(position: ChangesPosition, now: Windows): ChangesPosition {
  const { windows, walk, everything } = position
  if (!contain(now, notifiedIn(position)))
    return {
      ...position,
      ...{ windows: null, everything: 0 },
      walk: walkTo(now, { closed: Math.max(everything, walk?.closed ?? 0), imports: walk?.imports ?? false }),
    }
  return walk !== null || (windows !== null && areSame(windows, now)) ? position : { ...position, walk: walkTo(now) }
}

/** Whether everything has been reported of these windows. */
export const isNotified = ({ windows, walk }: ChangesPosition, now: Windows): boolean =>
  walk === null && windows !== null && areSame(windows, now)

/** The instants of a direction that a ceiling newly reaches, in seconds, both inclusive. */
export interface Range {
  direction: 0 | 1
  since: number
  until: number | null
}

/** Documents that a walk reports as they are read. */
export interface RowsLeg {
  rows: 'shown' | 'imported'
  visibleRanges: readonly VisibleRange[]
}

/**
 * Documents that a walk names: those that are shown no more, those whose balance or place among substitutions depends on what a ceiling newly
 * reaches, and those that a run reached after others had shown them.
 */
export type NamesLeg =
  | { names: 'closed' | 'reached'; visibleRanges: readonly VisibleRange[] }
  | { names: 'applied' | 'substituted' | 'substituting'; ranges: readonly Range[] }

/** Visible ranges that one statement merges: each is two terms of five. */
const TOGETHER = 2

const grouped = (visibleRanges: readonly VisibleRange[]): (readonly VisibleRange[])[] =>
  Array.from({ length: Math.ceil(visibleRanges.length / TOGETHER) }, (_, n) => visibleRanges.slice(n * TOGETHER, (n + 1) * TOGETHER))

/** The steps of a scan: full rows first, then references. They depend on the walk alone. */
export function legsOf(
  { windows }: ChangesPosition,
  { to, closed, imports }: Walk,
  grantedRangesOf: (direction: 0 | 1) => readonly GrantedRange[],
): { rows: RowsLeg[]; names: NamesLeg[] } {
  const visibleRanges = visibleRangesBetween(windows, to)
  const [later, earlier] = [visibleRanges.filter(({ before }) => before === null), visibleRanges.filter(({ before }) => before !== null)]
  const ranges = windows === null ? [] : [...reached(0, windows.issued, to.issued), ...reached(1, windows.received, to.received)]
  const hidden = closed === 0 || isEverything(to) ? [] : visibleRangesBetween(to, EVERYTHING)
  const late =
    windows === null
      ? []
      : [...newlyOwn(0, windows.issued, to.issued, grantedRangesOf(0)), ...newlyOwn(1, windows.received, to.received, grantedRangesOf(1))]
  return {
    rows: [
      ...(imports ? [{ rows: 'imported', visibleRanges: visibleRangesBetween(null, EVERYTHING) } as const] : []),
      ...[...grouped(later), ...grouped(earlier)].map((some) => ({ rows: 'shown', visibleRanges: some }) as const),
    ],
    names: [
      ...grouped(hidden).map((some) => ({ names: 'closed', visibleRanges: some }) as const),
      ...(ranges.length === 0 ? [] : (['applied', 'substituted', 'substituting'] as const).map((names) => ({ names, ranges }))),
      ...grouped(late).map((some) => ({ names: 'reached', visibleRanges: some }) as const),
    ],
  }
}

const secondOf = (ceiling: number): number => Math.floor(ceiling / 1_000)

/** The instants that a ceiling newly reaches, whatever the floor: payments that it hides count too. */
const reached = (direction: 0 | 1, before: Window, now: Window): Range[] =>
  before.isEmpty || before.ceiling === null || before.ceiling === now.ceiling
    ? []
    : [{ direction, since: secondOf(before.ceiling) + 1, until: now.ceiling === null ? null : secondOf(now.ceiling) }]

/**
 * Documents that a window showed before a run of one's own reached them: `updated_at` is as of the first run that does. Usually there are
 * none. A window's ceiling is the instant of the last run.
 */
function newlyOwn(direction: 0 | 1, before: Window, now: Window, grantedRanges: readonly GrantedRange[]): VisibleRange[] {
  const { floor, ceiling } = before
  if (before.isEmpty || floor === null || ceiling === null || now.ceiling === null) return []
  const known = visibleRangesOf(grantedRanges.filter(({ at }) => at <= ceiling))
  const from = grantedRanges
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
