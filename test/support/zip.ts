import { crc32, deflateRawSync } from 'node:zlib'

/** A file of a ZIP, deflated at a level of deflate or stored. */
export interface Zipped {
  name: string
  bytes: Uint8Array
  level?: number | 'stored'
}

/** A ZIP of entries, in the given order, as plainly as can be. */
export function zipOf(entries: readonly Zipped[]): Uint8Array {
  const encoder = new TextEncoder()
  const bodies: Uint8Array[] = []
  const directory: Uint8Array[] = []
  let offset = 0
  for (const { name, bytes, level = 6 } of entries) {
    const label = encoder.encode(name)
    const packed = level === 'stored' ? bytes : deflateRawSync(bytes, { level })
    const common = little(
      [2, 20],
      [2, 0x0800],
      [2, level === 'stored' ? 0 : 8],
      [4, 0x21_0000],
      [4, crc32(bytes)],
      [4, packed.length],
      [4, bytes.length],
      [2, label.length],
      [2, 0],
    )
    const local = joined([little([4, 0x04034b50]), common, label, packed])
    directory.push(joined([little([4, 0x02014b50], [2, 20]), common, little([2, 0], [2, 0], [2, 0], [4, 0], [4, offset]), label]))
    bodies.push(local)
    offset += local.length
  }
  const listed = joined(directory)
  const end = little([4, 0x06054b50], [4, 0], [2, entries.length], [2, entries.length], [4, listed.length], [4, offset], [2, 0])
  return joined([...bodies, listed, end])
}

function little(...fields: [size: 2 | 4, value: number][]): Uint8Array {
  const bytes = new Uint8Array(fields.reduce((length, [size]) => length + size, 0))
  const view = new DataView(bytes.buffer)
  let at = 0
  for (const [size, value] of fields) {
    if (size === 2) view.setUint16(at, value, true)
    else view.setUint32(at, value, true)
    at += size
  }
  return bytes
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}
