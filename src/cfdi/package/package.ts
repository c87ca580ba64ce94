import { constants, crc32, inflateRawSync } from 'node:zlib'
import { type Entry, EntryRejected } from './directory.ts'

/**
 * The bytes of an entry, after checking their number and their CRC-32. Throws EntryRejected; never yields more than `limit` bytes, and
 * a bomb is stopped at its declared size, a large one a megabyte later. Source: sat.md 1.7; reliability.md 4 X3.
 */
export const inflate = (bytes: Uint8Array, entry: Entry, limit: number): Uint8Array => {
  if (entry.rejected !== null) throw entry.rejected
  if (entry.size > limit) throw new EntryRejected('zip.too_large', `The entry is larger than ${limit} bytes.`)
  const data = bytes.subarray(entry.offset, entry.offset + entry.compressed_size)
  const inflated = entry.method === 0 ? data : inflateRaw(data, entry.size)
  if (inflated.length !== entry.size) throw wrongSize()
  if (crc32(inflated) !== entry.crc32) throw new EntryRejected('zip.wrong_crc', 'The entry is damaged: its CRC-32 differs.')
  if (inflated[0] === 0x50 && inflated[1] === 0x4b && inflated[2] === 3 && inflated[3] === 4) {
    throw new EntryRejected('zip.nested', 'A package inside a package is not opened.')
  }
  return inflated
}

const CHUNK = 1 << 20

const inflateRaw = (data: Uint8Array, size: number, finishFlush: number = constants.Z_FINISH): Uint8Array => {
  // workerd's buffer grows by leaps and gives up where the next one goes over the limit: some sizes just above 1.25, 2.5 or 5 MiB need room.
  const maxOutputLength = size < CHUNK ? Math.max(size, 1) : size + CHUNK
  try {
    return inflateRawSync(data, { finishFlush, maxOutputLength, chunkSize: Math.min(Math.max(size + 1, 64), CHUNK) })
  } catch (error) {
    // Node and workerd say neither of the two in the same way, but both throw a RangeError at the limit.
    throw error instanceof RangeError ? wrongSize() : new EntryRejected('zip.corrupt', 'The compressed data of the entry are damaged.')
  }
}

/** Compressed bytes of which what `kindOf` looks at can be read: the codes of a block take up to 300. */
const START = 1_024

/** How an entry begins, not checked: 64 bytes of it or more, all of a shorter one. Never inflates more than 2 MiB. Throws EntryRejected. */
export const startOf = (bytes: Uint8Array, entry: Entry): Uint8Array => {
  if (entry.rejected !== null) throw entry.rejected
  const data = bytes.subarray(entry.offset, entry.offset + Math.min(entry.compressed_size, START))
  return entry.method === 0 ? data : inflateRaw(data, Math.min(entry.size, START * 1_032), constants.Z_SYNC_FLUSH)
}

const wrongSize = (): EntryRejected => new EntryRejected('zip.wrong_size', 'The entry is not as long as the directory says.')

/** What an entry holds: told by what it begins with, for names lie; a file called .xml is one, so that it is reported if it is none. */
export type EntryKind = 'xml' | 'metadata' | 'terceros' | 'junk'

export const kindOf = (name: string, content: Uint8Array): EntryKind => {
  const start = new TextDecoder('utf-8').decode(content.subarray(0, 64)).replace(/^[\ufeff\s]+/, '')
  if (/^uuid~RfcACuentaTerceros\b/i.test(start)) return 'terceros'
  if (/^[A-Za-z]+~/.test(start) && /(?:^|~)Uuid(?:~|$)/i.test(start)) return 'metadata'
  return start.startsWith('<') || isXml(name) ? 'xml' : 'junk'
}

/** Whether a file's name claims that it is a CFDI. */
export const isXml = (name: string): boolean => /\.xml$/i.test(name)

const UUID = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/i

/** The UUID that a file is called by, in upper case, whatever folders and extensions are around it; null when there is none. */
export const uuidOfName = (name: string): string | null => UUID.exec(name.slice(name.search(/[^\\/]*$/)))?.[0].toUpperCase() ?? null

/** A name fit for a report: without control characters and no longer than 120 characters. */
export const shownName = (name: string): string => {
  const shown = name.replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}]/gu, '\ufffd')
  return shown.length > 120 ? `${shown.slice(0, 119)}…` : shown
}
