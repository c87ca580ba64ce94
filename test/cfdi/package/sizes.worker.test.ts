import { crc32, deflateRawSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { ZipEntry } from '../../../src/cfdi/package/entries.ts'
import { inflate, inflatedParts, startOf } from '../../../src/cfdi/package/package.ts'
import { MAX_XML_BYTES } from '../../../src/cfdi/xml/parse.ts'
import { bytesInMemory } from '../../../src/platform/bytes/bytes.ts'
import { runs, sample } from '../../support/fuzz.ts'
import { randomOf } from '../../support/random.ts'

/**
 * What breaks without it: an invoice of a supermarket, or the metadata of a month, is refused as `zip.wrong_size` because of its size alone.
 * With the declared size as its limit, workerd refuses 40,961 to 81,919 bytes, 81,921 to 122,879, 163,841 to 204,799 and so on.
 */

const random = randomOf(8)
const KIB = 1024
const ENTRY: ZipEntry = { n: 0, name: 'a.xml', crc32: 0, compressed_size: 0, size: 0, method: 8, offset: 0, junk: false, rejected: null }

/** Lines as an invoice has them: they compress to about a sixth. */
const lines = new TextEncoder().encode(
  Array.from({ length: 200_000 }, (_, n) => `<Concepto Cantidad="${n % 13}" Importe="${Math.floor(random() * 1e6)}.00" Unidad="H87"/>\n`)
    .join('')
    .slice(0, MAX_XML_BYTES + 1),
)
const noise = new Uint8Array(MAX_XML_BYTES + 1)
for (let at = 0; at < noise.length; at += 4 * KIB) noise.fill(Math.floor(random() * 256), at, at + Math.floor(random() * 4 * KIB))
for (let at = 0; at < noise.length; at += 64 * KIB) crypto.getRandomValues(noise.subarray(at, at + 32 * KIB))
const blanks = new Uint8Array(MAX_XML_BYTES + 1).fill(32)
const CONTENTS = [lines, noise, blanks]

/** 0 to 9 are the levels of deflate. */
const STORED = 10
type Level = number

function entryOf(content: Uint8Array, level: Level): { data: Uint8Array; entry: ZipEntry } {
  const data = level === STORED ? content : new Uint8Array(deflateRawSync(content, { level }))
  const [method, crc] = [level === STORED ? 0 : 8, crc32(content)]
  return { data, entry: { ...ENTRY, method, crc32: crc, size: content.length, compressed_size: data.length } }
}

const outcomeOf = (work: () => Uint8Array): Uint8Array | string => {
  try {
    return work()
  } catch (error) {
    return String(error)
  }
}

/** Sizes at which a buffer that grows in steps, or by doubling, is exactly full, nearly full, and just too small. */
const borders = (most: number): number[] => {
  const steps = [KIB, 4 * KIB, 16 * KIB, 32 * KIB, 40 * KIB, 64 * KIB]
  const full = steps.flatMap((step) => Array.from({ length: 23 }, (_, n) => [step * 2 ** n, step * (2 ** n + 1), step * n]).flat())
  return [...new Set(full)].flatMap((size) => [size - 1, size, size + 1]).filter((size) => size >= 0 && size <= most)
}

const anySizes = (count: number, most: number): number[] => Array.from({ length: count }, () => Math.floor(most * random() ** 3))

/** The sizes that were refused, with their level. */
function refused(sizes: readonly number[], levels: (n: number) => readonly Level[]): string[] {
  const found: string[] = []
  sizes.forEach((size, n) => {
    for (const level of levels(n)) {
      const content = CONTENTS[(n + level) % CONTENTS.length]!.subarray(0, size)
      const { data, entry } = entryOf(content, level)
      const inflated = outcomeOf(() => inflate(data, entry, MAX_XML_BYTES))
      const isSame = typeof inflated !== 'string' && inflated.length === size && crc32(inflated) === entry.crc32
      if (!isSame) found.push(`${size} bytes at level ${level}: ${typeof inflated === 'string' ? inflated : inflated.length}`)
    }
  })
  return found
}

const everyLevel = Array.from({ length: STORED + 1 }, (_, level) => level)

describe('every size is inflated', { timeout: 300_000 }, () => {
  it('from 0 on, at every level and stored', () => {
    const sizes = Array.from({ length: 300 }, (_, size) => size)
    expect(refused(sizes, () => everyLevel)).toEqual([])
  })

  it('from 40 to 200 KiB, in which an invoice of a supermarket and a month of metadata lie', () => {
    const step = runs(797, 31)
    const sizes = Array.from({ length: Math.ceil((160 * KIB) / step) }, (_, n) => 40 * KIB + 1 + n * step)
    expect(refused(sizes, (n) => [n % (STORED + 1)])).toEqual([])
  })

  it('around all at which a buffer grows, up to the limit', () => {
    const few = (n: number) => [n % (STORED + 1)]
    expect(refused(borders(400 * KIB), runs(1, 0) === 1 ? few : () => everyLevel)).toEqual([])
    const large = borders(MAX_XML_BYTES).filter((size) => size > 400 * KIB)
    expect(refused(sample(large, 5), few)).toEqual([])
    expect(refused([MAX_XML_BYTES - 1, MAX_XML_BYTES], () => [0, 1, 9, STORED])).toEqual([])
  })

  it('at random, up to the limit', () => {
    expect(refused(anySizes(runs(15, 500), MAX_XML_BYTES), (n) => [n % (STORED + 1)])).toEqual([])
  })

  it('and not one byte more than the limit, nor than the entry declares', () => {
    const { data, entry } = entryOf(blanks.subarray(0, 81_920), 6)
    const outcome = (declared: Partial<ZipEntry>, limit = MAX_XML_BYTES) => outcomeOf(() => inflate(data, { ...entry, ...declared }, limit))
    expect(outcome({})).toHaveLength(81_920)
    expect(outcome({}, 81_919)).toContain('larger than 81919 bytes')
    for (const size of [0, 1, 20_000, 40_960, 81_919, 81_921, 200_000]) expect(outcome({ size })).toContain('The size of the entry')
  })

  it('part by part, as metadata is', async () => {
    for (const [n, size] of sample(borders(MAX_XML_BYTES), 11).entries()) {
      const content = CONTENTS[n % CONTENTS.length]!.subarray(0, size)
      const { data, entry } = entryOf(content, n % (STORED + 1))
      let [length, crc] = [0, 0]
      for await (const part of inflatedParts(bytesInMemory(data), entry)) [length, crc] = [length + part.length, crc32(part, crc)]
      expect([size, length, crc]).toEqual([size, size, entry.crc32])
    }
  })

  it('as far as a file’s kind is told by its beginning', async () => {
    for (const [n, size] of sample(borders(MAX_XML_BYTES), 5, 2).entries()) {
      const content = CONTENTS[n % CONTENTS.length]!.subarray(0, size)
      const { data, entry } = entryOf(content, n % (STORED + 1))
      const start = await startOf(bytesInMemory(data), entry)
      expect([size, ...start.subarray(0, 64)]).toEqual([size, ...content.subarray(0, 64)])
    }
  })
})
