import { type Bytes, partsOf } from '../../platform/bytes/bytes.ts'
import type { ZipEntry } from './entries.ts'
import { type MetadataLine, MetadataReader } from './metadata.ts'
import { inflatedParts, shownName } from './package.ts'
import { EntryRejected } from './zip-rejected.ts'

/** The limit of the metadata in one package, in inflated bytes: about 250,000 rows. Larger months come in several packages. */
export const MAX_METADATA_BYTES = 48 * 1024 * 1024
const PART = 64 * 1024

/** A metadata file that has been read once to its end, so that nothing of a damaged one is ever used. It is never in memory as a whole. */
export interface MetadataFile {
  /** Safe to be shown. */
  name: string
  /** Its lines, some at a time. Each call reads the file again. */
  lines(): AsyncGenerator<MetadataLine[], void, undefined>
}

/** Opens a metadata entry of a ZIP of at most `limit` inflated bytes. Throws EntryRejected. */
export const openMetadataEntry = async (file: Bytes, entry: ZipEntry, limit: number): Promise<MetadataFile> => {
  if (entry.rejected !== null) throw entry.rejected
  if (entry.size > limit) throw new EntryRejected('zip.too_large', 'The metadata of the package is larger than 48 MiB.')
  return open(shownName(entry.name), () => inflatedParts(file, entry))
}

/** Opens a metadata TXT that is not in a ZIP. */
export const openMetadata = (file: Bytes): Promise<MetadataFile> => open('upload.txt', () => partsOf(file, 0, file.size, PART))

type Parts = () => AsyncIterable<Uint8Array>

async function open(name: string, parts: Parts): Promise<MetadataFile> {
  const encoding = (await isUtf8(parts)) ? 'utf-8' : 'windows-1252'
  return { name, lines: () => linesIn(parts, encoding) }
}

/** Reads all parts, also those after an invalid one, because a damaged entry reveals itself at its end. */
async function isUtf8(parts: Parts): Promise<boolean> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let isValid = true
  const check = (part?: Uint8Array) => {
    try {
      if (isValid) decoder.decode(part, { stream: part !== undefined })
    } catch {
      isValid = false
    }
  }
  for await (const part of parts()) check(part)
  check()
  return isValid
}

async function* linesIn(parts: Parts, encoding: string): AsyncGenerator<MetadataLine[], void, undefined> {
  const decoder = new TextDecoder(encoding, { fatal: false, ignoreBOM: true })
  const reader = new MetadataReader()
  let isFirst = true
  for await (const part of parts()) {
    const text = decoder.decode(part, { stream: true })
    yield reader.push(isFirst ? text.replace(/^(?:\ufeff|ï»¿)+/, '') : text)
    isFirst = false
  }
  yield reader.push(decoder.decode())
  yield reader.end()
}
