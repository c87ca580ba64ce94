import { crc32, deflateRawSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EntryRejected, PackageRejected } from '../../../src/cfdi/package/central-record.ts'
import { readDirectory } from '../../../src/cfdi/package/directory.ts'
import { inflatedParts, kindOf, shownName, uuidOfName } from '../../../src/cfdi/package/package.ts'
import { bytesInMemory } from '../../../src/platform/bytes/bytes.ts'
import { runs } from '../../support/fuzz.ts'
import { contentOf, entriesIn } from '../support/entries.ts'

const LIMIT = 4 * 1024 * 1024

interface File {
  name: string | Uint8Array
  content: Uint8Array
  method?: number
  flags?: number
  crc?: number
  size?: number
  compressed?: number
  local?: number
  /** Bytes to store in place of the compressed content. */
  data?: Uint8Array
  zip64?: boolean
}

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)
const u16 = (value: number): number[] => [value & 255, (value >> 8) & 255]
const u32 = (value: number): number[] => [...u16(value & 0xffff), ...u16(value >>> 16)]
const u64 = (value: number): number[] => [...u32(value % 2 ** 32), ...u32(Math.floor(value / 2 ** 32))]

const join = (parts: (Uint8Array | number[])[]): Uint8Array => {
  const out = new Uint8Array(parts.reduce((n, part) => n + part.length, 0))
  let at = 0
  for (const part of parts) {
    out.set(part, at)
    at += part.length
  }
  return out
}

interface End {
  count?: number
  comment?: string
  zip64?: boolean
}

/** Writes a ZIP by the book, and lies where it is told to. */
const zip = (files: File[], end: End = {}): Uint8Array => {
  const parts: (Uint8Array | number[])[] = []
  const central: (Uint8Array | number[])[] = []
  let at = 0
  for (const file of files) {
    const { method = 8, flags = 0 } = file
    const name = typeof file.name === 'string' ? utf8(file.name) : file.name
    const data = file.data ?? (method === 8 ? new Uint8Array(deflateRawSync(file.content)) : file.content)
    const crc = file.crc ?? crc32(file.content)
    const size = file.size ?? file.content.length
    const compressed = file.compressed ?? data.length
    const local = file.local ?? at
    const extra = file.zip64 ? [...u16(1), ...u16(24), ...u64(size), ...u64(compressed), ...u64(local)] : []
    const sizes = file.zip64 ? [...u32(0xffffffff), ...u32(0xffffffff)] : [...u32(compressed), ...u32(size)]
    const head = [...u16(20), ...u16(flags), ...u16(method), ...u32(0), ...u32(crc)]
    parts.push([...u32(0x04034b50), ...head, ...u32(data.length), ...u32(file.content.length), ...u16(name.length), ...u16(0)], name, data)
    at += 30 + name.length + data.length
    central.push([
      ...u32(0x02014b50),
      ...u16(20),
      ...head,
      ...sizes,
      ...u16(name.length),
      ...u16(extra.length),
      ...u16(0),
      ...u16(0),
      ...u16(0),
      ...u32(0),
    ])
    central.push(u32(file.zip64 ? 0xffffffff : local), name, extra)
  }
  const directory = join(central)
  const count = end.count ?? files.length
  if (end.zip64) {
    const record = [...u32(0x06064b50), ...u64(44), ...u16(45), ...u16(45), ...u32(0), ...u32(0), ...u64(count), ...u64(count)]
    const tail = [...record, ...u64(directory.length), ...u64(at), ...u32(0x07064b50), ...u32(0), ...u64(at + directory.length), ...u32(1)]
    const ends = [...u32(0x06054b50), ...u32(0), ...u16(0xffff), ...u16(0xffff), ...u32(0xffffffff), ...u32(0xffffffff), ...u16(0)]
    return join([...parts, directory, tail, ends])
  }
  const comment = utf8(end.comment ?? '')
  const ends = [...u32(0x06054b50), ...u32(0), ...u16(count), ...u16(count), ...u32(directory.length), ...u32(at), ...u16(comment.length)]
  return join([...parts, directory, ends, comment])
}

const A = utf8('<a>uno</a>')
const B = utf8('<b>dos</b>'.repeat(100))

const outcome = async (bytes: Uint8Array, i = 0, limit = LIMIT): Promise<string | Uint8Array> => {
  const entry = (await entriesIn(bytes))[i]
  if (entry === undefined) return 'absent'
  try {
    return new Uint8Array(contentOf(bytes, entry, limit))
  } catch (error) {
    if (error instanceof EntryRejected) return error.code
    throw error
  }
}

/** What comes of an entry that is inflated part by part. */
const outcomeInParts = async (bytes: Uint8Array, i = 0): Promise<string | Uint8Array> => {
  const entry = (await entriesIn(bytes))[i]
  if (entry === undefined) return 'absent'
  const parts: Uint8Array[] = []
  try {
    for await (const part of inflatedParts(bytesInMemory(bytes), entry)) parts.push(new Uint8Array(part))
    return join(parts)
  } catch (error) {
    if (error instanceof EntryRejected) return error.code
    throw error
  }
}

const refusal = async (bytes: Uint8Array): Promise<string> => {
  try {
    await readDirectory(bytesInMemory(bytes))
    return 'read'
  } catch (error) {
    if (error instanceof PackageRejected) return error.code
    throw error
  }
}

describe('a package', () => {
  it('gives back what was put into it, stored or deflated, with a comment, with ZIP64', async () => {
    const file = fc.record({
      name: fc.string({ maxLength: 30 }),
      content: fc.uint8Array({ minLength: 1, maxLength: 3000 }),
      method: fc.constantFrom(0, 8),
      zip64: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(file, { maxLength: 12 }), fc.boolean(), fc.string({ maxLength: 20 }), async (files, zip64, comment) => {
        const bytes = zip(files, { zip64, comment })
        const entries = await entriesIn(bytes)
        expect(entries.map(({ name }) => name)).toEqual(
          files.map(({ name }) => new TextDecoder('utf-8', { ignoreBOM: true, fatal: false }).decode(utf8(name))),
        )
        for (const [i, each] of files.entries()) {
          const nested = each.content[0] === 0x50 && each.content[1] === 0x4b && each.content[2] === 3 && each.content[3] === 4
          if (nested || /\.zip$/i.test(each.name) || entries[i]?.junk) continue
          expect(await outcome(bytes, i)).toEqual(each.content)
          expect(await outcomeInParts(bytes, i)).toEqual(each.content)
        }
      }),
    )
  })

  it('may hold more files than 16 bits count', async () => {
    const files = Array.from({ length: 70_000 }, (_, i) => ({ name: `${i}.xml`, content: A, method: 0 }))
    expect(await entriesIn(zip(files, { zip64: true }))).toHaveLength(70_000)
    expect(await entriesIn(zip(files))).toHaveLength(70_000)
  })

  it('keeps files of the same name apart', async () => {
    const bytes = zip([
      { name: 'a.xml', content: A },
      { name: 'a.xml', content: B },
    ])
    expect([await outcome(bytes, 0), await outcome(bytes, 1)]).toEqual([A, B])
  })

  it('flags what is no document', async () => {
    const names = ['folder/', '__MACOSX/._a.xml', 'x/__MACOSX/a.xml', '.DS_Store', 'a.xml']
    const entries = await entriesIn(zip([...names.map((name) => ({ name, content: A })), { name: 'empty.xml', content: new Uint8Array() }]))
    expect(entries.map(({ junk }) => junk)).toEqual([true, true, true, true, false, false])
  })

  it('reads names of Windows and takes a path for a mere name', async () => {
    const [old, path] = await entriesIn(
      zip([
        { name: Uint8Array.from([0x61, 0xf1, 0x6f]), content: A },
        { name: '../../etc/passwd', content: A },
      ]),
    )
    expect([old?.name, path?.name, path?.rejected]).toEqual(['año', '../../etc/passwd', null])
  })
})

describe('an entry that lies costs only itself', () => {
  const good: File = { name: 'good.xml', content: A }
  const huge = new Uint8Array(20 * 1024 * 1024)
  const cases: [string, File, string][] = [
    ['encrypted', { name: 'a.xml', content: A, flags: 1 }, 'zip.encrypted'],
    ['an unknown method', { name: 'a.xml', content: A, method: 12 }, 'zip.unsupported_method'],
    ['a package inside', { name: 'a.ZIP', content: A }, 'zip.nested'],
    ['a package inside, under another name', { name: 'a.xml', content: zip([good]) }, 'zip.nested'],
    ['larger than allowed', { name: 'a.xml', content: huge }, 'zip.too_large'],
    ['a bomb that says it is small', { name: 'a.xml', content: huge, size: 1000 }, 'zip.wrong_size'],
    ['shorter than it says', { name: 'a.xml', content: A, size: 5000 }, 'zip.wrong_size'],
    ['stored, and longer than it says', { name: 'a.xml', content: A, method: 0, size: 5 }, 'zip.wrong_size'],
    ['another CRC-32', { name: 'a.xml', content: A, crc: 1 }, 'zip.wrong_crc'],
    ['noise', { name: 'a.xml', content: A, data: Uint8Array.from({ length: 40 }, () => 255) }, 'zip.corrupt'],
    ['cut short', { name: 'a.xml', content: B, data: new Uint8Array(deflateRawSync(B)).subarray(0, 9) }, 'zip.corrupt'],
    ['beyond the end', { name: 'a.xml', content: A, local: 0x7fffffff }, 'zip.outside'],
    ['data that reach beyond the end', { name: 'a.xml', content: A, compressed: 1_000_000 }, 'zip.outside'],
    ['in the middle of nothing', { name: 'a.xml', content: A, local: 7 }, 'zip.outside'],
    ['over another one', { name: 'a.xml', content: A, local: 0 }, 'zip.overlapping'],
  ]
  it.each(cases)('%s', async (_, file, code) => {
    const bytes = zip([good, file, { name: 'last.xml', content: B }])
    expect(await outcome(bytes, 1)).toBe(code)
    expect([await outcome(bytes, 0), await outcome(bytes, 2)]).toEqual([A, B])
    expect([await outcomeInParts(bytes, 0), await outcomeInParts(bytes, 2)]).toEqual([A, B])
  })

  it.each(cases.filter(([, , code]) => /wrong|corrupt|outside|overlapping/.test(code)))('%s, read part by part', async (_, file, code) => {
    const bytes = zip([good, file, { name: 'last.xml', content: B }])
    expect(await outcomeInParts(bytes, 1)).toBe(code)
  })

  it('overlapping files: one is read, the others are not', async () => {
    const bytes = zip([good, ...Array.from({ length: 50 }, () => ({ ...good, local: 0 }))])
    expect((await entriesIn(bytes)).filter(({ rejected }) => rejected === null)).toHaveLength(1)
  })

  it("the limit is the caller's", async () => {
    expect(await outcome(zip([{ name: 'a.txt', content: huge }]), 0, huge.length)).toHaveLength(huge.length)
  })
})

describe('a package without a directory is refused whole', () => {
  const bytes = zip([
    { name: 'a.xml', content: A },
    { name: 'b.xml', content: B },
  ])
  it.each([
    ['nothing', new Uint8Array(), 'zip.no_directory'],
    ['something else', B, 'zip.no_directory'],
    ['the end missing', bytes.subarray(0, bytes.length - 10), 'zip.no_directory'],
    ['the beginning missing', bytes.subarray(60), 'zip.broken_directory'],
    ['another count than entries', zip([{ name: 'a.xml', content: A }], { count: 3 }), 'zip.broken_directory'],
    [
      'a directory overwritten',
      bytes.map((byte, i) => (i > bytes.length - 60 && i < bytes.length - 30 ? 0 : byte)),
      'zip.broken_directory',
    ],
    ['more entries than allowed', zip([{ name: 'a', content: A }], { count: 200_001, zip64: true }), 'zip.too_many_entries'],
  ])('%s', async (_, file, code) => {
    expect(await refusal(file)).toBe(code)
  })

  it('no damage makes it fail in another way than a refusal', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length - 1), fc.nat(255), fc.nat(bytes.length), async (at, value, length) => {
        const damaged = bytes.slice(0, Math.max(length, bytes.length - 8))
        if (at < damaged.length) damaged[at] = value
        if ((await refusal(damaged)) !== 'read') return
        for (const { n } of await entriesIn(damaged)) {
          await outcome(damaged, n)
          await outcomeInParts(damaged, n)
        }
      }),
      { numRuns: runs(300, 1_000) },
    )
  })
})

describe('what a file is', () => {
  it.each([
    ['a.xml', '<a/>', 'xml'],
    ['a', '\ufeff <?xml version="1.0"?>', 'xml'],
    ['a.XML', 'no xml at all', 'xml'],
    ['x_01.txt', 'Uuid~RfcEmisor~NombreEmisor', 'metadata'],
    ['x.txt', '\ufeffRfcEmisor~Uuid~Monto', 'metadata'],
    [
      'x.txt',
      'FechaCancelacion~Estatus~EfectoComprobante~Monto~FechaCertificacionSat~FechaEmision~RfcEmisor~Otra columna~Uuid\r\n',
      'metadata',
    ],
    ['x_tercero.txt', 'Uuid~RfcACuentaTerceros~NombreACuentaTerceros', 'terceros'],
    ['x.txt', 'NombreACuentaTerceros~RfcACuentaTerceros~Uuid\r\n', 'terceros'],
    ['x.txt', 'una línea\r\nRfcEmisor~Uuid', 'junk'],
    ['leeme.txt', 'hola', 'junk'],
  ])('%s %s', (name, content, kind) => {
    expect(kindOf(name, utf8(content))).toBe(kind)
  })

  it('its UUID is in its name, not in its folders', () => {
    const uuid = 'C0FFEE00-1111-4222-8333-444455556666'
    for (const name of [`${uuid}.xml`, `a/b/${uuid.toLowerCase()}.xml.xml`, `a\\${uuid}`]) expect(uuidOfName(name)).toBe(uuid)
    for (const name of ['a.xml', '', `${uuid}/a.xml`]) expect(uuidOfName(name)).toBeNull()
  })

  it('a reported name is short and plain', () => {
    expect(shownName('a\u0000\u202eb')).toBe('a\ufffd\ufffdb')
    expect(shownName('x'.repeat(60_000))).toHaveLength(120)
  })
})
