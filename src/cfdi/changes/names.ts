import type { Touched } from '../commits/touched.ts'
import type { ChangeReason } from './contract.ts'
import type { NamesLeg } from './legs.ts'
import type { ChangesPosition, Told, WalkPlace } from './position.ts'
import { COMMITS, type HiddenRow, type LegName, type NamedCommit } from './store.ts'

/** A document that may have changed, and the position once it is dealt with. */
export interface Name {
  /** Null where there is only a position to move on to. */
  uuid: string | null
  /** `authority` and `imports` are looked for where they lie; what is `closed` is shown no more by the authority's partition. */
  of: 'authority' | 'imports' | 'closed'
  reason: ChangeReason | 'stored'
  /** The ceiling, in seconds, from which on a reader is shown the change. */
  from: number | null
  /** The commit that names it. */
  commit: number
  behind: (position: ChangesPosition) => ChangesPosition
}

/** Looked at in one answer. */
const MOST_NAMES = 5_000

const onTo =
  (leg: number, place: WalkPlace) =>
  (position: ChangesPosition): ChangesPosition =>
    position.walk === null ? position : { ...position, walk: { ...position.walk, leg, place } }

const LEG_REASONS = { closed: 'removed', applied: 'payment', substituting: 'substituted', reached: 'appeared' } as const

/** What a leg names. `n` is its number; `isClosed` says whether a document that is shown no more is to be taken back. */
export function namesOfLeg(leg: NamesLeg, n: number, rows: readonly LegName[], isClosed: (row: HiddenRow) => boolean): Name[] {
  return rows.map((row): Name => {
    const { uuid, at, by, nth } = row
    const isItself = uuid === by
    // Payments are told as what they are, and end only the list of what they name.
    const isNamed = leg.names === 'closed' ? isClosed({ ...(row as HiddenRow), issued_at: at }) : leg.names !== 'applied' || !isItself
    return {
      uuid: isNamed ? uuid : null,
      of: leg.names === 'closed' ? 'closed' : 'authority',
      reason: leg.names === 'substituted' ? (isItself ? 'substituted' : 'payment') : LEG_REASONS[leg.names],
      from: null,
      commit: 0,
      behind: onTo(n, 'stretches' in leg ? [at, by] : [at, by, nth]),
    }
  })
}

/** What commits name, until one is missing or does not name everything: then `isCut`, and the last name moves on to it. */
export function namesOfCommits(
  of: 'authority' | 'imports',
  commits: readonly NamedCommit[],
  told: Told,
  fiscal_entity_id: string,
): { names: Name[]; end: 'over' | 'more' | 'cut' | 'missing' } {
  const names: Name[] = []
  let next = told.sequence + 1
  for (const [n, { sequence, touched }] of commits.entries()) {
    if (sequence !== next) return { names, end: 'missing' }
    if (n === COMMITS || names.length >= MOST_NAMES) return { names, end: 'more' }
    const list = listed(touched, fiscal_entity_id)
    const skipped = next === told.sequence + 1 ? told.behind : 0
    for (const [k, [uuid, reason, from]] of list.entries())
      if (k >= skipped) names.push({ uuid, of, reason, from, commit: next, behind: to(of, { sequence: next - 1, behind: k + 1 }) })
    const { reason, from } = { reason: 'stored', from: null } as const
    names.push({ uuid: null, of, reason, from, commit: next, behind: to(of, { sequence: next, behind: 0 }) })
    if (touched.isCut) return { names, end: 'cut' }
    next++
  }
  return { names, end: 'over' }
}

const to =
  (of: 'authority' | 'imports', told: Told) =>
  (position: ChangesPosition): ChangesPosition => ({ ...position, [of]: told })

type Listed = readonly [uuid: string, reason: Name['reason'], from: number | null]

function listed(
  { stored = [], removed = [], cancelled = [], substituted = [], balances = [], checked = [] }: Touched,
  own: string,
): Listed[] {
  const all = (uuids: readonly string[], reason: Name['reason']) => uuids.map((uuid): Listed => [uuid, reason, null])
  const turned = (some: NonNullable<Touched['balances']>, reason: ChangeReason) => some.map(([uuid, from]): Listed => [uuid, reason, from])
  return [
    ...all(stored, 'stored'),
    ...all(cancelled, 'cancelled'),
    ...turned(substituted, 'substituted'),
    ...turned(balances, 'payment'),
    ...checked.flatMap(([uuid, by]): Listed[] => (by === own ? [[uuid, 'status', null]] : [])),
    ...all(removed, 'removed'),
  ]
}
