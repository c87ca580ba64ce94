import { Buffer } from 'node:buffer'
import type { Sink } from './formats/zip.ts'
import { MOST_PARTS, PART_BYTES } from './limits.ts'

/** How far a file is written. What is no whole part yet is carried by the state of the export. */
export interface OutputState {
  /** Of the object that the file becomes. */
  key: string
  /** Of its multipart upload; null while the file is smaller than a part. */
  upload: string | null
  /** The ETags of the parts. */
  parts: string[]
  /** Objects with what is full of the central directory, in their order. */
  directory: string[]
}

export const emptyOutput = (key: string): OutputState => ({ key, upload: null, parts: [], directory: [] })

/** The file would have more parts than the bucket takes. */
export class TooLarge extends Error {}

const lengthOf = (chunks: readonly Uint8Array[]): number => chunks.reduce((sum, { length }) => sum + length, 0)

/**
 * The file that an export writes: whole parts go into the bucket as they come. A part that is written again after a crash replaces the one
 * before.
 */
export class FileOutput implements Sink {
  readonly state: OutputState
  readonly #files: R2Bucket
  #tail: Uint8Array[]
  #length: number
  #directory: Uint8Array[]

  constructor(files: R2Bucket, state: OutputState, tail: Uint8Array, directory: Uint8Array) {
    this.state = state
    this.#files = files
    this.#tail = [tail]
    this.#length = tail.length
    this.#directory = [directory]
  }

  get at(): number {
    return this.state.parts.length * PART_BYTES + this.#length
  }

  push(bytes: Uint8Array): void {
    this.#tail.push(bytes)
    this.#length += bytes.length
  }

  enter(bytes: Uint8Array): void {
    this.#directory.push(bytes)
  }

  /** What no part and no object has yet. */
  get tail(): Uint8Array {
    return this.#joined('tail')
  }

  get directory(): Uint8Array {
    return this.#joined('directory')
  }

  /** Puts the whole parts into the bucket. */
  async flush(): Promise<void> {
    if (this.#length < PART_BYTES) return
    const tail = this.#joined('tail')
    let from = 0
    for (; tail.length - from >= PART_BYTES; from += PART_BYTES) {
      if (this.state.parts.length + 1 >= MOST_PARTS) throw new TooLarge()
      await this.#part(tail.subarray(from, from + PART_BYTES))
    }
    this.#tail = [tail.slice(from)]
    this.#length = tail.length - from
  }

  /** Takes what is there of the central directory, so that an object may keep it. */
  takeDirectory(): Uint8Array {
    const bytes = this.#joined('directory')
    this.#directory = []
    return bytes
  }

  /** The last part of a file that has parts. */
  async close(): Promise<void> {
    await this.flush()
    if (this.state.upload === null || this.#length === 0) return
    await this.#part(this.#joined('tail'))
    this.#tail = []
    this.#length = 0
  }

  async #part(bytes: Uint8Array): Promise<void> {
    const { key, parts } = this.state
    this.state.upload ??= (await this.#files.createMultipartUpload(key)).uploadId
    const { etag } = await this.#files
      .resumeMultipartUpload(key, this.state.upload)
      .uploadPart(parts.length + 1, bytes as Uint8Array<ArrayBuffer>)
    parts.push(etag)
  }

  #joined(which: 'tail' | 'directory'): Uint8Array {
    const chunks = which === 'tail' ? this.#tail : this.#directory
    if (chunks.length === 1) return chunks[0]!
    const joined = Buffer.concat(chunks, lengthOf(chunks))
    if (which === 'tail') this.#tail = [joined]
    else this.#directory = [joined]
    return joined
  }
}

/** Makes the object out of its parts, or of what is smaller than one. It can be repeated. Throws when the parts are gone. */
export async function completeObject(files: R2Bucket, { key, upload, parts }: OutputState, tail: Uint8Array): Promise<R2Object> {
  if (upload === null) return (await files.put(key, tail as Uint8Array<ArrayBuffer>))!
  try {
    return await files.resumeMultipartUpload(key, upload).complete(parts.map((etag, n) => ({ partNumber: n + 1, etag })))
  } catch (error) {
    // A worker before has completed it, and died.
    const found = await files.head(key)
    if (found) return found
    throw error
  }
}
