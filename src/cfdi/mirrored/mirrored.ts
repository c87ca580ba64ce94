import { type Partition, partitionsToRead, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { EVERYTHING, shows, type Windows } from '../../taxpayers/visibility/window.ts'
import { commitOf, firstChunkOf } from '../chunks/chunks.ts'
import { readTouched } from '../commits/touched.ts'
import { countStretches, findVisible, type MirroredRow, ROWS, readCommits, readStretch } from './store.ts'
import { type Stretch, stretchesBetween } from './stretches.ts'
import type { StretchPosition } from './within.ts'

export { lastCommits } from '../commits/commits.ts'
export { inflated, readPacked, type XmlPlace } from '../xml/xml-store.ts'

interface Commits {
  of: Partition['origin']
  /** The XML was stored by a commit after this one, up to the other one. */
  after: number
  until: number
}

/** Documents of a partition to be copied: those of stretches, or those that windows show. The latter are named by the commits. */
export type Leg = Commits & ({ stretches: Stretch[] } | { windows: Windows })

/** Where a leg continues: behind a position of a stretch, or behind so many documents of a commit. Null is its beginning. */
export type Place = { stretch: number; after: StretchPosition | null } | { commit: number; behind: number } | null

/** A document that has its XML, and the place behind it. */
export interface Found {
  row: MirroredRow
  place: Place
}

/** What a page found, and where the leg continues; null at its end. `instead` is another leg that finds what is left of this one. */
export interface FoundPage {
  found: Found[]
  next: Place
  instead?: Leg
}

/** The leg of everything that an import partition got, which no window hides. */
export const ofImports = (after: number, until: number): Leg =>
  after === 0
    ? { of: 'import', stretches: stretchesBetween(null, EVERYTHING), after, until }
    : { of: 'import', windows: EVERYTHING, after, until }

/**
 * Reads the next rows of a leg, and returns those that it is about. A document is found once for each time that its XML is stored, whatever
 * happens to it meanwhile: its chunk tells the commit that stored it.
 */
export async function readLeg(ledger: ScopedLedger, leg: Leg, place: Place): Promise<FoundPage> {
  const partition = partitionOf(ledger, leg)
  if (!partition) return { found: [], next: null }
  if ('stretches' in leg) return readStretches(ledger, partition, leg, leg.stretches, place && 'stretch' in place ? place : null)
  return readCommitted(ledger, partition, leg, leg.windows, place && 'commit' in place ? place : { commit: leg.after + 1, behind: 0 })
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

async function readStretches(
  ledger: ScopedLedger,
  partition: Partition,
  { after, until }: Commits,
  stretches: readonly Stretch[],
  place: { stretch: number; after: StretchPosition | null } | null,
): Promise<FoundPage> {
  const n = place?.stretch ?? 0
  const stretch = stretches[n]
  if (!stretch) return { found: [], next: null }
  const rows = await readStretch(ledger, partition, stretch, place?.after ?? null)
  const behind = ({ issued_at, uuid }: MirroredRow): Place => ({ stretch: n, after: [issued_at, uuid] })
  const isMeant = ({ chunk }: MirroredRow) => chunk !== null && commitOf(chunk) > after && commitOf(chunk) <= until
  return {
    found: rows.filter(isMeant).map((row) => ({ row, place: behind(row) })),
    next: rows.length === ROWS ? behind(rows.at(-1)!) : n + 1 < stretches.length ? { stretch: n + 1, after: null } : null,
  }
}

async function readCommitted(
  ledger: ScopedLedger,
  partition: Partition,
  { of, until }: Commits,
  windows: Windows,
  { commit, behind }: { commit: number; behind: number },
): Promise<FoundPage> {
  if (commit > until) return { found: [], next: null }
  const commits = await readCommits(ledger, partition, commit - 1, until)
  const named: { uuid: string; by: number; place: Place }[] = []
  let next = commit
  for (const one of commits) {
    // It named no documents, or is forgotten: then all that the windows show are looked through.
    const { stored = [], isCut } = readTouched(one.touched)
    if (one.sequence !== next || isCut || named.length >= ROWS) break
    for (const [n, uuid] of stored.entries())
      if (next > commit || n >= behind) named.push({ uuid, by: next, place: { commit: next, behind: n + 1 } })
    next++
  }
  if (next === commit)
    return { found: [], next: null, instead: { of, stretches: stretchesBetween(null, windows), after: commit - 1, until } }
  const page = named.slice(0, ROWS)
  const rows = page.length === 0 ? [] : await findVisible(ledger, partition, [...new Set(page.map(({ uuid }) => uuid))])
  const rowOf = new Map(rows.map((row) => [row.uuid, row]))
  return {
    found: page.flatMap(({ uuid, by, place }) => {
      const row = rowOf.get(uuid)
      const isMeant =
        row?.chunk != null && commitOf(row.chunk) === by && shows(row.direction === 0 ? windows.issued : windows.received, row)
      return isMeant ? [{ row, place }] : []
    }),
    next: named.length > ROWS ? page.at(-1)!.place : next > until ? null : { commit: next, behind: 0 },
  }
}

/** Counts the documents of a leg that goes through stretches; 0 for one whose documents commits name. */
export async function countLeg(ledger: ScopedLedger, leg: Leg): Promise<number> {
  const partition = partitionOf(ledger, leg)
  return partition && 'stretches' in leg
    ? countStretches(ledger, partition, leg.stretches, [firstChunkOf(leg.after + 1), firstChunkOf(leg.until + 1)])
    : 0
}
