import type { Leg, Place } from '../../cfdi/mirrored/mirrored.ts'
import { ofImports } from '../../cfdi/mirrored/mirrored.ts'
import { contain, stretchesBetween } from '../../cfdi/mirrored/stretches.ts'
import type { Window, Windows } from '../../taxpayers/visibility/window.ts'
import type { MirroredKind } from '../kinds.ts'

/** What has been dealt with of a fiscal entity (tables.ts). */
export interface Copied {
  sequence: number
  import_sequence: number
  windows: Windows | null
  all_until: number
}

/** The last commits of a partition of the authority and of imports, and the windows, when a round begins. */
export interface Now {
  sequence: number
  import_sequence: number
  windows: Windows
}

/**
 * The documents that are not CFDIs, and those of the mailbox, are legs of their own: each finds what is not copied yet. So are the CFDIs that
 * the destination refused.
 */
export type RoundLeg = Leg | { documents: 'sources' | 'mailbox' } | { refused: true }

/** Whether any of these kinds is one that a leg finds. */
export const isLegOf = (leg: RoundLeg, kinds: readonly MirroredKind[]): boolean => {
  if (!('documents' in leg)) return kinds.includes('cfdi_xml')
  return leg.documents === 'mailbox' ? kinds.includes('buzon') : kinds.some((kind) => kind !== 'cfdi_xml' && kind !== 'buzon')
}

/** Where a round continues: in a leg, at a place of it. A place of documents is the last one. */
export interface RoundPosition {
  leg: number
  place: Place | string
}

/** What is copied until everything is dealt with that there was when the round began. */
export interface CopyRound {
  /** What has been dealt with at its end. */
  to: Copied
  legs: RoundLeg[]
  at: RoundPosition
  /** For a round of a backfill, how many documents it copies. */
  total?: number
}

const isUnbounded = ({ isEmpty, floor, ceiling }: Window): boolean => !isEmpty && floor === null && ceiling === null
const isEverything = ({ issued, received }: Windows): boolean => isUnbounded(issued) && isUnbounded(received)

/**
 * Returns the legs that lead from what has been dealt with to what there is now. Windows only grow, except that an organization without
 * extractors, which sees everything, gets one: then the commits up to which it saw everything are remembered instead of the windows, and
 * imports, which the authority's documents may have hidden, are looked through again.
 */
export function legsTo(copied: Copied, now: Now): { legs: Leg[]; to: Copied } {
  const isNarrower = copied.windows !== null && !contain(now.windows, copied.windows)
  const all_until = isNarrower && isEverything(copied.windows!) ? copied.sequence : copied.all_until
  const shown = isNarrower ? null : copied.windows
  const stretches = stretchesBetween(shown, now.windows)
  const imported = isNarrower ? 0 : copied.import_sequence
  const legs: Leg[] = [
    ...(stretches.length > 0 && now.sequence > all_until
      ? [{ of: 'authority', stretches, after: all_until, until: now.sequence } as const]
      : []),
    ...(shown !== null && now.sequence > copied.sequence
      ? [{ of: 'authority', windows: shown, after: copied.sequence, until: now.sequence } as const]
      : []),
    ...(now.import_sequence > imported ? [ofImports(imported, now.import_sequence)] : []),
  ]
  return { legs, to: { ...now, all_until } }
}
