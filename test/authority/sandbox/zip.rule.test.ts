import { Buffer } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { ZipWriter } from '../../../src/authority/sandbox/package/zip.ts'
import { readDirectory } from '../../../src/cfdi/package/directory.ts'
import { entriesOf } from '../../../src/cfdi/package/entries.ts'
import { inflate } from '../../../src/cfdi/package/package.ts'
import { bytesInMemory } from '../../../src/platform/bytes/bytes.ts'

/** Names and contents; long lists of bytes are slow to compare. */
type Texts = Record<string, string>
const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1')

async function textsIn(zip: Uint8Array): Promise<Texts> {
  const file = bytesInMemory(zip)
  const texts: Texts = {}
  for await (const entry of entriesOf(file, await readDirectory(file)))
    texts[entry.name] = textOf(inflate(await file.read(entry.offset, entry.compressed_size), entry, 1_000_000))
  return texts
}

const noise = (name: string, bytes: number) => ({ name, bytes: new Uint8Array(randomBytes(bytes)) })

describe('the ZIPs of the sandbox', () => {
  it('hold what is put into them, whether it is more or less than the memory that the last one took', async () => {
    const writer = new ZipWriter()
    const long = 'ñ'.repeat(200)
    for (const files of [[], [noise('a.xml', 900_000), noise(long, 1), noise('b.xml', 300_000)], [noise('c.xml', 10)]])
      expect(await textsIn(writer.zipOf(files))).toEqual(Object.fromEntries(files.map(({ name, bytes }) => [name, textOf(bytes)])))
  })

  it('give their memory back at once', () => {
    const writer = new ZipWriter()
    const zip = writer.zipOf([noise('a.xml', 10)])
    expect(zip.length).toBeGreaterThan(0)
    writer.close()
    expect(zip.length).toBe(0)
  })
})
