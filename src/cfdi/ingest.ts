import { type Entry, EntryRejected, PackageRejected, readDirectory } from './directory.ts'
import { type MetadataRow, parseMetadata } from './metadata.ts'
import { metadataSlice, type Sealed, sealedEntry, sealedFile, xmlSlice } from './opening.ts'
import { inflate, kindOf, shownName } from './package.ts'
import { type EntryResult, type SliceOutcome, settleSlice, type Target } from './settle.ts'

export type { Cancellation } from './reckoning.ts'
export type { EntryResult, SliceOutcome, Target } from './settle.ts'

type Outcomes = AsyncGenerator<SliceOutcome, void, undefined>

/** The most entries that are committed at once. */
const SLICE = 1_000
/** About 250,000 rows: a month of the busiest taxpayers comes in several packages. */
const MAX_METADATA_BYTES = 48 * 1024 * 1024

/**
 * The CFDIs of a ZIP, slice by slice; each outcome that is yielded has been committed. `reported` is the metadata of the same download
 * by UUID: what it says is cancelled is inserted as such, and is no cancellation. Throws PackageRejected when nothing can be read.
 */
export async function* ingestXmlPackage(
  target: Target,
  bytes: Uint8Array,
  reported: ReadonlyMap<string, MetadataRow> = new Map(),
): Outcomes {
  const files = readDirectory(bytes).flatMap((entry, n) => (entry.junk ? [] : [sealedEntry(bytes, entry, n)]))
  yield* ingestSealed(target, files, reported)
}

async function* ingestSealed(target: Target, files: readonly Sealed[], reported: ReadonlyMap<string, MetadataRow>): Outcomes {
  for (let at = 0; at < files.length; at += SLICE) {
    yield await settleSlice(target, xmlSlice(target, files.slice(at, at + SLICE), reported))
  }
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
    yield await settleSlice(target, metadataSlice(target, ordered.slice(at, at + SLICE), at))
  }
}

/** A file of metadata: its rows, and how many lines could not be read. */
interface MetadataFile {
  n: number
  name: string
  rows: MetadataRow[]
  unread: number
}

/** The rows of a ZIP's metadata files. XML entries are not opened. Throws PackageRejected. */
export const metadataOf = (bytes: Uint8Array): { rows: MetadataRow[]; unread: number } => {
  const files = metadataFilesOf(bytes)
  return { rows: files.flatMap(({ rows }) => rows), unread: files.reduce((sum, { unread }) => sum + unread, 0) }
}

/**
 * A ZIP that somebody uploaded, with XML, metadata or both; one result a file, junk left out. Each slice's results are committed with
 * it by the target's side statements, those of metadata files are only returned. A ZIP that cannot be read is one rejected file.
 */
export async function ingestPackage(target: Target, bytes: Uint8Array): Promise<EntryResult[]> {
  try {
    const listed = metadataFilesOf(bytes)
    const reported = new Map(listed.flatMap(({ rows }) => rows).map((row) => [row.uuid, row]))
    const results: EntryResult[] = []
    for await (const { entries } of ingestXmlPackage(target, bytes, reported)) results.push(...entries)
    for (const file of listed) results.push(await ingestMetadataFile(target, file))
    return results
  } catch (error) {
    if (!(error instanceof PackageRejected)) throw error
    return [{ n: 0, name: 'upload.zip', status: 'rejected', uuid: null, code: error.code, detail: error.message }]
  }
}

/** One file that somebody uploaded by itself: an XML, or a metadata TXT. */
export async function ingestFile(target: Target, bytes: Uint8Array): Promise<EntryResult[]> {
  const metadata = readMetadata(bytes, 'upload.txt', 0)
  if (metadata !== null) return [await ingestMetadataFile(target, metadata)]
  const results: EntryResult[] = []
  for await (const { entries } of ingestSealed(target, [sealedFile('upload.xml', bytes)], new Map())) results.push(...entries)
  return results
}

async function ingestMetadataFile(target: Target, { n, name, rows, unread }: MetadataFile): Promise<EntryResult> {
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

const metadataFilesOf = (bytes: Uint8Array): MetadataFile[] =>
  readDirectory(bytes).flatMap((entry, n) => {
    const content = entry.junk || /\.xml$/i.test(entry.name) ? null : contentOf(bytes, entry)
    return (content && readMetadata(content, entry.name, n)) ?? []
  })

function contentOf(bytes: Uint8Array, entry: Entry): Uint8Array | null {
  try {
    return inflate(bytes, entry, MAX_METADATA_BYTES)
  } catch (error) {
    if (error instanceof EntryRejected) return null
    throw error
  }
}

function readMetadata(content: Uint8Array, name: string, n: number): MetadataFile | null {
  if (kindOf(name, content) !== 'metadata') return null
  const file: MetadataFile = { n, name: shownName(name), rows: [], unread: 0 }
  for (const { row } of parseMetadata(content)) {
    if (row === undefined) file.unread++
    else file.rows.push(row)
  }
  return file
}
