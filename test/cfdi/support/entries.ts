import { readDirectory } from '../../../src/cfdi/package/directory.ts'
import { entriesOf, type ZipEntry } from '../../../src/cfdi/package/entries.ts'
import { inflate } from '../../../src/cfdi/package/package.ts'
import { bytesInMemory } from '../../../src/platform/bytes/bytes.ts'

/** The entries of a ZIP in the order of its directory. */
export async function entriesIn(bytes: Uint8Array): Promise<ZipEntry[]> {
  const file = bytesInMemory(bytes)
  const entries: ZipEntry[] = []
  for await (const entry of entriesOf(file, await readDirectory(file))) entries.push(entry)
  return entries.sort((a, b) => a.n - b.n)
}

export const contentOf = (bytes: Uint8Array, entry: ZipEntry, limit: number): Uint8Array =>
  inflate(bytes.subarray(entry.offset, entry.offset + entry.compressed_size), entry, limit)
