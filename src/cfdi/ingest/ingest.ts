import { type Bytes, detach } from '../../platform/bytes/bytes.ts'
import { memory } from '../../platform/memory-limiter.ts'
import { type Directory, readDirectory } from '../package/directory.ts'
import { entriesOf, type IsWanted, type ZipEntry } from '../package/entries.ts'
import { type ListedRow, uuidOfName } from '../package/package.ts'
import type { StatusLookup } from '../package/rejections.ts'
import { commitSlice, type IngestTarget, type SliceOutcome } from './commit-slice.ts'
import { fileOfEntry, metadataSlice, type UnopenedFile, xmlSlice } from './read-entries.ts'
import { type ContentKey, type KnownCfdi, readStored, readUnstored } from './reads.ts'
import { hasNews } from './row.ts'

export type { CancelledCfdi } from './apply-changes.ts'
export {
  type EntryResult,
  type IngestTarget,
  importPrefix,
  type Room,
  rejectedOf,
  type SliceOutcome,
  type XmlContent,
} from './commit-slice.ts'
export { CONFLICT, replaceDocuments } from './read-entries.ts'
export { type KnownCfdi, readStored, TooManyApplications } from './reads.ts'
export { type ImportSource, type ImportSourcePart, partsIn } from './row.ts'
export { deleteCommits } from './writes.ts'

export type Outcomes = AsyncGenerator<SliceOutcome, void, undefined>

/** The limits of a slice in entries and in bytes of XML, because the whole slice is in memory at once. `xmlSlice` adds one in rows. */
interface SliceLimit {
  entries: number
  bytes: number
}
const MIB = 1024 ** 2
const USUAL: SliceLimit = { entries: 1_000, bytes: 8 * MIB }
/**
 * A package of many documents has smaller slices. What a slice leaves behind piles up until the engine collects it: of 200 MB beside an
 * upload, an export and 50 readers the isolate then has 108 MB in use at the most, and 113 MB with usual slices.
 */
const SMALL: SliceLimit = { entries: 500, bytes: 2 * MIB }
const MANY_ENTRIES = 10_000
const MANY_BYTES = 8 * MIB
/** The limit of a slice of a package. */
export const sliceLimitOf = ({ length }: Pick<Directory, 'length'>, { size }: Pick<Bytes, 'size'>): SliceLimit =>
  length > MANY_ENTRIES || size > MANY_BYTES ? SMALL : USUAL

/** What a row of metadata takes, in bytes of XML that take as much. */
const METADATA_ROW_BYTES = 1_000

/**
 * Ingests the CFDIs of a ZIP, slice by slice; each outcome that is yielded has been committed. `reported` is the metadata of the same
 * download by UUID: new documents that it lists as cancelled are stored as cancelled, and are not reported as cancellations. From a package
 * that is shared with other months, only documents of the month are ingested. Throws PackageRejected when the ZIP cannot be read.
 */
export async function* ingestXmlPackage(
  target: IngestTarget,
  file: Bytes,
  reported: StatusLookup = new Map(),
  shared?: SharedXml,
): Outcomes {
  const some = new Set(shared?.unannounced === 'all' ? [] : shared?.unannounced)
  const isUnannounced = (n: number) => shared?.unannounced === 'all' || some.has(n)
  const isReported = (uuid: string | null) => uuid !== null && reported.get(uuid) !== undefined
  // An empty file is none of the documents that it is named after.
  const isWanted: IsWanted = ({ n, name, size }) => !shared || (size > 0 && (isUnannounced(n) || isReported(uuidOfName(name))))
  const directory = await readDirectory(file)
  try {
    const left = target.passesOverStored ? await unstoredEntries(target, directory, isWanted) : null
    const entries = entriesOf(file, directory, left === null ? isWanted : ({ n }) => left[n] === 1)
    yield* ingestFiles(
      target,
      filesOf(file, entries, ({ n }) => (isUnannounced(n) ? shared!.month : null)),
      reported,
      sliceLimitOf(directory, file),
    )
  } finally {
    directory.release()
  }
}

/** The documents that a month takes from an XML package with other months: reported ones, and unannounced ones of the month. */
export interface SharedXml {
  month: string
  /** The locations of the entries whose names no metadata lists; `all` while there is no metadata. */
  unannounced: readonly number[] | 'all'
}

/** The entries that may be CFDIs, as files. */
export async function* filesOf(
  file: Bytes,
  entries: AsyncIterable<ZipEntry>,
  monthOf: (entry: ZipEntry) => string | null = () => null,
): AsyncGenerator<UnopenedFile, void, undefined> {
  for await (const entry of entries) if (!entry.junk) yield await fileOfEntry(file, entry, monthOf(entry))
}

/** Ingests files, slice by slice. */
export async function* ingestFiles(
  target: IngestTarget,
  files: AsyncIterable<UnopenedFile>,
  reported: StatusLookup,
  limit = USUAL,
): Outcomes {
  const waiting: UnopenedFile[] = []
  let most = limit.entries
  const commit = async (): Promise<SliceOutcome> => {
    const slice = xmlSlice(target, waiting.slice(0, most), reported)
    const outcome = await memory.hold(bytesOf(waiting), () => commitSlice(target, slice))
    // The next ones may name the same documents.
    most = slice.isDivided() ? slice.taken() : Math.min(2 * most, limit.entries)
    for (const file of waiting.splice(0, slice.taken())) file.release()
    return outcome
  }
  try {
    for await (const file of files) {
      while (isFull(waiting, file, limit)) yield await commit()
      waiting.push(file)
    }
    while (waiting.length > 0) yield await commit()
  } finally {
    // The budget of the invocation has ended: the next one reads them again.
    for (const file of waiting) file.release()
  }
}

const bytesOf = (files: readonly UnopenedFile[]): number => files.reduce((sum, { weight }) => sum + weight, 0)

const isFull = (files: readonly UnopenedFile[], next: UnopenedFile, { entries, bytes }: SliceLimit): boolean =>
  files.length === entries || (files.length > 0 && bytesOf(files) + next.weight > bytes)

/**
 * Ingests metadata rows, slice by slice. Unknown documents are stored without XML; stored valid documents that are cancelled now are
 * cancelled and listed as cancellations. The entries of an outcome are the rows. Payments and credit notes come after all other rows, so
 * that the cancellation of an invoice and its payment is reported as that of a paid invoice, whatever their order in the file: therefore
 * the rows, which come some at a time, are read twice. The first `done` rows in that order are left out.
 */
export async function* ingestMetadata(target: IngestTarget, read: () => Few<ListedRow>, done = 0): Outcomes {
  let slice: ListedRow[] = []
  let [later, passed] = [0, 0]
  const commit = async (): Promise<SliceOutcome> => {
    const part = metadataSlice(target, slice)
    const outcome = await memory.hold(slice.length * METADATA_ROW_BYTES, () => commitSlice(target, part))
    slice = slice.slice(part.taken())
    return outcome
  }
  for (const pass of ['first', 'last'] as const) {
    if (pass === 'last' && later === 0) break
    for await (const rows of target.passesOverStored ? unstoredRows(target, read()) : read()) {
      for (const row of rows) {
        const isLater = row.tipo_comprobante === 'P' || row.tipo_comprobante === 'E'
        if (isLater && pass === 'first') later++
        if (isLater !== (pass === 'last') || passed++ < done) continue
        slice.push(detach(row))
        while (slice.length >= USUAL.entries) yield await commit()
      }
    }
  }
  while (slice.length > 0) yield await commit()
}

/** Documents of one look-up. It takes one statement, and an unchanged slice two for a fifth as many. */
const LOOKED_UP = 5_000

type Few<T> = AsyncIterable<readonly T[]> | Iterable<readonly T[]>

/** Has a 1 at the locations of the wanted entries whose documents are not stored with these bytes. No others are read again. */
async function unstoredEntries(target: IngestTarget, directory: Directory, isWanted: IsWanted): Promise<Uint8Array> {
  const locations = new Uint8Array(directory.length)
  for await (const group of groupsOf(wantedIn(directory, isWanted))) {
    await target.beforeSlice?.()
    const named = group.flatMap(({ n, uuid, crc32, size }): ContentKey[] => (uuid === null ? [] : [[n, uuid, crc32, size]]))
    for (const n of await readUnstored(target.ledger, target.entity, named)) locations[n] = 1
    for (const { n, uuid } of group) if (uuid === null) locations[n] = 1
  }
  return locations
}

async function* wantedIn(directory: Directory, isWanted: IsWanted) {
  for await (const entry of directory.entries()) if (isWanted(entry)) yield [{ ...entry, uuid: uuidOfName(entry.name) }]
}

/** The metadata rows that would change something, some at a time. */
async function* unstoredRows(target: IngestTarget, rows: Few<ListedRow>): AsyncGenerator<ListedRow[], void, undefined> {
  const isStored = (row: ListedRow, stored: KnownCfdi) => !hasNews(row, stored)
  for await (const group of groupsOf(rows)) yield await unstored(target, group, isStored)
}

async function* groupsOf<T>(few: Few<T>): AsyncGenerator<T[], void, undefined> {
  let group: T[] = []
  for await (const items of few)
    for (const item of items) {
      group.push(item)
      if (group.length < LOOKED_UP) continue
      yield group
      group = []
    }
  if (group.length > 0) yield group
}

async function unstored<T extends { uuid: string | null }>(
  { ledger, entity, beforeSlice }: IngestTarget,
  group: readonly T[],
  isStored: (item: T, stored: KnownCfdi) => boolean,
): Promise<T[]> {
  await beforeSlice?.()
  const uuids = group.flatMap(({ uuid }) => uuid ?? [])
  const stored = await readStored(ledger, entity, uuids)
  return group.filter((item) => {
    const known = item.uuid === null ? undefined : stored.get(item.uuid)
    return known === undefined || !isStored(item, known)
  })
}
