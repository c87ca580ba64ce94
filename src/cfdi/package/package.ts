import { Readable } from 'node:stream'
import { constants, crc32, createInflateRaw, inflateRawSync } from 'node:zlib'
import { type Bytes, partsOf } from '../../platform/bytes/bytes.ts'
import type { ZipEntry } from './entries.ts'
import { isOfThirdParties } from './metadata.ts'
import { EntryRejected } from './zip-rejected.ts'

/**
 * Inflates the data of an entry and checks its size and its CRC-32. Never returns more than `limit` bytes; a ZIP bomb is stopped at twice
 * the size that it declares. Throws EntryRejected. Source: sat.md 1.7; reliability.md 4 X3.
 */
export const inflate = (data: Uint8Array, entry: ZipEntry, limit: number): Uint8Array => {
  if (entry.rejected !== null) throw entry.rejected
  if (entry.size > limit) throw new EntryRejected('zip.too_large', `The entry is larger than ${limit} bytes.`)
  const inflated = entry.method === 0 ? data : inflateRaw(data, entry.size)
  if (inflated.length !== entry.size) throw wrongSize()
  if (crc32(inflated) !== entry.crc32) throw wrongCrc()
  if (inflated[0] === 0x50 && inflated[1] === 0x4b && inflated[2] === 3 && inflated[3] === 4) {
    throw new EntryRejected('zip.nested', 'A ZIP inside a ZIP is not opened.')
  }
  return inflated
}

/**
 * Inflates what should have so many bytes, and stops at twice as many. workerd fails when its buffer has to grow beyond the limit, although
 * the content does not: a buffer of 40 KiB, 80 KiB, 160 KiB … grows by at least 40 KiB. With the size itself as the limit, every content of
 * 40 to 80, 80 to 120, 160 to 200, 320 to 360 … KiB would be refused; a content's last buffer is never twice as large as the content.
 */
const inflateRaw = (data: Uint8Array, size: number, finishFlush: number = constants.Z_FINISH): Uint8Array => {
  try {
    return inflateRawSync(data, { finishFlush, maxOutputLength: 2 * size + 64 })
  } catch (error) {
    // The messages of Node and workerd differ, but both throw a RangeError at the limit.
    throw error instanceof RangeError ? wrongSize() : corrupt()
  }
}

/** Enough compressed bytes to inflate what `kindOf` needs: the codes of a block take up to 300. */
const START = 1_024

/** Inflates at least the first 64 bytes of an entry, or all of a shorter one, unchecked; never more than 2 MiB. Throws EntryRejected. */
export const startOf = async (file: Bytes, entry: ZipEntry): Promise<Uint8Array> => {
  if (entry.rejected !== null) throw entry.rejected
  const data = await file.read(entry.offset, Math.min(entry.compressed_size, START))
  return entry.method === 0 ? data : inflateRaw(data, Math.min(entry.size, START * 1_032), constants.Z_SYNC_FLUSH)
}

/** How many compressed bytes are read at a time, and how many inflated ones are in memory. */
const PART = 64 * 1024

/**
 * Inflates an entry part by part, however large it is, and checks its size and its CRC-32 at the end, after the last part. Throws
 * EntryRejected.
 */
export async function* inflatedParts(file: Bytes, entry: ZipEntry): AsyncGenerator<Uint8Array, void, undefined> {
  if (entry.rejected !== null) throw entry.rejected
  const packed = partsOf(file, entry.offset, entry.compressed_size, PART)
  let [size, crc] = [0, 0]
  for await (const part of entry.method === 0 ? packed : inflatedStream(packed)) {
    size += part.length
    if (size > entry.size) throw wrongSize()
    crc = crc32(part, crc)
    yield part
  }
  if (size !== entry.size) throw wrongSize()
  if (crc !== entry.crc32) throw wrongCrc()
}

async function* inflatedStream(packed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const inflater = createInflateRaw({ chunkSize: PART })
  try {
    for await (const part of Readable.from(packed)
      .on('error', (error) => inflater.destroy(error))
      .pipe(inflater))
      yield part as Uint8Array
  } catch (error) {
    throw isOfZlib(error) ? corrupt() : error
  } finally {
    inflater.destroy()
  }
}

/** The codes of zlib's own errors begin with Z_, or ERR_ where workerd has its own. */
const isOfZlib = (error: unknown): boolean => /^(Z_|ERR_)/.test((error as { code?: string }).code ?? '')

const wrongSize = (): EntryRejected => new EntryRejected('zip.wrong_size', 'The size of the entry is not the one that the directory gives.')
const wrongCrc = (): EntryRejected => new EntryRejected('zip.wrong_crc', 'The entry is damaged: its CRC-32 does not match.')
const corrupt = (): EntryRejected => new EntryRejected('zip.corrupt', 'The compressed data of the entry are damaged.')

/** What an entry contains. */
export type EntryKind = 'xml' | 'metadata' | 'terceros' | 'junk'

/** In bytes: the header of metadata, whose columns come in any order, is shorter. */
const LONGEST_HEADER = 1_024

/** Recognises an entry by its first line, because names can be wrong. A file named `.xml` counts as XML, so that faults are reported. */
export const kindOf = (name: string, content: Uint8Array): EntryKind => {
  const start = new TextDecoder('utf-8').decode(content.subarray(0, LONGEST_HEADER)).replace(/^[\ufeff\s]+/, '')
  const names = /^.*/.exec(start.toLowerCase())![0].split('~')
  const columns = new Set(names.map((name) => name.trim()))
  if (names.length > 1 && columns.has('uuid')) return isOfThirdParties(columns) ? 'terceros' : 'metadata'
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
