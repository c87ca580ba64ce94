import type { Bytes } from '../../platform/bytes/bytes.ts'
import { readDirectory } from './directory.ts'
import { entriesOf, type ZipEntry } from './entries.ts'
import type { ListedRow, MetadataRow } from './metadata.ts'
import { MAX_METADATA_BYTES, type MetadataFile, openMetadataEntry } from './metadata-files.ts'
import { isXml, kindOf, shownName, startOf } from './package.ts'
import { type Rejection, Rejections } from './rejections.ts'
import { ReportedStatuses } from './reported.ts'
import { EntryRejected, PackageRejected } from './zip-rejected.ts'

/** What is downloaded: the month of a source of a taxpayer. */
interface WantedMetadata {
  rfc: string
  direction: 0 | 1
  month: string
}

/** Of a package with documents of other months: whether the month answers for what is of none, whether some are missing, and what was asked for. */
interface SharedMetadata {
  is_last: boolean
  is_short: boolean
  isAsked(time: string): boolean
  family: MetadataRow['kind']
}

interface MonthFile {
  file: MetadataFile
  /** Whether a row counts. */
  isOwn(row: ListedRow): boolean
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
  readonly #wanted: WantedMetadata

  constructor(wanted: WantedMetadata) {
    this.#wanted = wanted
  }

  /**
   * Adds a downloaded package; XML entries are not opened. Only rows of the month and the source count. Of a package with rows of other months,
   * each month tells of its own lines that cannot be read, and the last one of what nobody can date, and of what is of no time that was asked
   * for: nobody else would. Of a package of the month alone, everything else is rejected. Throws PackageRejected, also when a metadata file is
   * damaged or they are too large together, because a month without some of its metadata would pass for complete.
   */
  async add(file: Bytes, shared?: SharedMetadata): Promise<void> {
    const { month } = this.#wanted
    const isAnsweredFor = (time: string | null): boolean => {
      if (!shared || time?.startsWith(month)) return true
      return shared.is_last && (time === null || !shared.isAsked(time))
    }
    const isOfMonth = (row: ListedRow): boolean => (shared || row.fecha !== null ? monthOf(row) === month : true)
    const isOwn = (row: ListedRow): boolean => isOfMonth(row) && this.#isOfSource(row)
    const unread: UnreadRows = {
      add: (one, month) => {
        if (isAnsweredFor(month)) this.rejected.add(one)
      },
    }
    const others = (row: ListedRow): void => {
      if (isOfMonth(row)) this.rejected.add(stray(row, 'metadata.other_source'))
      else if (row.fecha !== null && isAnsweredFor(row.fecha)) this.rejected.add(stray(row, 'metadata.outside_period'))
    }
    // How many documents a shared package has, the authority says: what else is in it is no loss.
    const rejected = shared === undefined || (shared.is_last && shared.is_short) ? this.rejected : undefined
    for (const one of await metadataIn(file, rejected, shared === undefined)) {
      const read = { file: one, isOwn, family: shared?.family ?? null }
      this.#files.push(read)
      for await (const rows of rowsOfMonth(read, unread, others)) for (const row of rows) this.statuses.add(row)
    }
  }

  /** What is of neither party is rejected where rows are stored. */
  #isOfSource({ emisor_rfc, receptor_rfc }: ListedRow): boolean {
    const { rfc, direction } = this.#wanted
    const [own, other] = direction === 0 ? [emisor_rfc, receptor_rfc] : [receptor_rfc, emisor_rfc]
    return own === rfc || other !== rfc
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

/** The rows that count. `others` is told of each other one. */
async function* rowsOfMonth({ file, isOwn, family }: MonthFile, rejected?: UnreadRows, others?: (row: ListedRow) => void) {
  for await (const rows of rowsOf(file, rejected)) {
    const own = rows.filter((row) => {
      const is = isOwn(row)
      if (!is) others?.(row)
      return is
    })
    if (family === 'retenciones') for (const row of own) row.kind = family
    yield own
  }
}

const stray = ({ file, line, uuid }: ListedRow, code: string): Rejection => ({ name: file, line, code, uuid })

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

/**
 * The metadata files of a package. One without any is rejected by what it has in their place; with `every`, whatever else it has is rejected
 * that is not empty. Throws PackageRejected.
 */
export async function metadataIn(file: Bytes, rejected?: Rejections, every = false): Promise<MetadataFile[]> {
  const files: MetadataFile[] = []
  /** What is no list of CFDIs. Alone it stands where one should be. */
  const odd: ZipEntry[] = []
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
      } else if (kind !== 'terceros' && !/tercero/i.test(name)) odd.push(entry)
    } catch (error) {
      throw error instanceof EntryRejected ? new PackageRejected(error.code, error.message, name) : error
    }
  }
  directory.release()
  const told = files.length === 0 ? odd : odd.filter(({ size }) => every && size > 0)
  const names = files.length + odd.length === 0 ? ['package.zip'] : told.map(({ name }) => shownName(name))
  for (const name of names) rejected?.add({ name, line: null, code: 'metadata.no_rows', uuid: null })
  return files
}
