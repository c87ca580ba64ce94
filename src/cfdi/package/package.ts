import { constants, crc32, inflateRawSync } from 'node:zlib'
import { EntryRejected, type ZipEntry } from './directory.ts'

/**
 * Inflates an entry and checks its size and its CRC-32. Never returns more than `limit` bytes; a ZIP bomb is stopped at its declared size,
 * or a megabyte later when it declares a megabyte or more. Throws EntryRejected. Source: sat.md 1.7; reliability.md 4 X3.
 */
export const inflate = (bytes: Uint8Array, entry: ZipEntry, limit: number): Uint8Array => {
  if (entry.rejected !== null) throw entry.rejected
  if (entry.size > limit) throw new EntryRejected('zip.too_large', `The entry is larger than ${limit} bytes.`)
  const data = bytes.subarray(entry.offset, entry.offset + entry.compressed_size)
  const inflated = entry.method === 0 ? data : inflateRaw(data, entry.size)
  if (inflated.length !== entry.size) throw wrongSize()
  if (crc32(inflated) !== entry.crc32) throw new EntryRejected('zip.wrong_crc', 'The entry is damaged: its CRC-32 does not match.')
  if (inflated[0] === 0x50 && inflated[1] === 0x4b && inflated[2] === 3 && inflated[3] === 4) {
    throw new EntryRejected('zip.nested', 'A ZIP inside a ZIP is not opened.')
  }
  return inflated
}

const CHUNK = 1 << 20

const inflateRaw = (data: Uint8Array, size: number, finishFlush: number = constants.Z_FINISH): Uint8Array => {
  // workerd grows its buffer in steps and fails when a step exceeds the limit, so some sizes just above 1.25, 2.5 or 5 MiB need room.
  const maxOutputLength = size < CHUNK ? Math.max(size, 1) : size + CHUNK
  try {
    return inflateRawSync(data, { finishFlush, maxOutputLength, chunkSize: Math.min(Math.max(size + 1, 64), CHUNK) })
  } catch (error) {
    // The messages of Node and workerd differ, but both throw a RangeError at the limit.
    throw error instanceof RangeError ? wrongSize() : new EntryRejected('zip.corrupt', 'The compressed data of the entry are damaged.')
  }
}

/** Enough compressed bytes to inflate what `kindOf` needs: the codes of a block take up to 300. */
const START = 1_024

/** Inflates at least the first 64 bytes of an entry, or all of a shorter one, unchecked; never more than 2 MiB. Throws EntryRejected. */
export const startOf = (bytes: Uint8Array, entry: ZipEntry): Uint8Array => {
  if (entry.rejected !== null) throw entry.rejected
  const data = bytes.subarray(entry.offset, entry.offset + Math.min(entry.compressed_size, START))
  // workerd refuses a part whose output comes within some bytes of the limit, so that the limit leaves room.
  return entry.method === 0 ? data : inflateRaw(data, Math.min(entry.size + 64, START * 1_032), constants.Z_SYNC_FLUSH)
}

const wrongSize = (): EntryRejected => new EntryRejected('zip.wrong_size', 'The size of the entry is not the one that the directory gives.')

/** What an entry contains. */
export type EntryKind = 'xml' | 'metadata' | 'terceros' | 'junk'

/** Recognises an entry by its first bytes, because names can be wrong. A file named `.xml` counts as XML, so that faults are reported. */
export const kindOf = (name: string, content: Uint8Array): EntryKind => {
  const start = new TextDecoder('utf-8').decode(content.subarray(0, 64)).replace(/^[\ufeff\s]+/, '')
  if (/^uuid~RfcACuentaTerceros\b/i.test(start)) return 'terceros'
  if (/^[A-Za-z]+~/.test(start) && /(?:^|~)Uuid(?:~|$)/i.test(start)) return 'metadata'
  return start.startsWith('<') || isXml(name) ? 'xml' : 'junk'
}

/** Whether a file's name claims that it is a CFDI. */
export const isXml = (name: string): boolean => /\.xml$/i.test(name)

const UUID = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/i

/** The UUID in a file's name, in upper case, without regard to folders and extensions. Null when there is none. */
export const uuidOfName = (name: string): string | null => UUID.exec(name.slice(name.search(/[^\\/]*$/)))?.[0].toUpperCase() ?? null

/** A name that is safe to show: without control characters and at most 120 characters long. */
export const shownName = (name: string): string => {
  const shown = name.replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}]/gu, '\ufffd')
  return shown.length > 120 ? `${shown.slice(0, 119)}…` : shown
}
