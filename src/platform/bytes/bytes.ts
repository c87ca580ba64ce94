/**
 * The text with memory of its own. The engine makes a part of more than twelve characters a view of the text, which keeps all of it in
 * memory.
 */
export const detached = (text: string): string => JSON.parse(JSON.stringify(text)) as string

/** Gives the texts of an object memory of their own, and returns it. */
export const detach = <T extends object>(one: T): T => {
  for (const name in one) {
    const value = one[name]
    if (typeof value === 'string' && value.length > 12) one[name] = detached(value) as typeof value
  }
  return one
}

/** Bytes that are read by range: a package in memory, or an object of the bucket that is never in memory as a whole. */
export interface Bytes {
  readonly size: number
  /** The bytes from `offset` on: `length` of them, or fewer at the end. */
  read(offset: number, length: number): Promise<Uint8Array>
  /** Frees bytes that are not needed any more, if they have memory of their own. */
  release(part: Uint8Array): void
  /** Frees the bytes that it keeps for the next read. It can be read again. */
  rest(): void
}

/** In bytes: smaller buffers are left to the engine. Usual documents are larger: without this, those of a large package take 28 MB more. */
const LEAST_FREED = 1_024

/** Frees the memory of a buffer at once. The engine would let many megabytes of them pile up before it collects them. */
export function free({ buffer }: ArrayBufferView): void {
  if (buffer.byteLength >= LEAST_FREED) (buffer as ArrayBuffer).transfer(0)
}

export const bytesInMemory = (bytes: Uint8Array): Bytes => ({
  size: bytes.length,
  read: async (offset, length) => bytes.subarray(offset, offset + length),
  release: () => {},
  rest: () => {},
})

/** The bytes that a read takes in advance, since neighbours are read one after the other: less while a reader jumps ahead. */
const AHEAD = 1024 * 1024
const LEAST_AHEAD = 64 * 1024

/** An object of the bucket. It keeps the last megabyte that it read. Throws an Error when the object is gone. */
export function bytesOfObject(files: R2Bucket, key: string, size: number): Bytes {
  let window = { offset: 0, bytes: new Uint8Array(0) as Uint8Array }
  let ahead = AHEAD
  const get = async (offset: number, length: number): Promise<Uint8Array> => {
    const found = await files.get(key, { range: { offset, length } })
    if (found === null) throw new Error(`There is no object ${key}.`)
    return found.bytes()
  }
  const keep = (next: typeof window) => {
    free(window.bytes)
    window = next
  }
  return {
    size,
    async read(offset, length) {
      const end = Math.min(offset + length, size)
      if (offset >= end) return new Uint8Array()
      const isWithin = offset >= window.offset && end <= window.offset + window.bytes.length
      if (!isWithin && length >= AHEAD) return get(offset, end - offset)
      if (!isWithin) {
        const skipped = offset - window.offset - window.bytes.length
        ahead = skipped > AHEAD ? Math.max(LEAST_AHEAD, ahead / 2) : skipped < 0 ? AHEAD : Math.min(AHEAD, ahead * 2)
        const bytes = await get(offset, Math.min(Math.max(length, ahead), size - offset))
        keep({ offset, bytes })
      }
      // A copy, because the window is freed.
      return window.bytes.slice(offset - window.offset, end - window.offset)
    },
    release: free,
    rest: () => keep({ offset: 0, bytes: new Uint8Array(0) }),
  }
}

/** The bytes of a range, a part at a time. */
export async function* partsOf(bytes: Bytes, offset: number, length: number, part: number): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = 0; at < length; at += part) yield await bytes.read(offset + at, Math.min(part, length - at))
}

/** The parts as one, with memory of its own. */
export function joined(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((size, part) => size + part.length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}
