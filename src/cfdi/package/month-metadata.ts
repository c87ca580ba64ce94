import { bytesInMemory } from './bytes.ts'
import { EntryRejected, entriesOf, PackageRejected, readDirectory } from './directory.ts'
import type { MetadataRow } from './metadata.ts'
import { MAX_METADATA_BYTES, type MetadataFile, openMetadataEntry } from './metadata-files.ts'
import { isXml, kindOf, startOf } from './package.ts'
import { ReportedStatuses } from './reported.ts'

/**
 * The metadata of a month that is being downloaded. The packages are kept as they came, compressed, beside the status of each document;
 * their rows are read again when the XML has been ingested.
 */
export class MonthMetadata {
  readonly statuses = new ReportedStatuses()
  readonly #files: MetadataFile[] = []

  /**
   * Adds a downloaded package; XML entries are not opened. Throws PackageRejected, also when a metadata file is damaged or they are too
   * large together, because a month without some of its metadata would pass for complete.
   */
  async add(bytes: Uint8Array): Promise<void> {
    for (const file of await metadataIn(bytes)) {
      this.#files.push(file)
      for await (const rows of rowsOf(file)) for (const row of rows) this.statuses.add(row)
    }
  }

  /** Notes which documents have been delivered with their XML: the entries of a slice that were not rejected. */
  deliver(entries: readonly { uuid: string | null; status: string }[]): void {
    for (const { uuid, status } of entries) if (uuid !== null && status !== 'rejected') this.statuses.deliver(uuid)
  }

  /** The rows of documents that only the metadata has, and of those that it reports as cancelled. */
  async *rowsLeft(): AsyncGenerator<MetadataRow[], void, undefined> {
    if (this.statuses.left === 0) return
    for (const file of this.#files) for await (const rows of rowsOf(file)) yield rows.filter(({ uuid }) => this.statuses.isLeft(uuid))
  }
}

export async function* rowsOf(file: MetadataFile): AsyncGenerator<MetadataRow[], void, undefined> {
  for await (const lines of file.lines()) yield lines.flatMap(({ row }) => row ?? [])
}

async function metadataIn(bytes: Uint8Array): Promise<MetadataFile[]> {
  const file = bytesInMemory(bytes)
  const files: MetadataFile[] = []
  let left = MAX_METADATA_BYTES
  try {
    for await (const entry of entriesOf(file, await readDirectory(file))) {
      if (entry.junk || isXml(entry.name) || kindOf(entry.name, await startOf(file, entry)) !== 'metadata') continue
      files.push(await openMetadataEntry(file, entry, left))
      left -= entry.size
    }
  } catch (error) {
    throw error instanceof EntryRejected ? new PackageRejected(error.code, error.message) : error
  }
  return files
}
