import type { Bytes } from '../../platform/bytes/bytes.ts'
import { EntryRejected, PackageRejected } from '../package/central-record.ts'
import { type Directory, readDirectory } from '../package/directory.ts'
import { entriesOf, type IsWanted, type ZipEntry } from '../package/entries.ts'
import {
  isXml,
  kindOf,
  MAX_METADATA_BYTES,
  type MetadataFile,
  MetadataRoom,
  openMetadata,
  openMetadataEntry,
  shownName,
  startOf,
} from '../package/package.ts'
import { MOST_LISTED, type Rejection, Rejections, ReportedStatuses, rowsOf } from '../package/rejections.ts'
import { MAX_XML_BYTES } from '../xml/parse.ts'
import { type EntryResult, type IngestTarget, QUOTA_EXCEEDED, rejectedOf, type SliceOutcome } from './commit-slice.ts'
import { filesOf, ingestFiles, ingestMetadata, type Outcomes, sliceLimitOf } from './ingest.ts'
import { singleFile } from './read-entries.ts'

/** The limit of an upload in inflated bytes: five times those of the largest one. */
const MAX_UPLOAD_BYTES = 512 * 1024 * 1024
/** The metadata files of one upload: their results are in memory until the end. */
const MAX_METADATA_FILES = 1_000

/** How far an upload has been ingested. */
export interface UploadProgress {
  /** The locations of the files that have a result. */
  done: ReadonlySet<number>
  /** The metadata file that is or was under way: its place, how many of its rows are done, and their results. */
  metadata: MetadataProgress | null
  /** The results that no slice has committed. */
  results: EntryResult[]
}

interface MetadataProgress extends Record<'n' | 'rows' | 'created' | 'cancelled' | 'rejected', number> {
  beyondQuota: string | null
  /** The first rows that were not kept. */
  first: Rejection[]
}

const notBegun = (): UploadProgress => ({ done: new Set(), metadata: null, results: [] })

const isZip = (bytes: Uint8Array): boolean => bytes[0] === 0x50 && bytes[1] === 0x4b

/**
 * Ingests an upload: an XML, a metadata TXT, or a ZIP with either or both; there is one result for each file. The target's side statements
 * commit the results of a slice with it. Returns the other results: those of the metadata files, or the one of a file that cannot be read.
 * `progress` is kept up to date, so that an ingestion that ends early can continue.
 */
export async function ingestUpload(target: IngestTarget, file: Bytes, progress = notBegun()): Promise<EntryResult[]> {
  const start = await file.read(0, 64)
  if (isZip(start)) return ingestPackage(target, file, progress)
  if (kindOf('upload.txt', start) === 'metadata') {
    if (file.size > MAX_METADATA_BYTES)
      return [rejection(0, 'upload.txt', { code: 'metadata.too_large', message: 'The metadata is larger than 48 MiB.' })]
    const metadata = await orRejection(() => openMetadata(file))
    if (metadata instanceof EntryRejected) return [rejection(0, 'upload.txt', metadata)]
    return [await ingestMetadataFile(target, 0, 'upload.txt', metadata, progress)]
  }
  if (file.size > MAX_XML_BYTES)
    return [rejection(0, 'upload.xml', { code: 'cfdi.too_large', message: 'The document is larger than 10 MiB.' })]
  const xml = await singleFile('upload.xml', await file.read(0, file.size))
  if (!progress.done.has(0)) await finish(ingestFiles(target, only(xml), new Map()))
  return []
}

async function ingestPackage(target: IngestTarget, file: Bytes, progress: UploadProgress): Promise<EntryResult[]> {
  const { done, results } = progress
  try {
    const directory = await readDirectory(file)
    const entries = await entriesWithin(file, directory)
    const { recognised, opened } = await metadataIn(file, directory, entries)
    const reported = new ReportedStatuses()
    if (opened.length > 0 && opened.length < directory.length) await report(opened, reported)
    const others = entries(({ n }) => recognised[n] !== 1 && !done.has(n))
    await finish(ingestFiles(target, filesOf(file, others), reported, sliceLimitOf(directory, file)))
    for (const { n, name, metadata } of opened) {
      if (done.has(n)) continue
      const isRejected = metadata instanceof EntryRejected
      results.push(isRejected ? rejection(n, name, metadata) : await ingestMetadataFile(target, n, name, metadata, progress))
    }
    return results
  } catch (error) {
    if (!(error instanceof PackageRejected)) throw error
    return [rejection(0, 'upload.zip', error)]
  }
}

const rejection = (n: number, name: string, { code, message }: { code: string; message: string }): EntryResult => ({
  ...{ n, name, status: 'rejected', uuid: null, code, detail: message },
})

async function* only<T>(one: T): AsyncGenerator<T, void, undefined> {
  yield one
}

async function finish(outcomes: Outcomes): Promise<void> {
  while (!(await outcomes.next()).done);
}

type WantedEntries = (isWanted: IsWanted) => AsyncIterable<ZipEntry>

/**
 * Gives the wanted entries of a package; nothing of the others is read. Those beyond the first 512 MiB are rejected, in the order of the
 * data of all entries, by their declared sizes.
 */
async function entriesWithin(file: Bytes, directory: Directory): Promise<WantedEntries> {
  const isBeyond = new Uint8Array(directory.length)
  let left = MAX_UPLOAD_BYTES
  for await (const { n, junk, name, size } of directory.byOffset()) {
    if (junk || (isXml(name) && size > MAX_XML_BYTES)) continue
    left -= Math.min(size, MAX_XML_BYTES)
    if (left < 0) isBeyond[n] = 1
  }
  const tooLarge = new EntryRejected('zip.too_large', 'The upload is larger than 512 MiB when it is unpacked. Send the rest separately.')
  return async function* (isWanted) {
    for await (const entry of entriesOf(file, directory, isWanted))
      yield isBeyond[entry.n] === 1 ? { ...entry, rejected: entry.rejected ?? tooLarge } : entry
  }
}

interface OpenedMetadata {
  n: number
  /** Safe to be shown. */
  name: string
  /** The file, or why it is rejected. */
  metadata: MetadataFile | EntryRejected
}

/**
 * Finds the metadata files of a package. `recognised` has a 1 at the locations of all entries that are metadata of some kind and therefore no
 * CFDIs. Those beyond 48 MiB or 500,000 lines in all are rejected.
 */
async function metadataIn(file: Bytes, directory: Directory, entries: WantedEntries) {
  const recognised = new Uint8Array(directory.length)
  const opened: OpenedMetadata[] = []
  if (!(await directory.some((name) => !isXml(name)))) return { recognised, opened }
  const room = new MetadataRoom()
  for await (const entry of entries(({ junk, name }) => !junk && !isXml(name))) {
    const kind = await orRejection(async () => kindOf(entry.name, await startOf(file, entry)))
    if (kind !== 'terceros' && (kind !== 'metadata' || opened.length === MAX_METADATA_FILES)) continue
    recognised[entry.n] = 1
    if (kind === 'terceros') continue
    const metadata = await orRejection(() => openMetadataEntry(file, entry, room))
    opened.push({ n: entry.n, name: shownName(entry.name), metadata })
  }
  return { recognised, opened }
}

async function report(opened: readonly OpenedMetadata[], reported: ReportedStatuses): Promise<void> {
  for (const { metadata } of opened) {
    if (metadata instanceof EntryRejected) continue
    for await (const rows of rowsOf(metadata)) for (const row of rows) reported.add(row)
  }
}

async function orRejection<T>(work: () => Promise<T>): Promise<T | EntryRejected> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof EntryRejected) return error
    throw error
  }
}

async function ingestMetadataFile(
  target: IngestTarget,
  n: number,
  name: string,
  file: MetadataFile,
  progress: UploadProgress,
): Promise<EntryResult> {
  const { sideStatements } = target
  // The upload's results list the file, not its rows.
  const withoutEntries =
    sideStatements === undefined
      ? target
      : { ...target, sideStatements: (outcome: SliceOutcome) => sideStatements({ ...outcome, entries: [] }) }
  const begun = { n, rows: 0, created: 0, cancelled: 0, rejected: 0, beyondQuota: null, first: [] }
  const sum = progress.metadata?.n === n ? progress.metadata : begun
  progress.metadata = sum
  const unread = new Rejections()
  let reads = 0
  const read = () => rowsOf(file, reads++ === 0 ? unread : undefined)
  for await (const outcome of ingestMetadata(withoutEntries, read, sum.rows)) {
    sum.rows += outcome.entries.length
    sum.created += outcome.created
    sum.cancelled += outcome.cancelled
    sum.rejected += outcome.rejected
    sum.first = [...sum.first, ...rejectedOf(outcome.entries)].slice(0, MOST_LISTED)
    sum.beyondQuota ??= outcome.entries.find(({ code }) => code === QUOTA_EXCEEDED)?.detail ?? null
  }
  const { rows, created, cancelled, beyondQuota } = sum
  const rejected = sum.rejected + unread.count
  const unstored = `${rejected} ${rejected === 1 ? 'row' : 'rows'} could not be stored.`
  const detail = rejected === 0 ? null : [unstored, beyondQuota].filter(Boolean).join(' ')
  const rejected_rows = [...sum.first, ...unread.first].sort((a, b) => a.line! - b.line!).slice(0, MOST_LISTED)
  const result = { n, name, uuid: null, code: beyondQuota === null ? null : QUOTA_EXCEEDED, detail, rejected_rows }
  if (rejected > 0 && rejected === rows + unread.count) return { ...result, status: 'rejected', code: result.code ?? 'metadata.no_rows' }
  return { ...result, status: created > 0 ? 'created' : cancelled > 0 ? 'updated' : 'unchanged' }
}
