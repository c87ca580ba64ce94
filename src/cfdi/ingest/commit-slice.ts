import { commit } from '../../platform/db/commit.ts'
import { isFenceViolation } from '../../platform/db/guard.ts'
import type { MetadataRow } from '../package/metadata.ts'
import { packXml } from '../xml/xml-store.ts'
import { except, readAffectedBy } from './affected.ts'
import { applyChanges, type Incoming, type SliceChanges } from './apply-changes.ts'
import { outcomeOf, type ReadEntry, type SliceOutcome } from './outcome.ts'
import { type KnownCfdi, readKnown } from './reads.ts'
import { writeStatements } from './writes.ts'

/** The partition that documents are ingested into, and where they come from. */
export interface IngestTarget {
  ledger: D1Database
  files: R2Bucket
  /** The number of the partition: an RFC's, or the negative number of an organization's imports. */
  entity: number
  rfc: string
  now: Date
  provenance: 'authority' | 'import'
  /** Statements to commit in the batch of each slice, or alone when it changes nothing. Called again when a slice is retried. */
  sideStatements?: (outcome: SliceOutcome) => D1PreparedStatement[]
  /** Called before each slice. What it throws ends the ingestion; slices before it stay. */
  beforeSlice?: () => void
  /** Whether what is stored is left out before slices are formed: for a source whose first part has been ingested. */
  passesOverStored?: boolean
  /** Which of these documents the organization already sees in the authority's partition. They are not stored again. */
  alreadyVisible?: (uuids: readonly string[]) => Promise<ReadonlySet<string>>
}

/** What a slice contains. Where several entries have one UUID, the last one is in `documents`. */
export interface SliceContent {
  documents: Map<string, Incoming>
  cancelled: MetadataRow[]
  entries: ReadEntry[]
}

/** Entries of a package that are committed together. */
export interface Slice {
  /** The UUIDs that are known without opening the entries. */
  uuids: readonly string[]
  /** Opens the entries that are not known. Called again after a conflict, when more may be known. */
  read(known: ReadonlyMap<string, KnownCfdi>): SliceContent
}

const MAX_ATTEMPTS = 8

/**
 * Stores a slice: its XML in one object, then rows, lines, applications, balances, totals and side statements in one batch. When somebody
 * else changed the partition meanwhile, the fence refuses the batch and the slice is read again and retried; throws after 8 attempts.
 */
export async function commitSlice(target: IngestTarget, slice: Slice): Promise<SliceOutcome> {
  target.beforeSlice?.()
  const storedObjects = new Set<string>()
  for (let attempt = 1; ; attempt++) {
    try {
      return await tryCommit(target, slice, storedObjects)
    } catch (error) {
      // A guard among the side statements is not retried here: the caller that added it decides.
      if (!isFenceViolation(error, 'entities.version') || attempt === MAX_ATTEMPTS) throw error
      await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 10 * 2 ** attempt))
    }
  }
}

async function tryCommit(target: IngestTarget, slice: Slice, storedObjects: Set<string>): Promise<SliceOutcome> {
  const { ledger, entity, rfc } = target
  const { version, known: rows } = await readKnown(ledger, entity, slice.uuids)
  const known = new Map(rows.map((row) => [row.uuid, row]))
  const { documents, cancelled, entries } = slice.read(known)
  await addKnown(target, slice, documents, known)
  for (const uuid of (await target.alreadyVisible?.([...documents.keys()])) ?? []) documents.delete(uuid)
  const changes = changesOf(documents, cancelled, known)
  const isUnchanged = changes.created.length + changes.completed.length + changes.cancelled.length === 0
  if (isUnchanged) return commitOutcome(target, outcomeOf(changes, entries, []), [])
  const [affected] = await Promise.all([readAffectedBy(ledger, entity, changes), putXml(target.files, changes, storedObjects)])
  const { writes, cancellations } = applyChanges(changes, affected)
  const statements = writeStatements(ledger, { entity, rfc, version }, writes, target.now.getTime())
  return commitOutcome(target, outcomeOf(changes, entries, cancellations), statements)
}

async function commitOutcome(
  { ledger, sideStatements }: IngestTarget,
  outcome: SliceOutcome,
  writes: readonly D1PreparedStatement[],
): Promise<SliceOutcome> {
  const statements = [...writes, ...(sideStatements?.(outcome) ?? [])]
  if (statements.length > 0) await commit(ledger, statements)
  return outcome
}

/** Adds what is stored of the documents that revealed their UUIDs only when they were opened. */
async function addKnown(
  { ledger, entity }: IngestTarget,
  slice: Slice,
  documents: ReadonlyMap<string, Incoming>,
  known: Map<string, KnownCfdi>,
) {
  const more = except([...documents.keys()], slice.uuids)
  if (more.length === 0) return
  // These rows may be newer than the version that was read. That is harmless, because the fence then refuses the batch.
  for (const row of (await readKnown(ledger, entity, more)).known) known.set(row.uuid, row)
}

function changesOf(
  documents: ReadonlyMap<string, Incoming>,
  cancelled: MetadataRow[],
  known: ReadonlyMap<string, KnownCfdi>,
): SliceChanges {
  const changes: SliceChanges = { created: [], completed: [], cancelled }
  for (const [uuid, document] of documents) {
    const row = known.get(uuid)
    if (row === undefined) changes.created.push(document)
    else if (row.xml_crc === null && document.packed !== null) changes.completed.push(document)
  }
  return changes
}

/** Stores the new documents' compressed bytes as one object and sets its key and their offsets in their rows. */
async function putXml(files: R2Bucket, { created, completed }: SliceChanges, storedObjects: Set<string>): Promise<void> {
  const documents = [...created, ...completed].flatMap(({ row, packed }) => (packed === null ? [] : [{ row, packed }]))
  if (documents.length === 0) return
  const { key, bytes, offsets } = await packXml(documents.map(({ packed }) => packed))
  documents.forEach(({ row }, i) => {
    Object.assign(row, { xml_object: key, xml_offset: offsets[i] })
  })
  if (!storedObjects.has(key)) await files.put(key, bytes)
  storedObjects.add(key)
}
