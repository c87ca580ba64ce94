import { crc32, deflateRawSync } from 'node:zlib'

export interface ZipFile {
  name: string
  bytes: Uint8Array
}

const fields = (...all: readonly (readonly [size: 2 | 4 | 8, value: number])[]): Buffer => {
  const bytes = Buffer.alloc(all.reduce((sum, [size]) => sum + size, 0))
  let at = 0
  for (const [size, value] of all) {
    if (size === 2) bytes.writeUInt16LE(value, at)
    else if (size === 4) bytes.writeUInt32LE(value, at)
    else bytes.writeBigUInt64LE(BigInt(value), at)
    at += size
  }
  return bytes
}

/** The most entries that the end of a directory can count: the end of ZIP64, which stands before it, counts more. */
const MOST_COUNTED = 0xffff

/** What stands between the directory of a ZIP and its end when there are more entries. */
const end64 = (count: number, size: number, start: number): Buffer =>
  Buffer.concat([
    fields([4, 0x06064b50], [8, 44], [2, 45], [2, 45], [4, 0], [4, 0], [8, count], [8, count], [8, size], [8, start]),
    fields([4, 0x07064b50], [4, 0], [8, start + size], [4, 1]),
  ])

/** A ZIP of these files, in this order. Names may repeat. */
export function zip(files: Iterable<ZipFile>): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let at = 0
  for (const { name, bytes } of files) {
    const label = Buffer.from(name)
    const packed = deflateRawSync(bytes)
    const common = fields(
      ...([
        [2, 20],
        [2, 0x0800],
        [2, 8],
        [2, 0],
        [2, 0x21],
        [4, crc32(bytes)],
      ] as const),
      ...([
        [4, packed.length],
        [4, bytes.length],
        [2, label.length],
        [2, 0],
      ] as const),
    )
    parts.push(fields([4, 0x04034b50]), common, label, packed)
    directory.push(fields([4, 0x02014b50], [2, 20]), common, fields([2, 0], [2, 0], [2, 0], [4, 0], [4, at]), label)
    at += 4 + common.length + label.length + packed.length
  }
  const central = Buffer.concat(directory)
  const count = directory.length / 4
  const counted = Math.min(count, MOST_COUNTED)
  const end = fields([4, 0x06054b50], [4, 0], [2, counted], [2, counted], [4, central.length], [4, at], [2, 0])
  return Buffer.concat([...parts, central, ...(count > MOST_COUNTED ? [end64(count, central.length, at)] : []), end])
}
