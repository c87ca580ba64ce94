import { bytesInMemory } from './bytes.ts'
import { EntryRejected, entriesOf, PackageRejected, readDirectory } from './directory.ts'
import type { ListedRow } from './metadata.ts'
import { MAX_METADATA_BYTES, type MetadataFile, openMetadataEntry } from './metadata-files.ts'
import { isXml, kindOf, shownName, startOf } from './package.ts'
import { Rejections } from './rejections.ts'
import { ReportedStatuses } from './reported.ts'

/**
 * The metadata of a month that is being downloaded. The packages are kept as they came, compressed, beside the status of each document;
 * their rows are read again when the XML has been ingested.
 */
export class MonthMetadata {
  readonly statuses = new ReportedStatuses()
  /** The lines that could not be read, and the files that are no metadata. */
  readonly rejected = new Rejections()
  readonly #files: MetadataFile[] = []

  /**
   * Adds a downloaded package; XML entries are not opened. Throws PackageRejected, also when a metadata file is damaged or they are too
   * large together, because a month without some of its metadata would pass for complete.
   */
  async add(bytes: Uint8Array): Promise<void> {
    for (const file of await metadataIn(bytes, this.rejected)) {
      this.#files.push(file)
      for await (const rows of rowsOf(file, this.rejected)) for (const row of rows) this.statuses.add(row)
    }
  }

  /** Notes which documents have been delivered with their XML: the entries of a slice that were not rejected. */
  deliver(entries: readonly { uuid: string | null; status: string }[]): void {
    for (const { uuid, status } of entries) if (uuid !== null && status !== 'rejected') this.statuses.deliver(uuid)
  }

  /** The rows of documents that only the metadata has, and of those that it reports as cancelled. */
  async *rowsLeft(): AsyncGenerator<ListedRow[], void, undefined> {
    if (this.statuses.left === 0) return
    for (const file of this.#files) for await (const rows of rowsOf(file)) yield rows.filter(({ uuid }) => this.statuses.isLeft(uuid))
  }
}

/** The rows of a file, some at a time. The lines that cannot be read are added to `rejected`. */
export async function* rowsOf(file: MetadataFile, rejected?: Rejections): AsyncGenerator<ListedRow[], void, undefined> {
  const { name } = file
  for await (const lines of file.lines())
    yield lines.flatMap((one) => {
      if (one.row) return Object.assign(one.row, { file: name, line: one.line })
      rejected?.add({ name, ...one.rejected, uuid: null })
      return []
    })
}

async function metadataIn(bytes: Uint8Array, rejected: Rejections): Promise<MetadataFile[]> {
  const file = bytesInMemory(bytes)
  const files: MetadataFile[] = []
  let left = MAX_METADATA_BYTES
  for await (const entry of entriesOf(file, await readDirectory(file))) {
    if (entry.junk || isXml(entry.name)) continue
    const name = shownName(entry.name)
    try {
      const kind = kindOf(entry.name, await startOf(file, entry))
      if (kind === 'metadata') {
        files.push(await openMetadataEntry(file, entry, left))
        left -= entry.size
      } else if (kind !== 'terceros' && !/tercero/i.test(name)) rejected.add({ name, line: null, code: 'metadata.no_rows', uuid: null })
    } catch (error) {
      throw error instanceof EntryRejected ? new PackageRejected(error.code, error.message, name) : error
    }
  }
  return files
}
