import { crc32, deflateRawSync } from 'node:zlib'

const UTF8_NAMES = 0x0800
const DEFLATE = 8
/** 1980-01-01, the first date in the ZIP format. A fixed date makes packages reproducible. */
const DOS_DATE = 0x0021

/** Returns a ZIP of deflated entries in the given order. Each entry is done with before the next is asked for. */
export function zipOf(entries: Iterable<{ name: string; bytes: Uint8Array }>): Uint8Array {
  const encoder = new TextEncoder()
  const files: Uint8Array[] = []
  const directory: Uint8Array[] = []
  let offset = 0
  let count = 0
  for (const { name, bytes } of entries) {
    count++
    const label = encoder.encode(name)
    const packed = deflateRawSync(bytes, { level: 3 })
    const shared = fields(
      [2, 20],
      [2, UTF8_NAMES],
      [2, DEFLATE],
      [2, 0],
      [2, DOS_DATE],
      [4, crc32(bytes)],
      [4, packed.length],
      [4, bytes.length],
    )
    const lengths = fields([2, label.length], [2, 0])
    files.push(fields([4, 0x04034b50]), shared, lengths, label, packed)
    directory.push(fields([4, 0x02014b50], [2, 20]), shared, lengths, fields([2, 0], [2, 0], [2, 0], [4, 0], [4, offset]), label)
    offset += 4 + shared.length + lengths.length + label.length + packed.length
  }
  const listed = join(directory)
  const end = fields([4, 0x06054b50], [2, 0], [2, 0], [2, count], [2, count], [4, listed.length], [4, offset], [2, 0])
  return join([...files, listed, end])
}

function fields(...parts: [size: 2 | 4, value: number][]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((length, [size]) => length + size, 0))
  const view = new DataView(bytes.buffer)
  let at = 0
  for (const [size, value] of parts) {
    if (size === 2) view.setUint16(at, value, true)
    else view.setUint32(at, value, true)
    at += size
  }
  return bytes
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}
