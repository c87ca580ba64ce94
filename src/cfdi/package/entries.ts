import type { Bytes } from '../../platform/bytes/bytes.ts'
import { type CentralEntry, EntryRejected, viewOf } from './central-record.ts'
import type { Directory } from './directory.ts'

const LOCAL = 0x04034b50

/** An entry that has been located. */
export interface ZipEntry extends Omit<CentralEntry, 'flags' | 'local'> {
  /** Where the entry's data begins in the package; 0 when the entry is rejected. */
  readonly offset: number
  readonly rejected: EntryRejected | null
}

/** Whether something is read of an entry. */
export type IsWanted = (entry: CentralEntry) => boolean

/**
 * The entries of a ZIP in the order of their data, each found through its local header. Those that lie outside the file or overlap an
 * earlier one are rejected. Nothing is read of entries that are not wanted.
 */
export async function* entriesOf(
  file: Bytes,
  directory: Directory,
  isWanted: IsWanted = () => true,
): AsyncGenerator<ZipEntry, void, undefined> {
  let reached = 0
  for await (const central of directory.byOffset()) {
    if (!isWanted(central)) continue
    const { local, flags, ...entry } = central
    const header = local + 30 > directory.start ? null : viewOf(await file.read(local, 30))
    const isThere = header?.getUint32(0, true) === LOCAL
    const offset = isThere ? local + 30 + header.getUint16(26, true) + header.getUint16(28, true) : 0
    const end = offset + entry.compressed_size
    const rejected = rejectionOf(entry, flags) ?? misplaced(isThere, end > directory.start, local < reached && !entry.junk)
    if (isThere && end <= directory.start) reached = Math.max(reached, end)
    yield { ...entry, offset: rejected ? 0 : offset, rejected }
  }
}

const misplaced = (isThere: boolean, isBeyond: boolean, isOverlapping: boolean): EntryRejected | null => {
  if (!isThere) return new EntryRejected('zip.outside', 'The entry is not at the place that the directory gives.')
  if (isBeyond) return new EntryRejected('zip.outside', 'The entry extends beyond the file.')
  return isOverlapping ? new EntryRejected('zip.overlapping', 'The entry overlaps another entry.') : null
}

const rejectionOf = ({ method, junk, name }: Pick<ZipEntry, 'method' | 'junk' | 'name'>, flags: number): EntryRejected | null => {
  if (junk) return null
  if (flags & 0x2041) return new EntryRejected('zip.encrypted', 'The entry is encrypted.')
  if (method !== 0 && method !== 8)
    return new EntryRejected('zip.unsupported_method', 'The compression method of the entry is not supported.')
  if (/\.zip$/i.test(name)) return new EntryRejected('zip.nested', 'A ZIP inside a ZIP is not opened.')
  return null
}
