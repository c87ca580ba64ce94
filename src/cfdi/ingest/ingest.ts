import { type Entry, EntryRejected, PackageRejected, readDirectory } from '../package/directory.ts'
import type { MetadataRow } from '../package/metadata.ts'
import { type MetadataFile, metadataFilesOf, readMetadata } from '../package/metadata-files.ts'
import { isXml } from '../package/package.ts'
import { MAX_XML_BYTES } from '../xml/parse.ts'
import { commitSlice, type EntryResult, type SliceOutcome, type Target } from './commit-slice.ts'
import { metadataSlice, type Sealed, sealedEntry, sealedFile, xmlSlice } from './read-entries.ts'

export type { Cancellation } from './apply-changes.ts'
export type { EntryResult, SliceOutcome, Target } from './commit-slice.ts'

type Outcomes = AsyncGenerator<SliceOutcome, void, undefined>

/** The most entries that are committed at once, and the most that they weigh inflated: all of a slice is in memory together. */
const SLICE = 1_000
const SLICE_BYTES = 16 * 1024 * 1024
/** The most that an upload's files weigh inflated: about 15 seconds of work. */
const MAX_UPLOAD_BYTES = 512 * 1024 * 1024

/**
 * The CFDIs of a ZIP, slice by slice; each outcome that is yielded has been committed. `reported` is the metadata of the same download
 * by UUID: what it says is cancelled is inserted as such, and is no cancellation. Throws PackageRejected when nothing can be read.
 */
export async function* ingestXmlPackage(
  target: Target,
  bytes: Uint8Array,
  reported: ReadonlyMap<string, MetadataRow> = new Map(),
): Outcomes {
  yield* ingestSealed(target, sealedOf(bytes, readDirectory(bytes)), reported)
}

function* sealedOf(bytes: Uint8Array, entries: readonly Entry[], without: ReadonlySet<number> = new Set()): Generator<Sealed> {
  for (const [n, entry] of entries.entries()) if (!entry.junk && !without.has(n)) yield sealedEntry(bytes, entry, n)
}

async function* ingestSealed(target: Target, files: Iterable<Sealed>, reported: ReadonlyMap<string, MetadataRow>): Outcomes {
  for (const slice of slicesOf(files)) yield await commitSlice(target, xmlSlice(target, slice, reported))
}

function* slicesOf(files: Iterable<Sealed>): Generator<Sealed[]> {
  let slice: Sealed[] = []
  let weight = 0
  for (const file of files) {
    if (slice.length === SLICE || (slice.length > 0 && weight + file.weight > SLICE_BYTES)) {
      yield slice
      slice = []
      weight = 0
    }
    slice.push(file)
    weight += file.weight
  }
  if (slice.length > 0) yield slice
}

/**
 * Metadata rows, slice by slice: documents without XML are inserted, stored valid ones that are cancelled now are cancelled with all
 * that follows, and listed as cancellations. Entries are the rows. Invoices are taken before what pays them, so that a cancellation of
 * both is told as one of a paid invoice however they are listed.
 */
export async function* ingestMetadata(target: Target, rows: Iterable<MetadataRow>): Outcomes {
  const all = [...rows]
  const isLate = ({ tipo_comprobante }: MetadataRow): boolean => tipo_comprobante === 'P' || tipo_comprobante === 'E'
  const ordered = [...all.filter((row) => !isLate(row)), ...all.filter(isLate)]
  for (let at = 0; at < ordered.length; at += SLICE) {
    yield await commitSlice(target, metadataSlice(target, ordered.slice(at, at + SLICE), at))
  }
}

/**
 * The rows of a downloaded ZIP's metadata files. XML entries are not opened. Throws PackageRejected, also when a metadata file is damaged
 * or all of them are too large: a month without some of its metadata would pass for complete.
 */
export const metadataOf = (bytes: Uint8Array): { rows: MetadataRow[]; unread: number } => {
  const { files } = metadataFilesOf(bytes, readDirectory(bytes))
  for (const { rejected } of files) if (rejected !== null) throw new PackageRejected(rejected.code, rejected.message)
  return { rows: files.flatMap(({ rows }) => rows), unread: files.reduce((sum, { unread }) => sum + unread, 0) }
}

/**
 * A ZIP that somebody uploaded, with XML, metadata or both; one result a file, junk left out. The results of a slice are committed with it
 * by the target's side statements; returned are the others: those of metadata files, or the one of a ZIP that cannot be read.
 */
export async function ingestPackage(target: Target, bytes: Uint8Array): Promise<EntryResult[]> {
  try {
    const entries = withinBudget(readDirectory(bytes))
    const { files, recognised } = metadataFilesOf(bytes, entries)
    const reported = new Map<string, MetadataRow>()
    for (const { rows } of files) for (const row of rows) reported.set(row.uuid, row)
    await committed(ingestSealed(target, sealedOf(bytes, entries, recognised), reported))
    reported.clear()
    const results: EntryResult[] = []
    for (const file of files) results.push(await ingestMetadataFile(target, file))
    return results
  } catch (error) {
    if (!(error instanceof PackageRejected)) throw error
    return [{ n: 0, name: 'upload.zip', status: 'rejected', uuid: null, code: error.code, detail: error.message }]
  }
}

/** One file that somebody uploaded by itself: an XML, or a metadata TXT. What is returned is as with a ZIP. */
export async function ingestFile(target: Target, bytes: Uint8Array): Promise<EntryResult[]> {
  const metadata = readMetadata(bytes, 'upload.txt', 0)
  if (metadata !== null) return [await ingestMetadataFile(target, metadata)]
  await committed(ingestSealed(target, [sealedFile('upload.xml', bytes)], new Map()))
  return []
}

async function committed(outcomes: Outcomes): Promise<void> {
  while (!(await outcomes.next()).done);
}

/** Rejects what lies beyond the first 512 MiB, in the order of the directory, whatever it really inflates to. */
function withinBudget(entries: readonly Entry[]): Entry[] {
  const rejected = new EntryRejected('zip.too_large', 'The upload is larger than 512 MiB when it is unpacked. Send the rest by itself.')
  let left = MAX_UPLOAD_BYTES
  return entries.map((entry) => {
    const isUnopened = entry.junk || entry.rejected !== null || (isXml(entry.name) && entry.size > MAX_XML_BYTES)
    if (!isUnopened) left -= Math.min(entry.size, MAX_XML_BYTES)
    return isUnopened || left >= 0 ? entry : { ...entry, rejected }
  })
}

async function ingestMetadataFile(target: Target, { n, name, rows, unread, rejected: why }: MetadataFile): Promise<EntryResult> {
  if (why !== null) return { n, name, uuid: null, status: 'rejected', code: why.code, detail: why.message }
  const { sideStatements } = target
  // The rows are not files of their own.
  const quiet =
    sideStatements === undefined ? target : { ...target, sideStatements: (it: SliceOutcome) => sideStatements({ ...it, entries: [] }) }
  let [created, cancelled, rejected] = [0, 0, unread]
  for await (const outcome of ingestMetadata(quiet, rows)) {
    created += outcome.created
    cancelled += outcome.cancelled
    rejected += outcome.rejected
  }
  const result = { n, name, uuid: null, code: null, detail: rejected === 0 ? null : `${rejected} rows were not kept.` }
  if (rejected > 0 && rejected === rows.length + unread) return { ...result, status: 'rejected', code: 'metadata.no_rows' }
  return { ...result, status: created > 0 ? 'created' : cancelled > 0 ? 'updated' : 'unchanged' }
}
