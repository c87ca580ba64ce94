import { EntryRejected, type ZipEntry } from './directory.ts'
import { type MetadataRow, parseMetadata } from './metadata.ts'
import { inflate, isXml, kindOf, shownName, startOf } from './package.ts'

/** The limit of the metadata in one package, in inflated bytes: about 250,000 rows. Larger months come in several packages. */
const MAX_METADATA_BYTES = 48 * 1024 * 1024

/** A metadata file: its rows and the number of lines that could not be read, or why the whole file could not. */
export interface MetadataFile {
  n: number
  name: string
  rows: MetadataRow[]
  unread: number
  rejected: EntryRejected | null
}

/**
 * Reads the metadata files of a package. `recognised` has the places of all entries that are metadata of some kind and therefore no CFDIs.
 * Only entries that begin like metadata are inflated; those beyond 48 MiB in all are rejected as `zip.too_large`.
 */
export function metadataFilesOf(bytes: Uint8Array, entries: readonly ZipEntry[]): { files: MetadataFile[]; recognised: Set<number> } {
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

/** Reads a file as a metadata TXT. Returns null when it is something else. */
export const readMetadata = (content: Uint8Array, name: string, n: number): MetadataFile | null =>
  kindOf(name, content) === 'metadata' ? read(content, name, n) : null

const kindOfEntry = (bytes: Uint8Array, entry: ZipEntry) => orRejection(() => kindOf(entry.name, startOf(bytes, entry)))

function open(bytes: Uint8Array, entry: ZipEntry, n: number, left: number): MetadataFile {
  const opened = orRejection(() => {
    if (entry.size > left) throw new EntryRejected('zip.too_large', 'The metadata of the package is larger than 48 MiB.')
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

function orRejection<T>(work: () => T): T | EntryRejected {
  try {
    return work()
  } catch (error) {
    if (error instanceof EntryRejected) return error
    throw error
  }
}
