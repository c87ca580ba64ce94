import type { Bytes } from '../../platform/bytes/bytes.ts'

const LOCAL = 0x04034b50
const END = 0x06054b50
const U32 = 0xffffffff
/** The end record, and the longest comment behind it. */
const END_BYTES = 22
const TAIL_BYTES = END_BYTES + 0xffff

/**
 * Whether a file begins like a ZIP and has its end, with a directory that lies before it. A page of a portal is none, nor half of one. What
 * else may be wrong with it is found when its job reads it, which is background work.
 */
export async function isWholeZip(file: Bytes): Promise<boolean> {
  if (file.size < END_BYTES) return false
  const start = viewOf(await file.read(0, 4)).getUint32(0, true)
  if (start !== LOCAL && start !== END) return false
  const from = Math.max(0, file.size - TAIL_BYTES)
  const tail = viewOf(await file.read(from, file.size - from))
  for (let at = tail.byteLength - END_BYTES; at >= 0; at--) {
    if (tail.getUint32(at, true) !== END || at + END_BYTES + tail.getUint16(at + 20, true) > tail.byteLength) continue
    const [size, offset] = [tail.getUint32(at + 12, true), tail.getUint32(at + 16, true)]
    // A large ZIP has its sizes elsewhere.
    return size === U32 || offset === U32 || offset + size <= from + at
  }
  return false
}

const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView => new DataView(buffer, byteOffset, byteLength)
