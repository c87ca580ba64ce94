import { listedOf } from '../../lists/listed/counterparties.ts'
import type { Ctx } from '../../platform/context.ts'
import { type CursorScope, openHidden, sealHidden } from '../../platform/paging/cursor.ts'
import { openLedger, type Partition, partitionsToRead, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { isEverything, shows, type Windows } from '../../taxpayers/visibility/window.ts'
import { lastCommits, type Touched } from '../commits.ts'
import { view } from '../read-row.ts'
import type { PageItem } from '../search/store.ts'
import type { CfdiChange, CfdiChanges, ChangeReason, ChangesQuery } from './contract.ts'
import {
  ChangePage,
  type ChangesPosition,
  fromAll,
  fromNow,
  isBlank,
  isNotified,
  isReachedAlike,
  type Last,
  type LegCheckpoint,
  legsOf,
  type NamesLeg,
  type Notified,
  type NotifiedChange,
  notifiedIn,
  restarted,
  resumed,
  startedAt,
  walked,
  withImports,
  withReached,
} from './position.ts'
import {
  type AskedName,
  COMMITS,
  type FoundName,
  findNamed,
  type HiddenRow,
  type LegName,
  NAMES,
  type NamedCommit,
  readNames,
  readRows,
} from './store.ts'

/** A document that may have changed, and the position once it is dealt with. */
export interface Name {
  /** Null where there is only a position to move on to. */
  uuid: string | null
  /** Where to look for it. A `closed` document is shown no more by the authority's partition. */
  of: 'authority' | 'imports' | 'closed'
  reason: ChangeReason | 'stored'
  /** The least ceiling, in seconds, that shows a reader the change. */
  from: number | null
  /** The commit that names it. */
  commit: number
  behind: (position: ChangesPosition) => ChangesPosition
}

/** The most names of one answer. */
const MOST_NAMES = 5_000

const onTo =
  (leg: number, checkpoint: LegCheckpoint) =>
  (position: ChangesPosition): ChangesPosition =>
    position.walk === null ? position : { ...position, walk: { ...position.walk, leg, checkpoint } }

const LEG_REASONS = { closed: 'removed', applied: 'payment', substituting: 'substituted', reached: 'appeared' } as const

/** The names of a leg. `n` is its number; `isClosed` says whether a document that is shown no more is to be taken back. */
export function namesOfLeg(leg: NamesLeg, n: number, rows: readonly LegName[], isClosed: (row: HiddenRow) => boolean): Name[] {
  return rows.map((row): Name => {
    const { uuid, at, by, nth } = row
    const isItself = uuid === by
    // A payment is reported elsewhere; here it only ends the list of what it names.
    const isNamed = leg.names === 'closed' ? isClosed({ ...(row as HiddenRow), issued_at: at }) : leg.names !== 'applied' || !isItself
    return {
      uuid: isNamed ? uuid : null,
      of: leg.names === 'closed' ? 'closed' : 'authority',
      reason: leg.names === 'substituted' ? (isItself ? 'substituted' : 'payment') : LEG_REASONS[leg.names],
      from: null,
      commit: 0,
      behind: onTo(n, 'visibleRanges' in leg ? [at, by] : [at, by, nth]),
    }
  })
}

/** The names of commits, until one is missing or does not name everything (`isCut`), to which the last name moves on. */
export function namesOfCommits(
  of: 'authority' | 'imports',
  commits: readonly NamedCommit[],
  notified: Notified,
  fiscal_entity_id: string,
): { names: Name[]; end: 'over' | 'more' | 'cut' | 'missing' } {
  const names: Name[] = []
  let next = notified.sequence + 1
  for (const [n, { sequence, touched }] of commits.entries()) {
    if (sequence !== next) return { names, end: 'missing' }
    if (n === COMMITS || names.length >= MOST_NAMES) return { names, end: 'more' }
    const list = listed(touched, fiscal_entity_id)
    const skipped = next === notified.sequence + 1 ? notified.behind : 0
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
  (of: 'authority' | 'imports', notified: Notified) =>
  (position: ChangesPosition): ChangesPosition => ({ ...position, [of]: notified })

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

/** Before this year Mexico City, whose zone metadata has, was an hour ahead in summer. */
const DAYLIGHT_SAVING_ENDED = '2023'

/** A document with the instant that it had while only metadata was known, which does not state its zone. */
export const asAnnounced = <Row extends { fecha: string; issued_at: number; utc_offset: number }>(row: Row): Row => ({
  ...row,
  issued_at: row.issued_at + (row.utc_offset + (row.fecha < DAYLIGHT_SAVING_ENDED ? 300 : 360)) * 60,
})

/** The changes of an answer, and the next position. */
export interface ReadChanges {
  changes: NotifiedChange[]
  position: ChangesPosition
  has_more: boolean
}

/**
 * A step of reading: the position behind it, and why it ends there: `full` when the answer has no room for the next change, `more` when the
 * step has read as much as it may at once.
 */
interface Step {
  position: ChangesPosition
  end: 'full' | 'more' | null
}

/** Names and documents that an answer looks at before it may end without being full: most downloads of others show a reader nothing. */
const MOST_READ = 20_000
const MOST_ROUNDS = 20

/** The state of reading one answer. */
interface Reading {
  ledger: ScopedLedger
  authority: Partition | undefined
  imports: Partition | undefined
  page: ChangePage
  /** Names and documents that were looked at. */
  looked: number
}

/**
 * Reads the next changes of a position; null begins. Documents that windows newly show come first, then those that commits name. A document
 * is read as it is now, and a later commit names each later change, so that nothing is lost between two answers.
 */
export async function readChanges(
  ledger: ScopedLedger,
  before: ChangesPosition | null,
  isNow: boolean,
  limit: number,
): Promise<ReadChanges> {
  const partitions = partitionsToRead(ledger)
  const [authority, imports] = (['authority', 'import'] as const).map((of) => partitions.find(({ origin }) => origin === of))
  const reading: Reading = { ledger, authority, imports, page: new ChangePage(limit), looked: 0 }
  const { windows } = ledger
  if (before === null && isNow)
    return { changes: [], position: withReached(fromNow(windows, await lastOf(ledger)), ledger.grantedRangesOf), has_more: false }
  let position = before ?? fromAll(windows, await lastOf(ledger))
  for (let round = 1; ; round++) {
    const begun = await resumedIn(reading, position)
    const shown = await readShown(reading, begun)
    const step = shown.end !== null ? shown : await readNamed(reading, shown.position)
    position = { ...step.position, everything: everythingIn(reading, step.position) }
    const has_more = step.end !== null || !isNotified(position, windows)
    if (!has_more || step.end === 'full' || reading.looked >= MOST_READ || round === MOST_ROUNDS)
      return { changes: reading.page.changes(), position, has_more }
  }
}

async function lastOf({ d1, entity, importPartition }: ScopedLedger): Promise<Last> {
  const last = await lastCommits(d1, importPartition === null ? [entity] : [entity, importPartition], Number.MAX_SAFE_INTEGER)
  return { authority: last.get(entity) ?? 0, imports: last.get(importPartition ?? 0) ?? 0 }
}

/** The position with the walk that it needs: through newly shown documents, or through everything when `updated_at` may have moved. */
async function resumedIn({ ledger }: Reading, position: ChangesPosition): Promise<ChangesPosition> {
  const { windows, grantedRangesOf } = ledger
  const begun = resumed(isBlank(position, windows) ? startedAt(position, await lastOf(ledger)) : position, windows)
  return withReached(isReachedAlike(position, grantedRangesOf) ? begun : restarted(begun, windows), grantedRangesOf)
}

/** The last commit that stored a document reported while everything was visible. When that ends, these documents are taken back. */
function everythingIn({ ledger, page }: Reading, { everything }: ChangesPosition): number {
  return isEverything(ledger.windows) ? Math.max(everything, page.lastStored) : everything
}

const windowFor = ({ issued, received }: Windows, { direction }: { direction: number }) => (direction === 0 ? issued : received)
const isIn = (windows: Windows, row: { direction: number; fecha: string; issued_at: number }): boolean =>
  shows(windowFor(windows, row), row)

/** Reports the documents of a walk, as far as there is room. One call, none without a walk. */
async function readShown(reading: Reading, position: ChangesPosition): Promise<Step> {
  const { ledger, authority, imports, page } = reading
  const { walk } = position
  if (walk === null) return { position, end: null }
  const { rows: all } = legsOf(position, walk, ledger.grantedRangesOf)
  if (walk.leg >= all.length) return { position, end: null }
  const legs = all.slice(walk.leg).map((leg) => ({ ...leg, partition: leg.rows === 'shown' ? authority! : imports! }))
  const rows = page.left + 1
  const found = await readRows(ledger, legs, walk.checkpoint, rows)
  for (const [n, list] of found.entries()) {
    let checkpoint = n === 0 ? walk.checkpoint : null
    const leg = walk.leg + n
    reading.looked += list.length
    for (const { item, stored_by } of list) {
      const { row } = item
      if (!page.put(row.uuid, 'appeared', item, stored_by)) return { position: on(position, leg, checkpoint), end: 'full' }
      checkpoint = [row.issued_at, row.uuid]
    }
    if (list.length === rows) return { position: on(position, leg, checkpoint), end: 'more' }
  }
  return { position: on(position, all.length, null), end: null }
}

const on = (position: ChangesPosition, leg: number, checkpoint: LegCheckpoint | null): ChangesPosition => ({
  ...position,
  walk: { ...position.walk!, leg, checkpoint },
})

/** Reports what the rest of a walk and the next commits name, as far as there is room. Two calls, one when they name nothing. */
async function readNamed(reading: Reading, position: ChangesPosition): Promise<Step> {
  const { ledger, authority, imports } = reading
  const { walk } = position
  const all = walk && legsOf(position, walk, ledger.grantedRangesOf)
  const first = all ? walk.leg - all.rows.length : 0
  const legs = all ? all.names.slice(first) : []
  const logs = [
    ...(authority ? [{ of: 'authority', number: authority.number } as const] : []),
    ...(imports ? [{ of: 'imports', number: imports.number } as const] : []),
  ]
  const read = await readNames(
    ledger,
    legs,
    walk?.checkpoint ?? null,
    logs.map(({ of, number }) => ({ number, after: position[of].sequence })),
  )
  const names: Name[] = []
  let isMore = false
  for (const [n, rows] of read.names.entries()) {
    names.push(
      ...namesOfLeg(legs[n]!, all!.rows.length + first + n, rows, (row) => row.stored_by <= walk!.closed && !isIn(ledger.windows, row)),
    )
    isMore = rows.length === NAMES
    if (isMore) break
  }
  if (!isMore && walk) names.push(moving(walked))
  for (const [n, { of }] of isMore ? [] : logs.entries()) {
    const { names: own, end } = namesOfCommits(of, read.commits[n]!, position[of], ledger.fiscal_entity_id)
    names.push(...own)
    isMore = end !== 'over' || isMore
    if (end === 'over' || end === 'more') continue
    const last = end === 'missing' ? await lastOf(ledger) : null
    const again = of === 'authority' ? (now: ChangesPosition) => restarted(now, ledger.windows) : withImports
    names.push(moving((now) => again(last === null ? now : { ...now, [of]: { sequence: last[of], behind: 0 } })))
    break
  }
  const step = await notifyNames(reading, position, names)
  return { ...step, end: step.end ?? (isMore ? 'more' : null) }
}

/** A name that only moves the position on. */
const moving = (behind: Name['behind']): Name => ({ uuid: null, of: 'authority', reason: 'stored', from: null, commit: 0, behind })

/** Reports names in order, as far as there is room. One call, none when nothing is named. */
async function notifyNames(reading: Reading, position: ChangesPosition, names: readonly Name[]): Promise<Step> {
  const { ledger, page } = reading
  reading.looked += names.length
  const rows = page.left + 1
  const askedOf = (isMeant: (one: Name) => boolean): AskedName[] =>
    names.flatMap((one, n): AskedName[] => (one.uuid !== null && isMeant(one) ? [[n, one.uuid]] : []))
  const found = await findNamed(
    ledger,
    reading,
    {
      authority: once(askedOf(({ of }) => of === 'authority')),
      imports: once(askedOf(({ of }) => of !== 'authority')),
      shown: askedOf(({ of, reason }) => of === 'imports' && reason === 'removed'),
    },
    rows,
  )
  const byUuid = (list: FoundName[]) => new Map(list.map((one) => [one.item.row.uuid, one]))
  const [authority, imports] = [byUuid(found.authority), byUuid(found.imports)]
  // Nothing is known of later names.
  const horizon = Math.min(
    ...[found.authority, found.imports].map((list) => (list.length === rows ? list.at(-1)!.n : Number.POSITIVE_INFINITY)),
  )
  const notified = notifiedIn(position)
  let now = position
  for (const [n, one] of names.entries()) {
    if (n > horizon) return { position: now, end: 'more' }
    const seen = one.uuid === null ? null : one.of === 'authority' ? authority.get(one.uuid) : imports.get(one.uuid)
    const change = one.uuid === null ? null : changeOf(one, seen ?? undefined, notified, ledger.windows, found.shown.has(n))
    if (change !== null && !page.put(one.uuid!, change.reason, change.item, seen?.stored_by ?? 0)) return { position: now, end: 'full' }
    now = one.behind(now)
  }
  return { position: now, end: null }
}

/** Each UUID once, under its first number. */
const once = (asked: readonly AskedName[]): AskedName[] =>
  [...new Map(asked.toReversed().map((one) => [one[1], one])).values()].sort(([a], [b]) => a - b)

/** The change that a name reports; null for none. `notified` are the windows of which anything has been reported. */
function changeOf(
  { of, reason, from, commit }: Name,
  seen: FoundName | undefined,
  notified: Windows,
  windows: Windows,
  isShown: boolean,
): { reason: ChangeReason; item: PageItem | null } | null {
  if (seen === undefined) return reason === 'removed' && !isShown ? { reason, item: null } : null
  const { item, stored_by } = seen
  const { row } = item
  const shownAs = reason === 'removed' ? 'appeared' : reason !== 'stored' ? reason : stored_by < commit ? 'xml' : 'appeared'
  if (of !== 'authority') return { reason: shownAs, item }
  if (!isIn(windows, row)) {
    // Its metadata lay before the ceiling, and its XML says that it does not.
    if (reason !== 'stored' || !isIn(notified, asAnnounced(row))) return null
    return seen.import ? { reason: 'appeared', item: seen.import } : { reason: 'removed', item: null }
  }
  const { ceiling } = windowFor(windows, row)
  if (!isIn(notified, row) || (from !== null && ceiling !== null && from * 1_000 > ceiling)) return null
  return { reason: shownAs, item }
}

/**
 * Returns what changed for the organization since the cursor. One call to the ledger when nothing has; else as many as fill the answer,
 * within bounds. Nobody can read a cursor, because its contents, such as the commits of the RFC, reveal the downloads of others.
 */
export async function listChanges(ctx: Ctx, { cursor, from, limit }: ChangesQuery): Promise<CfdiChanges> {
  const ledger = openLedger(ctx)
  const scope: CursorScope = { list: 'cfdi.changes', filters: { fiscal_entity_id: ledger.fiscal_entity_id } }
  const before = cursor === undefined ? null : await openHidden<ChangesPosition>(ctx, scope, cursor)
  const { changes, position, has_more } = await readChanges(ledger, before, from === 'now', limit)
  const listed = changes.some(({ item }) => item !== null) ? await listedOf(ctx) : undefined
  const viewed = ({ uuid, reasons, item }: NotifiedChange): CfdiChange => ({
    uuid,
    reasons,
    cfdi: item && view(item.row, item.context, listed),
  })
  return { data: changes.map(viewed), has_more, next_cursor: await sealHidden(ctx, scope, position) }
}
