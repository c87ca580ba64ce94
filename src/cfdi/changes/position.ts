import type { Reach } from '../../taxpayers/visibility/reaches.ts'
import { EVERYTHING, NOTHING, type Windows } from '../../taxpayers/visibility/window.ts'
import { contain } from '../mirrored/stretches.ts'

/** Where a leg continues: behind the last thing that was told of it. */
export type WalkPlace = readonly (string | number)[]

/** How far the commits of a partition are told: whole ones up to one, and so many names of the next. */
export interface Told {
  sequence: number
  behind: number
}

/** Goes through what the windows show beyond those that are told already, leg by leg. */
export interface Walk {
  to: Windows
  /** Of what ended to be visible, the documents stored up to this commit were told; 0 for none. */
  closed: number
  /** Whether it goes through the imports too. */
  imports: boolean
  /** `fingerprintOf` the reaches when it began. */
  reached?: string
  leg: number
  place: WalkPlace | null
}

/** What a cursor knows: everything that has been told of one fiscal entity. */
export interface ChangesPosition {
  /** The windows of which everything has been told; null before. */
  windows: Windows | null
  /** `fingerprintOf` the reaches up to these windows' ceilings: `updated_at` depends on them. */
  reached?: string
  walk: Walk | null
  authority: Told
  imports: Told
  /** While everything was visible: the last commit of which a new document was told. */
  everything: number
}

/** The last commits of both partitions. */
export interface Last {
  authority: number
  imports: number
}

const at = (sequence: number): Told => ({ sequence, behind: 0 })

/** Begins with everything that there is. */
export const fromAll = (windows: Windows, last: Last): ChangesPosition => ({
  ...{ windows: null, authority: at(last.authority), imports: at(last.imports), everything: 0 },
  walk: walkTo(windows, { imports: last.imports > 0 }),
})

/** Begins with what comes from now on. */
export const fromNow = (windows: Windows, last: Last): ChangesPosition => ({
  ...{ windows, walk: null, authority: at(last.authority), imports: at(last.imports) },
  everything: isEverything(windows) ? last.authority : 0,
})

const walkTo = (to: Windows, { closed = 0, imports = false } = {}): Walk => ({ to, closed, imports, leg: 0, place: null })

/** The windows of which anything may have been told. */
export const toldIn = ({ windows, walk }: ChangesPosition): Windows => walk?.to ?? windows ?? NOTHING

export const isEverything = (windows: Windows): boolean => contain(windows, EVERYTHING)
const showNothing = ({ issued, received }: Windows): boolean => issued.isEmpty && received.isEmpty
const areSame = (one: Windows, other: Windows): boolean => contain(one, other) && contain(other, one)

/** Whether the windows begin to show something, so that what was committed before is of no interest. */
export const isBlank = ({ windows, walk }: ChangesPosition, now: Windows): boolean =>
  walk === null && showNothing(windows ?? NOTHING) && !showNothing(now)

/** The position with all that the authority's commits have not told, because the windows are gone through from the beginning. */
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

type ReachesOf = (direction: 0 | 1) => readonly Reach[]

/** A short text that is another one when one's own runs up to the ceilings of windows are others: some are forgotten, or were struck. */
function fingerprintOf({ issued, received }: Windows, reachesOf: ReachesOf): string {
  let [a, b] = [0x811c9dc5, 0x1b873593]
  for (const [direction, { isEmpty, ceiling }] of [issued, received].entries())
    for (const { at: instant, from } of isEmpty ? [] : reachesOf(direction as 0 | 1)) {
      if (ceiling !== null && instant > ceiling) continue
      for (const one of `${direction}${instant}${from}`) {
        a = Math.imul(a ^ one.charCodeAt(0), 0x01000193)
        b = Math.imul(b + one.charCodeAt(0), 0x5bd1e995)
      }
    }
  return (a >>> 0).toString(36) + (b >>> 0).toString(36)
}

/** The position with the reaches that its walk begins with, or those of now. */
export const withReached = (position: ChangesPosition, reachesOf: ReachesOf): ChangesPosition =>
  position.walk === null
    ? { ...position, ...(position.windows && { reached: fingerprintOf(position.windows, reachesOf) }) }
    : { ...position, walk: { ...position.walk, reached: position.walk.reached ?? fingerprintOf(position.walk.to, reachesOf) } }

/** Whether the reaches on which what is told depends are still the same. */
export function isReachedAlike(position: ChangesPosition, reachesOf: ReachesOf): boolean {
  const { reached } = position.walk ?? position
  return reached === undefined || reached === fingerprintOf(toldIn(position), reachesOf)
}

/** The position behind its walk. */
export const walked = (position: ChangesPosition): ChangesPosition => {
  const { windows, reached, walk, ...rest } = position
  return walk === null ? position : { ...rest, windows: walk.to, ...(walk.reached && { reached: walk.reached }), walk: null }
}

/** The same for the imports. */
export const withImports = (position: ChangesPosition): ChangesPosition => {
  const to = toldIn(position)
  return { ...position, walk: walkTo(to, { imports: true }) }
}

/**
 * The position with the walk that the windows of now ask for. They only grow, except that an organization without extractors, which sees
 * everything, gets one: then what it was told and sees no more is taken back, and everything that is left is told again, because payments
 * after the ceiling count no more.
 */
export function resumed(position: ChangesPosition, now: Windows): ChangesPosition {
  const { windows, walk, everything } = position
  if (!contain(now, toldIn(position)))
    return {
      ...position,
      ...{ windows: null, everything: 0 },
      walk: walkTo(now, { closed: Math.max(everything, walk?.closed ?? 0), imports: walk?.imports ?? false }),
    }
  return walk !== null || (windows !== null && areSame(windows, now)) ? position : { ...position, walk: walkTo(now) }
}

/** Whether everything has been told of these windows. */
export const isTold = ({ windows, walk }: ChangesPosition, now: Windows): boolean =>
  walk === null && windows !== null && areSame(windows, now)
