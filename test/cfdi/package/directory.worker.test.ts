import { describe, expect, it } from 'vitest'
import { type Directory, readDirectory } from '../../../src/cfdi/package/directory.ts'
import { entriesOf } from '../../../src/cfdi/package/entries.ts'
import { type Bytes, bytesInMemory } from '../../../src/platform/bytes/bytes.ts'
import { zipOf } from '../../support/zip.ts'

const MIB = 1024 * 1024

/** Names whose lengths vary, so that parts of the directory end anywhere in a record. */
const nameOf = (n: number): string => `${n}-${'x'.repeat(80 + ((n * 37) % 900))}.xml`
const contentOf = (n: number): string => `<a>${n}</a>`

/** A ZIP of so many entries, with their records in the order that `order` gives. */
function packed(count: number, order: (n: number) => number = (n) => n): Uint8Array {
  const bytes = zipOf(Array.from({ length: count }, (_, n) => ({ name: nameOf(n), bytes: new TextEncoder().encode(contentOf(n)) })))
  const view = new DataView(bytes.buffer)
  const start = view.getUint32(bytes.length - 6, true)
  const records: Uint8Array[] = []
  for (let at = start; records.length < count; at += records.at(-1)!.length)
    records.push(bytes.slice(at, at + 46 + view.getUint16(at + 28, true)))
  let at = start
  for (const record of Array.from({ length: count }, (_, n) => records[order(n)]!)) {
    bytes.set(record, at)
    at += record.length
  }
  return bytes
}

/** A file that gives copies, and knows how many bytes of them are not released yet, and were at most. */
function counted(bytes: Uint8Array): Bytes & { stored: number; most: number } {
  const file = {
    ...bytesInMemory(bytes),
    stored: 0,
    most: 0,
    async read(offset: number, length: number) {
      const part = bytes.slice(offset, offset + length)
      if (length > 30) file.stored += part.length
      file.most = Math.max(file.most, file.stored)
      return part
    },
    release(part: Uint8Array) {
      file.stored -= part.length
    },
  }
  return file
}

const namesIn = async (directory: Directory) => (await Array.fromAsync(directory.entries())).map(({ n, name }) => [n, name])
const readIn = async (file: Bytes, directory: Directory) =>
  (await Array.fromAsync(entriesOf(file, directory))).map(({ n, name, rejected }) => [n, name, rejected])

describe('a directory of more than a part', () => {
  const COUNT = 6_000
  const listed = Array.from({ length: COUNT }, (_, n) => [n, nameOf(n)])

  it('gives its entries in its order and in that of their data, with one part in memory', async () => {
    const bytes = packed(COUNT)
    const file = counted(bytes)
    const directory = await readDirectory(file)
    expect(directory.length).toBe(COUNT)
    expect(bytes.length - directory.start).toBeGreaterThan(2 * MIB)
    file.stored = 0
    file.most = 0
    expect(await namesIn(directory)).toEqual(listed)
    expect(await readIn(file, directory)).toEqual(listed.map((one) => [...one, null]))
    expect(await directory.some((name) => name === nameOf(COUNT - 1))).toBe(true)
    expect(await directory.some((name) => name === nameOf(COUNT))).toBe(false)
    expect([file.stored, file.most]).toEqual([0, MIB])
  })

  it('in another order than its data gives both orders, and is freed', async () => {
    const order = (n: number) => (n * 4_999) % COUNT
    const file = counted(packed(COUNT, order))
    const directory = await readDirectory(file)
    const stored = file.stored
    expect(stored).toBeGreaterThan(2 * MIB)
    expect(await namesIn(directory)).toEqual(listed.map((_, n) => [n, nameOf(order(n))]))
    const ranges = new Map(listed.map((_, n) => [order(n), n]))
    expect(await readIn(file, directory)).toEqual(listed.map(([n, name]) => [ranges.get(n as number), name, null]))
    expect(file.stored).toBe(stored)
    directory.release()
    expect(stored - file.stored).toBeGreaterThan(2 * MIB)
  })

  it('is refused when a record is damaged, or missing, in whatever part', async () => {
    for (const at of [10, 3_000, COUNT - 1]) {
      const bytes = packed(COUNT)
      const { start } = await readDirectory(bytesInMemory(bytes))
      const view = new DataView(bytes.buffer)
      let checkpoint = start
      for (let n = 0; n < at; n++) checkpoint += 46 + view.getUint16(checkpoint + 28, true)
      bytes[checkpoint] = 0
      await expect(readDirectory(counted(bytes))).rejects.toMatchObject({ code: 'zip.broken_directory' })
    }
    const short = packed(COUNT)
    const view = new DataView(short.buffer)
    view.setUint32(short.length - 10, view.getUint32(short.length - 10, true) - 20, true)
    await expect(readDirectory(counted(short))).rejects.toMatchObject({ code: 'zip.broken_directory' })
  })
})
