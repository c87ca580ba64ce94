import { EntryRejected, PackageRejected, readDirectory, type ZipEntry } from '../package/directory.ts'
import type { MetadataRow } from '../package/metadata.ts'
import { type MetadataFile, metadataFilesOf, readMetadata } from '../package/metadata-files.ts'
import { isXml } from '../package/package.ts'
import { MAX_XML_BYTES } from '../xml/parse.ts'
import { commitSlice, type IngestTarget, QUOTA_EXCEEDED } from './commit-slice.ts'
import type { EntryResult, SliceOutcome } from './outcome.ts'
import { fileOfEntry, metadataSlice, singleFile, type UnopenedFile, xmlSlice } from './read-entries.ts'

export type { CancelledCfdi } from './apply-changes.ts'
export { type IngestTarget, importPrefix } from './commit-slice.ts'
export type { Holding } from './holdings.ts'
export type { CommittedHolding, EntryResult, SliceOutcome } from './outcome.ts'
export { replaceDocuments } from './replace.ts'

type Outcomes = AsyncGenerator<SliceOutcome, void, undefined>

/** The limits of a slice in entries and in inflated bytes, because the whole slice is in memory at once. */
const SLICE_ENTRIES = 1_000
const SLICE_BYTES = 16 * 1024 * 1024
/** The limit of an upload in inflated bytes: about 15 seconds of work. */
const MAX_UPLOAD_BYTES = 512 * 1024 * 1024

/**
 * Ingests the CFDIs of a ZIP, slice by slice; each outcome that is yielded has been committed. `reported` is the metadata of the same
 * download by UUID: new documents that it lists as cancelled are stored as cancelled, and are not reported as cancellations. Throws
 * PackageRejected when the ZIP cannot be read.
 */
export async function* ingestXmlPackage(
  target: IngestTarget,
  bytes: Uint8Array,
  reported: ReadonlyMap<string, MetadataRow> = new Map(),
): Outcomes {
  yield* ingestFiles(target, filesOf(bytes, readDirectory(bytes)), reported)
}

function* filesOf(bytes: Uint8Array, entries: readonly ZipEntry[], except: ReadonlySet<number> = new Set()): Generator<UnopenedFile> {
  for (const [n, entry] of entries.entries()) if (!entry.junk && !except.has(n)) yield fileOfEntry(bytes, entry, n)
}

async function* ingestFiles(target: IngestTarget, files: Iterable<UnopenedFile>, reported: ReadonlyMap<string, MetadataRow>): Outcomes {
  for (const slice of slicesOf(files)) yield await commitSlice(target, xmlSlice(target, slice, reported))
}

function* slicesOf(files: Iterable<UnopenedFile>): Generator<UnopenedFile[]> {
  let slice: UnopenedFile[] = []
  let weight = 0
  for (const file of files) {
    if (slice.length === SLICE_ENTRIES || (slice.length > 0 && weight + file.weight > SLICE_BYTES)) {
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
 * Ingests metadata rows, slice by slice. Unknown documents are stored without XML; stored valid documents that are cancelled now are
 * cancelled and listed as cancellations. The entries of an outcome are the rows. Payments and credit notes come after all other rows, so
 * that the cancellation of an invoice and its payment is reported as that of a paid invoice, whatever their order in the file.
 */
export async function* ingestMetadata(target: IngestTarget, rows: Iterable<MetadataRow>): Outcomes {
  const all = [...rows]
  const isLast = ({ tipo_comprobante }: MetadataRow): boolean => tipo_comprobante === 'P' || tipo_comprobante === 'E'
  const ordered = [...all.filter((row) => !isLast(row)), ...all.filter(isLast)]
  for (let at = 0; at < ordered.length; at += SLICE_ENTRIES) {
    yield await commitSlice(target, metadataSlice(target, ordered.slice(at, at + SLICE_ENTRIES), at))
  }
}

/**
 * Reads the rows of the metadata files in a downloaded ZIP; XML entries are not opened. Throws PackageRejected, also when a metadata file
 * is damaged or they are too large together, because a month without some of its metadata would pass for complete.
 */
export const metadataOf = (bytes: Uint8Array): { rows: MetadataRow[]; unread: number } => {
  const { files } = metadataFilesOf(bytes, readDirectory(bytes))
  for (const { rejected } of files) if (rejected !== null) throw new PackageRejected(rejected.code, rejected.message)
  return { rows: files.flatMap(({ rows }) => rows), unread: files.reduce((sum, { unread }) => sum + unread, 0) }
}

/**
 * Ingests an uploaded ZIP with XML, metadata or both; there is one result for each file. The target's side statements commit the results
 * of a slice with it. Returns the other results: those of the metadata files, or the one of a ZIP that cannot be read.
 */
export async function ingestPackage(target: IngestTarget, bytes: Uint8Array): Promise<EntryResult[]> {
  try {
    const entries = withinBudget(readDirectory(bytes))
    const { files, recognised } = metadataFilesOf(bytes, entries)
    const reported = new Map<string, MetadataRow>()
    for (const { rows } of files) for (const row of rows) reported.set(row.uuid, row)
    await finish(ingestFiles(target, filesOf(bytes, entries, recognised), reported))
    reported.clear()
    const results: EntryResult[] = []
    for (const file of files) results.push(await ingestMetadataFile(target, file))
    return results
  } catch (error) {
    if (!(error instanceof PackageRejected)) throw error
    return [{ n: 0, name: 'upload.zip', status: 'rejected', uuid: null, code: error.code, detail: error.message }]
  }
}

/** Ingests a single uploaded file, an XML or a metadata TXT. Returns the results that no slice has committed, as `ingestPackage` does. */
export async function ingestFile(target: IngestTarget, bytes: Uint8Array): Promise<EntryResult[]> {
  const metadata = readMetadata(bytes, 'upload.txt', 0)
  if (metadata !== null) return [await ingestMetadataFile(target, metadata)]
  await finish(ingestFiles(target, [singleFile('upload.xml', bytes)], new Map()))
  return []
}

async function finish(outcomes: Outcomes): Promise<void> {
  while (!(await outcomes.next()).done);
}

/** Rejects the entries beyond the first 512 MiB, in the order of the directory, by their declared sizes. */
function withinBudget(entries: readonly ZipEntry[]): ZipEntry[] {
  const rejected = new EntryRejected('zip.too_large', 'The upload is larger than 512 MiB when it is unpacked. Send the rest separately.')
  let left = MAX_UPLOAD_BYTES
  return entries.map((entry) => {
    const isUnopened = entry.junk || entry.rejected !== null || (isXml(entry.name) && entry.size > MAX_XML_BYTES)
    if (!isUnopened) left -= Math.min(entry.size, MAX_XML_BYTES)
    return isUnopened || left >= 0 ? entry : { ...entry, rejected }
  })
}

async function ingestMetadataFile(target: IngestTarget, { n, name, rows, unread, rejected: why }: MetadataFile): Promise<EntryResult> {
  if (why !== null) return { n, name, uuid: null, status: 'rejected', code: why.code, detail: why.message }
  const { sideStatements } = target
  // The upload's results list the file, not its rows.
  const withoutEntries =
    sideStatements === undefined
      ? target
      : { ...target, sideStatements: (outcome: SliceOutcome) => sideStatements({ ...outcome, entries: [] }) }
  let [created, cancelled, rejected] = [0, 0, unread]
  let beyondQuota: EntryResult | undefined
  for await (const outcome of ingestMetadata(withoutEntries, rows)) {
    created += outcome.created
    cancelled += outcome.cancelled
    rejected += outcome.rejected
    beyondQuota ??= outcome.entries.find(({ code }) => code === QUOTA_EXCEEDED)
  }
  const unstored = `${rejected} ${rejected === 1 ? 'row' : 'rows'} could not be stored.`
  const result = {
    n,
    name,
    uuid: null,
    code: beyondQuota?.code ?? null,
    detail: rejected === 0 ? null : [unstored, beyondQuota?.detail].filter(Boolean).join(' '),
  }
  if (rejected > 0 && rejected === rows.length + unread) return { ...result, status: 'rejected', code: result.code ?? 'metadata.no_rows' }
  return { ...result, status: created > 0 ? 'created' : cancelled > 0 ? 'updated' : 'unchanged' }
}
