import type { Ctx } from '../../platform/context.ts'
import type { Connection } from '../../platform/tenant/tenant.ts'
import { isReadable } from '../../taxpayers/connection.ts'
import { openLedger, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { earliestOf, latestOf, shows, type Window } from '../../taxpayers/visibility/window.ts'
import { readTouched } from '../commits.ts'
import { asAnnounced } from './changes.ts'
import {
  commitsBefore,
  findRows,
  type NamedDocument,
  type NewestDocument,
  readReached,
  type ShownRange,
  type StoredCommit,
  type WidenedRange,
} from './store.ts'

/**
 * How many commits of each RFC the rounds read, and how many documents they look at. Most RFCs are done after the first one, because their last
 * commit changed something that is shown.
 */
const ROUNDS = [
  { commits: 3, names: 30 },
  { commits: 30, names: 300 },
  { commits: 300, names: 3_000 },
  { commits: 1_000, names: 20_000 },
] as const
/** Documents that a round looks at of all RFCs together. */
const MOST_NAMES = 40_000
/** Documents of a commit that are looked at first, spread all over it. */
const FIRST = 10
/** The most runs that are looked at: the last that reached further back than those before. */
const WIDENINGS = 10

/** A connection, and when its last two runs widened its windows, in milliseconds, the last one first. */
export interface Followed {
  connection: Connection
  widened: readonly (number | null)[]
}

/** The last change and name of an RFC. */
export interface Latest {
  /** When something that the organization is shown last changed, in milliseconds; null before. */
  at: number | null
  /** The RFC's name on the newest document that it issued, else on the newest that it received; null without one. */
  name: string | null
}

/**
 * Returns the last visible change and the name of RFCs, by the number of the connection. Changes that only others are shown are skipped,
 * back to a bound beyond which nothing is looked for. Three calls for each ledger, and two more in each round in which some RFC is not
 * done.
 */
export async function latestChanges(ctx: Ctx, followed: readonly Followed[]): Promise<Map<number, Latest>> {
  const latest = new Map<number, Latest>()
  const readable = followed.filter(({ connection }) => isReadable(connection))
  await Promise.all(
    [...Map.groupBy(readable, ({ connection }) => connection.shard)].map(async ([shard, own]) => {
      const ledgers = own.map((one) => ({ ...one, ledger: openLedger({ ...ctx, connection: one.connection }) }))
      for (const [connection, one] of await latestIn(ctx.settings.ledgers[shard]!, ledgers)) latest.set(connection, one)
    }),
  )
  return latest
}

interface Opened extends Followed {
  ledger: ScopedLedger
}

async function latestIn(d1: D1Database, opened: readonly Opened[]): Promise<Map<number, Latest>> {
  const walks = opened.flatMap(({ ledger }, n) => [
    ...(ledger.window.isEmpty ? [] : [new Walk(n, ledger, ledger.entity)]),
    ...(ledger.importPartition === null ? [] : [new Walk(n, ledger, ledger.importPartition)]),
  ])
  const [, reached] = await Promise.all([walkAll(d1, walks), reachedIn(d1, opened)])
  return new Map(
    opened.map(({ connection }, n) => {
      const { instants, name } = reached[n]!
      const all = [...walks.flatMap((walk) => (walk.n === n ? (walk.found ?? []) : [])), ...instants]
      return [connection.connection, { at: all.length === 0 ? null : Math.max(...all), name }] as const
    }),
  )
}

/**
 * A document that a commit names, with the least ceiling that shows the change; `stored` when it or its XML was stored. Without a UUID,
 * something that is shown.
 */
type Name = readonly [at: number, uuid: string | null, from: number | 'stored' | null]

/** Goes through the commits of a partition, the last one first, until one changed something that is shown. */
class Walk {
  readonly n: number
  readonly ledger: ScopedLedger
  readonly number: number
  /** When the last change that is shown was committed. */
  found: number | null = null
  /** The commit before which others are to be read; null before the first. */
  before: number | null = null
  isRead = false
  names: Name[] = []

  constructor(n: number, ledger: ScopedLedger, number: number) {
    this.n = n
    this.ledger = ledger
    this.number = number
  }

  get isDone(): boolean {
    return this.found !== null || (this.isRead && this.names.length === 0)
  }

  add(commits: readonly StoredCommit[]): void {
    this.before = commits.at(-1)?.sequence ?? this.before
    this.isRead = commits.length === 0 || this.before === 1
    this.names.push(...commits.flatMap((commit) => namesIn(commit, this.ledger, this.number)))
  }

  /** Looks at the next names. `rowOf` has their documents. */
  look(names: readonly Name[], rowOf: ReadonlyMap<string, NamedDocument>): void {
    this.names = this.names.slice(names.length)
    const shown = names.find(([, uuid, from]) => uuid === null || showsRow(this.ledger, rowOf.get(keyOf(this.number, uuid)), from))
    this.found = shown?.[0] ?? null
  }
}

const keyOf = (number: number, uuid: string): string => `${number}|${uuid}`

async function walkAll(d1: D1Database, walks: readonly Walk[]): Promise<void> {
  for (const { commits, names } of ROUNDS) {
    const left = walks.filter(({ isDone }) => !isDone)
    if (left.length === 0) return
    const unread = left.filter((walk) => !walk.isRead && walk.names.length < names)
    if (unread.length > 0) {
      const read = await commitsBefore(
        d1,
        unread.map(({ number, before }) => [number, before]),
        commits,
      )
      const of = Map.groupBy(read, ({ number }) => number)
      for (const walk of unread) walk.add(of.get(walk.number) ?? [])
    }
    const count = Math.min(names, Math.ceil(MOST_NAMES / left.length))
    const looked = left.map((walk) => walk.names.slice(0, count))
    const rows = await findRows(
      d1,
      left.flatMap(({ number }, i) => looked[i]!.flatMap(([, uuid]) => (uuid === null ? [] : [[number, uuid] as const]))),
    )
    const rowOf = new Map(rows.map((row) => [keyOf(row.entity, row.uuid), row]))
    for (const [i, walk] of left.entries()) walk.look(looked[i]!, rowOf)
  }
}

/**
 * The documents that a commit changed: first some from all over it, then all. Everything that concerns the organization's imports is shown.
 */
function namesIn({ touched, committed_at }: StoredCommit, { fiscal_entity_id, entity }: ScopedLedger, number: number): Name[] {
  const { stored = [], cancelled = [], substituted = [], balances = [], checked = [], isCut } = readTouched(touched)
  if (number !== entity || isCut || checked.some(([, requester]) => requester === fiscal_entity_id)) return [[committed_at, null, null]]
  const names = [
    ...stored.map((uuid): Name => [committed_at, uuid, 'stored']),
    ...cancelled.map((uuid): Name => [committed_at, uuid, null]),
    ...[...substituted, ...balances].map(([uuid, from]): Name => [committed_at, uuid, from]),
  ]
  if (names.length <= FIRST) return names
  return [...Array.from({ length: FIRST }, (_, n) => names[Math.floor((n * names.length) / FIRST)]!), ...names]
}

/** A document that a commit names, as `Name` has it. */
export type Changed = readonly [uuid: string, from: number | 'stored' | null]

/** Returns the documents of the authority's partition, among these, whose change the organization is shown. One call. */
export async function shownAmong(ledger: ScopedLedger, changed: readonly Changed[]): Promise<string[]> {
  const rows = await findRows(
    ledger.d1,
    [...new Set(changed.map(([uuid]) => uuid))].map((uuid) => [ledger.entity, uuid] as const),
  )
  const rowOf = new Map(rows.map((row) => [row.uuid, row]))
  return [...new Set(changed.flatMap(([uuid, from]) => (showsRow(ledger, rowOf.get(uuid), from) ? [uuid] : [])))]
}

/** Whether a named document is a visible change. One that its XML moves behind the ceiling, so that it is shown no more, is one too. */
function showsRow({ windows }: ScopedLedger, row: NamedDocument | undefined, from: Name[2]): boolean {
  if (row === undefined) return false
  const window = row.direction === 0 ? windows.issued : windows.received
  if (from === 'stored') return shows(window, row) || (row.has_later_xml === 1 && shows(window, asAnnounced(row)))
  return shows(window, row) && (from === null || window.ceiling === null || from * 1_000 <= window.ceiling)
}

/** The facts of the newest documents of an RFC. */
interface Reached {
  /** When runs last made something visible that was stored before. */
  instants: number[]
  name: string | null
}

/** Reads these for all opened RFCs, in order. One call. */
async function reachedIn(d1: D1Database, opened: readonly Opened[]): Promise<Reached[]> {
  const ranges = opened.flatMap(({ ledger }, n) => rangesOf(ledger, n))
  const read = await readReached(
    d1,
    ranges.map(({ shown }) => shown),
    ranges.flatMap((range) => range.widened),
  )
  const newest = Map.groupBy(read.newest, ({ n }) => n)
  const widened = Map.groupBy(read.widened, ({ n }) => n)
  return opened.map((one, n) => {
    const documents = newest.get(n) ?? []
    const since = documents.flatMap((document) => shownSince(one.ledger, document) ?? [])
    const at = [...since, ...(widened.get(n) ?? []).map((run) => run.at)]
    return { instants: at.map((instant) => widenedAt(one, instant)), name: nameIn(documents) }
  })
}

/** An RFC writes its own name on what it issues; what it receives may have it misspelt. */
const nameIn = (documents: readonly NewestDocument[]): string | null =>
  documents.filter(({ name }) => name !== null).sort((a, b) => a.direction - b.direction || b.issued_at - a.issued_at)[0]?.name ?? null

/** When the run of an instant widened the windows, as far as that is kept. It can be dispatched hours later, such as after an outage. */
function widenedAt({ ledger, widened }: Opened, at: number): number {
  const instants = ([0, 1] as const).flatMap((direction) =>
    ledger
      .grantedRangesOf(direction)
      .slice(-2)
      .map((grantedRange) => grantedRange.at),
  )
  const checkpoint = [...new Set(instants)].sort((a, b) => b - a).indexOf(at)
  return Math.max(at, widened[checkpoint] ?? 0)
}

/**
 * The instant, in milliseconds, of the first run that shows a document. If it is the newest document, the ceilings of later runs reached
 * nothing new. Undefined where everything is shown.
 */
function shownSince(ledger: ScopedLedger, { direction, fecha, issued_at }: NewestDocument): number | undefined {
  if (!isBounded(windowOf(ledger, direction))) return undefined
  let floor: string | null = null
  for (const grantedRange of ledger.grantedRangesOf(direction)) {
    if (floor === null || grantedRange.floor < floor) floor = grantedRange.floor
    if (grantedRange.at >= issued_at * 1_000 && floor <= fecha) return grantedRange.at
  }
  return undefined
}

const windowOf = ({ windows }: ScopedLedger, direction: 0 | 1): Window => (direction === 0 ? windows.issued : windows.received)
const isBounded = ({ floor, ceiling }: Window): boolean => floor !== null && ceiling !== null

/** The ranges that the windows of an RFC show, and those that runs newly showed by reaching further back than before. */
function rangesOf(ledger: ScopedLedger, n: number): { shown: ShownRange; widened: WidenedRange[] }[] {
  return ([0, 1] as const).flatMap((direction) => {
    const window = windowOf(ledger, direction)
    const { floor, ceiling } = window
    if (window.isEmpty) return []
    const of = { n, entity: ledger.entity, direction }
    const until = ceiling === null ? Number.MAX_SAFE_INTEGER : Math.floor(ceiling / 1_000)
    const shown = { ...of, floor: floor ?? '', since: floor === null ? 0 : earliestOf(floor), until }
    const widened: WidenedRange[] = []
    let before: string | null = null
    for (const grantedRange of isBounded(window) ? ledger.grantedRangesOf(direction) : []) {
      if (before !== null && grantedRange.floor < before)
        widened.push({
          ...of,
          floor: grantedRange.floor,
          before,
          since: earliestOf(grantedRange.floor),
          until: latestOf(before),
          at: grantedRange.at,
        })
      if (before === null || grantedRange.floor < before) before = grantedRange.floor
    }
    return [{ shown, widened: widened.slice(-WIDENINGS) }]
  })
}
