import { type Entry, EntryRejected } from './directory.ts'
import { type MetadataRow, parseMetadata } from './metadata.ts'
import { inflate, isXml, kindOf, shownName, startOf } from './package.ts'

/** All of a package's metadata, inflated. About 250,000 rows: a month of the busiest taxpayers comes in several packages. */
const MAX_METADATA_BYTES = 48 * 1024 * 1024

/** A file of metadata: its rows and how many lines could not be read, or why it was not read at all. */
export interface MetadataFile {
  n: number
  name: string
  rows: MetadataRow[]
  unread: number
  rejected: EntryRejected | null
}

/**
 * The metadata files of a package, and the places of all entries that were recognised as no CFDI by that. Nothing is inflated but what
 * begins as metadata does: 48 MiB in all, and what goes beyond is rejected as `zip.too_large`.
 */
export function metadataFilesOf(bytes: Uint8Array, entries: readonly Entry[]): { files: MetadataFile[]; recognised: Set<number> } {
  const files: MetadataFile[] = []
  const recognised = new Set<number>()
  let left = MAX_METADATA_BYTES
  entries.forEach((entry, n) => {
    if (entry.junk || isXml(entry.name)) return
    const kind = kindOfEntry(bytes, entry)
    if (kind === 'metadata' || kind === 'terceros') recognised.add(n)
    if (kind !== 'metadata') return
    files.push(open(bytes, entry, n, left))
    if (entry.size <= left) left -= entry.size
  })
  return { files, recognised }
}

/** A file as a metadata TXT; null when it is something else. */
export const readMetadata = (content: Uint8Array, name: string, n: number): MetadataFile | null =>
  kindOf(name, content) === 'metadata' ? read(content, name, n) : null

const kindOfEntry = (bytes: Uint8Array, entry: Entry) => rescued(() => kindOf(entry.name, startOf(bytes, entry)))

function open(bytes: Uint8Array, entry: Entry, n: number, left: number): MetadataFile {
  const opened = rescued(() => {
    if (entry.size > left) throw new EntryRejected('zip.too_large', 'The metadata of a package is larger than 48 MiB.')
    return inflate(bytes, entry, left)
  })
  if (opened instanceof EntryRejected) return { n, name: shownName(entry.name), rows: [], unread: 0, rejected: opened }
  return read(opened, entry.name, n)
}

function read(content: Uint8Array, name: string, n: number): MetadataFile {
  const file: MetadataFile = { n, name: shownName(name), rows: [], unread: 0, rejected: null }
  for (const { row } of parseMetadata(content)) {
    if (row === undefined) file.unread++
    else file.rows.push(row)
  }
  return file
}

function rescued<T>(work: () => T): T | EntryRejected {
  try {
    return work()
  } catch (error) {
    if (error instanceof EntryRejected) return error
    throw error
  }
}
