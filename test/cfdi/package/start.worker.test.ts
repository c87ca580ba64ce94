import { expect, it } from 'vitest'
import { readDirectory } from '../../../src/cfdi/package/directory.ts'
import { entriesOf } from '../../../src/cfdi/package/entries.ts'
import { kindOf, startOf } from '../../../src/cfdi/package/package.ts'
import { bytesInMemory } from '../../../src/platform/bytes/bytes.ts'
import { randomOf } from '../../support/random.ts'
import { zipOf } from '../../support/zip.ts'

/** What breaks without it: the metadata of a whole month are taken for some other file, and what they report is never seen. */
it('a metadata file is recognized whatever its compressed size, just above the part that is opened too', async () => {
  const random = randomOf(9)
  const sizes = new Set<number>()
  for (let length = 1_500; length < 2_100; length++) {
    const noise = Array.from({ length }, () => Math.floor(random() * 16).toString(16)).join('')
    const file = bytesInMemory(zipOf([{ name: 'a.txt', bytes: new TextEncoder().encode(`Uuid~RfcEmisor~Monto\r\n${noise}\r\n`) }]))
    const [entry] = await Array.fromAsync(entriesOf(file, await readDirectory(file)))
    sizes.add(entry!.compressed_size)
    expect([length, entry!.compressed_size, kindOf('a.txt', await startOf(file, entry!))]).toEqual([
      length,
      entry!.compressed_size,
      'metadata',
    ])
  }
  expect([...sizes].filter((size) => size > 1_024 && size <= 1_034).length).toBeGreaterThan(5)
})
