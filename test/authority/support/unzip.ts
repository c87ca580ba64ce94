import { inflateRawSync } from 'node:zlib'

/** Reads local headers one after the other: all that our writer needs, and none of its code. */
export function unzip(bytes: Uint8Array): Map<string, string> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const entries = new Map<string, string>()
  for (let at = 0; view.getUint32(at, true) === 0x04034b50; ) {
    const start = at + 30 + view.getUint16(at + 26, true) + view.getUint16(at + 28, true)
    const end = start + view.getUint32(at + 18, true)
    const name = new TextDecoder().decode(bytes.subarray(at + 30, at + 30 + view.getUint16(at + 26, true)))
    entries.set(name, new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(inflateRawSync(bytes.subarray(start, end))))
    at = end
  }
  return entries
}
