import type { Bytes } from '../../platform/bytes/bytes.ts'
import { EntryRejected, entriesOf, PackageRejected, readDirectory } from './directory.ts'
import type { ListedRow, MetadataRow } from './metadata.ts'
import { MAX_METADATA_BYTES, type MetadataFile, openMetadataEntry } from './metadata-files.ts'
import { isXml, kindOf, shownName, startOf } from './package.ts'
import { type Rejection, Rejections } from './rejections.ts'
import { ReportedStatuses } from './reported.ts'

/** Of a package with documents of other months: the month, whether it answers for what is of none, and what was asked for. */
interface SharedMetadata {
  month: string
  is_last: boolean
  isAsked(time: string): boolean
  family: MetadataRow['kind']
}

interface MonthFile {
  file: MetadataFile
  /** The month whose rows count; null when all of them do. */
  month: string | null
  /** What its documents are; null when its columns say that. */
  family: MetadataRow['kind'] | null
}

/**
 * The metadata of a month that is being downloaded. The packages are kept as they came, compressed, beside the status of each document;
 * their rows are read again when the XML has been ingested.
 */
export class MonthMetadata {
  readonly statuses = new ReportedStatuses()
  /** The lines that could not be read, and the files that are no metadata. */
  readonly rejected = new Rejections()
  readonly #files: MonthFile[] = []

  /**
   * Adds a downloaded package; XML entries are not opened. Of one with rows of other months only those of `shared.month` count, also of those
   * that cannot be read. For the last month it rejects what nobody can date, and what is of no time that was asked for: nobody else would tell
   * of these. Throws PackageRejected, also when a metadata file is damaged or they are too large together, because a month without some of its
   * metadata would pass for complete.
   */
  async add(file: Bytes, shared?: SharedMetadata): Promise<void> {
    const rejected = shared?.is_last === false ? undefined : this.rejected
    const isOwn = (month: string | null): boolean => {
      if (!shared || month === shared.month) return true
      return shared.is_last && (month === null || !shared.isAsked(month))
    }
    const unread: UnreadRows = {
      add: (one, month) => {
        if (isOwn(month)) this.rejected.add(one)
      },
    }
    for (const one of await metadataIn(file, rejected)) {
      const read = { file: one, month: shared?.month ?? null, family: shared?.family ?? null }
      this.#files.push(read)
      const others = shared?.is_last
        ? (row: ListedRow) => {
            if (row.fecha !== null && !shared.isAsked(row.fecha)) this.rejected.add(outside(row))
          }
        : undefined
      for await (const rows of rowsOfMonth(read, unread, others)) for (const row of rows) this.statuses.add(row)
    }
  }

  /** Notes which documents have been delivered with their XML: the entries of a slice that were not rejected. */
  deliver(entries: readonly { uuid: string | null; status: string }[]): void {
    for (const { uuid, status } of entries) if (uuid !== null && status !== 'rejected') this.statuses.deliver(uuid)
  }

  /** The rows of documents that only the metadata has, and of those that it reports as cancelled. */
  async *rowsLeft(): AsyncGenerator<ListedRow[], void, undefined> {
    if (this.statuses.left === 0) return
    for (const file of this.#files) for await (const rows of rowsOfMonth(file)) yield rows.filter(({ uuid }) => this.statuses.isLeft(uuid))
  }
}

/** What takes the rows that cannot be read, each with the month of its Fecha if that can be read. */
interface UnreadRows {
  add(rejection: Rejection, month: string | null): void
}

/** The rows of a month, or all of them. `others` is told of each of another month. */
async function* rowsOfMonth({ file, month, family }: MonthFile, rejected?: UnreadRows, others?: (row: ListedRow) => void) {
  const isOwn = (row: ListedRow): boolean => {
    const own = month === null || monthOf(row) === month
    if (!own) others?.(row)
    return own
  }
  for await (const rows of rowsOf(file, rejected)) {
    const own = rows.filter(isOwn)
    if (family === 'retenciones') for (const row of own) row.kind = family
    yield own
  }
}

const outside = ({ file, line, uuid }: ListedRow): Rejection => ({ name: file, line, code: 'metadata.outside_period', uuid })

/** The month of a row; empty when it has no date. */
export const monthOf = ({ fecha, certified_at }: Pick<ListedRow, 'fecha' | 'certified_at'>): string =>
  (fecha ?? certified_at ?? '').slice(0, 7)

/** The rows of a file, some at a time. The lines that cannot be read are added to `rejected`. */
export async function* rowsOf(file: MetadataFile, rejected?: UnreadRows): AsyncGenerator<ListedRow[], void, undefined> {
  const { name } = file
  for await (const lines of file.lines())
    yield lines.flatMap((one) => {
      if (one.row) return Object.assign(one.row, { file: name, line: one.line })
      const { month, ...why } = one.rejected
      rejected?.add({ name, ...why, uuid: null }, month)
      return []
    })
}

/** The metadata files of a package. One without any is rejected by what it has in their place. Throws PackageRejected. */
export async function metadataIn(file: Bytes, rejected?: Rejections): Promise<MetadataFile[]> {
  const files: MetadataFile[] = []
  /** What is no list of CFDIs. Beside one it is no loss; alone it stands where one should be. */
  const odd: string[] = []
  let left = MAX_METADATA_BYTES
  const directory = await readDirectory(file)
  for await (const entry of entriesOf(file, directory)) {
    if (entry.junk || isXml(entry.name)) continue
    const name = shownName(entry.name)
    try {
      const kind = kindOf(entry.name, await startOf(file, entry))
      if (kind === 'metadata') {
        files.push(await openMetadataEntry(file, entry, left))
        left -= entry.size
      } else if (kind !== 'terceros' && !/tercero/i.test(name)) odd.push(name)
    } catch (error) {
      throw error instanceof EntryRejected ? new PackageRejected(error.code, error.message, name) : error
    }
  }
  directory.release()
  if (files.length === 0)
    for (const name of odd.length > 0 ? odd : ['package.zip']) rejected?.add({ name, line: null, code: 'metadata.no_rows', uuid: null })
  return files
}
