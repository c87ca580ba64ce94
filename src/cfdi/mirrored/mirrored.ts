import { type Partition, partitionsToRead, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { EVERYTHING, isEverything, shows, type Windows } from '../../taxpayers/visibility/window.ts'
import { commitOf, firstChunkOf } from '../chunks/chunks.ts'
import { readTouched } from '../commits.ts'
import { countVisibleRanges, findVisible, type MirroredRow, ROWS, readCommits, readVisibleRange } from './store.ts'
import { contain, type VisibleRange, type VisibleRangePosition, visibleRangesBetween } from './visible-ranges.ts'

export { lastCommits } from '../commits.ts'
export { eachPacked, inflated, readPacked, type XmlLocation } from '../xml/xml-store.ts'

interface Commits {
  of: Partition['origin']
  /** The XML was stored by a commit after this one, up to the other one. */
  after: number
  until: number
  /** The same of the document itself, which may have no XML. */
  isNew?: true
}

/** The commit by which a leg finds a document; null when it does not. */
const commitIn = ({ isNew }: Commits, { chunk, stored_by }: MirroredRow): number | null =>
  isNew ? stored_by : chunk === null ? null : commitOf(chunk)

/** Documents of a partition to be copied: those of visible ranges, or those that windows show. The latter are named by the commits. */
export type Leg = Commits & ({ visibleRanges: VisibleRange[] } | { windows: Windows })

/** How far a fiscal entity has been dealt with. */
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
 * Returns the legs from the documents that were dealt with to those that exist now. Windows only grow, except when an organization without
 * extractors, which sees everything, gets one. Then the commits up to which it saw everything are remembered instead of the windows, and
 * imports are searched again, because the authority's documents may have hidden them.
 */
export function legsTo(copied: Copied, now: Now): { legs: Leg[]; to: Copied } {
  const isNarrower = copied.windows !== null && !contain(now.windows, copied.windows)
  const all_until = isNarrower && isEverything(copied.windows!) ? copied.sequence : copied.all_until
  const shown = isNarrower ? null : copied.windows
  const visibleRanges = visibleRangesBetween(shown, now.windows)
  const imported = isNarrower ? 0 : copied.import_sequence
  const legs: Leg[] = [
    ...(visibleRanges.length > 0 && now.sequence > all_until
      ? [{ of: 'authority', visibleRanges, after: all_until, until: now.sequence } as const]
      : []),
    ...(shown !== null && now.sequence > copied.sequence
      ? [{ of: 'authority', windows: shown, after: copied.sequence, until: now.sequence } as const]
      : []),
    ...(now.import_sequence > imported ? [ofImports(imported, now.import_sequence)] : []),
  ]
  return { legs, to: { ...now, all_until } }
}

/** Where a leg continues: behind a position of a visible range, or behind so many documents of a commit. Null is its beginning. */
export type Place = { visibleRange: number; after: VisibleRangePosition | null } | { commit: number; behind: number } | null

/** A document that has its XML, and the checkpoint behind it. */
export interface Found {
  row: MirroredRow
  checkpoint: Place
}

/** What a page found, and where the leg continues; null at its end. `instead` is another leg that finds what is left of this one. */
export interface FoundPage {
  found: Found[]
  next: Place
  instead?: Leg
}

/** The leg of everything that an import partition got, which no window hides. */
const ofImports = (after: number, until: number): Leg =>
  after === 0
    ? { of: 'import', visibleRanges: visibleRangesBetween(null, EVERYTHING), after, until }
    : { of: 'import', windows: EVERYTHING, after, until }

/**
 * Reads the next rows of a leg, and returns those that it is about. A document is found once for each time that its XML is stored, whatever
 * else happens to it: its chunk names the commit that stored it.
 */
export async function readLeg(ledger: ScopedLedger, leg: Leg, checkpoint: Place): Promise<FoundPage> {
  const partition = partitionOf(ledger, leg)
  if (!partition) return { found: [], next: null }
  if ('visibleRanges' in leg)
    return readVisibleRanges(ledger, partition, leg, leg.visibleRanges, checkpoint && 'visibleRange' in checkpoint ? checkpoint : null)
  return readCommitted(
    ledger,
    partition,
    leg,
    leg.windows,
    checkpoint && 'commit' in checkpoint ? checkpoint : { commit: leg.after + 1, behind: 0 },
  )
}

/** Finds the visible ones of these documents that have their XML, each once. */
export async function findNamed(ledger: ScopedLedger, uuids: readonly string[]): Promise<MirroredRow[]> {
  const found = new Map<string, MirroredRow>()
  for (const partition of partitionsToRead(ledger)) {
    const isShown = (row: MirroredRow) =>
      partition.origin === 'import' || shows(row.direction === 0 ? ledger.windows.issued : ledger.windows.received, row)
    for (const row of await findVisible(ledger, partition, uuids))
      if (row.chunk !== null && !found.has(row.uuid) && isShown(row)) found.set(row.uuid, row)
  }
  return [...found.values()]
}

const partitionOf = (ledger: ScopedLedger, { of }: Commits): Partition | undefined =>
  partitionsToRead(ledger).find(({ origin }) => origin === of)

async function readVisibleRanges(
  ledger: ScopedLedger,
  partition: Partition,
  leg: Commits,
  visibleRanges: readonly VisibleRange[],
  checkpoint: { visibleRange: number; after: VisibleRangePosition | null } | null,
): Promise<FoundPage> {
  const n = checkpoint?.visibleRange ?? 0
  const visibleRange = visibleRanges[n]
  if (!visibleRange) return { found: [], next: null }
  const rows = await readVisibleRange(ledger, partition, visibleRange, checkpoint?.after ?? null)
  const behind = ({ issued_at, uuid }: MirroredRow): Place => ({ visibleRange: n, after: [issued_at, uuid] })
  const isMeant = (row: MirroredRow) => {
    const by = commitIn(leg, row)
    return by !== null && by > leg.after && by <= leg.until
  }
  return {
    found: rows.filter(isMeant).map((row) => ({ row, checkpoint: behind(row) })),
    next: rows.length === ROWS ? behind(rows.at(-1)!) : n + 1 < visibleRanges.length ? { visibleRange: n + 1, after: null } : null,
  }
}

async function readCommitted(
  ledger: ScopedLedger,
  partition: Partition,
  leg: Commits,
  windows: Windows,
  { commit, behind }: { commit: number; behind: number },
): Promise<FoundPage> {
  const { of, until, isNew } = leg
  if (commit > until) return { found: [], next: null }
  const commits = await readCommits(ledger, partition, commit - 1, until)
  const named: { uuid: string; by: number; checkpoint: Place }[] = []
  let next = commit
  for (const one of commits) {
    // It named no documents, or is forgotten: then all that the windows show are looked through.
    const { stored = [], isCut } = readTouched(one.touched)
    if (one.sequence !== next || isCut || named.length >= ROWS) break
    for (const [n, uuid] of stored.entries())
      if (next > commit || n >= behind) named.push({ uuid, by: next, checkpoint: { commit: next, behind: n + 1 } })
    next++
  }
  if (next === commit)
    return {
      found: [],
      next: null,
      instead: { of, visibleRanges: visibleRangesBetween(null, windows), after: commit - 1, until, ...(isNew && { isNew }) },
    }
  const page = named.slice(0, ROWS)
  const rows = page.length === 0 ? [] : await findVisible(ledger, partition, [...new Set(page.map(({ uuid }) => uuid))])
  const rowOf = new Map(rows.map((row) => [row.uuid, row]))
  return {
    found: page.flatMap(({ uuid, by, checkpoint }) => {
      const row = rowOf.get(uuid)
      const isMeant = row !== undefined && commitIn(leg, row) === by && shows(row.direction === 0 ? windows.issued : windows.received, row)
      return isMeant ? [{ row, checkpoint }] : []
    }),
    next: named.length > ROWS ? page.at(-1)!.checkpoint : next > until ? null : { commit: next, behind: 0 },
  }
}

/** Counts the documents of a leg that goes through visible ranges; 0 for one whose documents commits name. */
export async function countLeg(ledger: ScopedLedger, leg: Leg): Promise<number> {
  const partition = partitionOf(ledger, leg)
  return partition && 'visibleRanges' in leg
    ? countVisibleRanges(ledger, partition, leg.visibleRanges, [firstChunkOf(leg.after + 1), firstChunkOf(leg.until + 1)])
    : 0
}
