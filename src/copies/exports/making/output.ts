import { Buffer } from 'node:buffer'
import type { PagePosition } from '../../../cfdi/search/search.ts'
import { emptyWorkbook, emptyZip, type Sink, type WorkbookState, type ZipState } from './formats/zip.ts'

/** What bounds the steps and formats of an export. Tests have lower ones. */
export interface ExportLimits {
  /** Documents that are read at once: of which only rows are written, of which contents are, and of which files are. */
  page: Readonly<Record<'cfdi' | 'conceptos' | 'pagos' | 'xml', number>>
  /** After so many documents a step is committed. */
  commit: number
  /** Compressed bytes of XML that are read at once. */
  xmlBytes: number
  sheet: { rows: number; bytes: number }
  zip: { bytes: number; entries: number }
  /** Bytes of the central directory that a state carries. More go into objects of their own. */
  directory: number
  /** Objects of XML that an invocation reads. */
  objects: number
}

const MIB = 1024 ** 2

export const LIMITS: ExportLimits = {
  page: { cfdi: 500, conceptos: 250, pagos: 250, xml: 250 },
  commit: 5_000,
  xmlBytes: 8 * MIB,
  sheet: { rows: 1_048_576, bytes: 2 * 1024 * MIB },
  zip: { bytes: 2 ** 32 - 1, entries: 65_535 },
  directory: MIB,
  objects: 400,
}

/** R2 takes 10,000 parts, each but the last of the same size and of 5 MiB at least. */
export const PART_BYTES = 5 * MIB
const MOST_PARTS = 10_000

/** The most statements of a step, its commit included. */
export const STEP_STATEMENTS = 30

/** How far a file is written. What is no whole part yet is carried by the state of the export. */
interface OutputState {
  /** Of the object that the file becomes. */
  key: string
  /** Of its multipart upload; null while the file is smaller than a part. */
  upload: string | null
  /** The ETags of the parts. */
  parts: string[]
  /** Objects with what is full of the central directory, in their order. */
  directory: string[]
}

const emptyOutput = (key: string): OutputState => ({ key, upload: null, parts: [], directory: [] })

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

/** How far an export is made, after a committed step. It lies in an object of its own, which the row names. */
export interface MakingState {
  /** The counterparties that were on a list when the first document was read, as `writeListed` writes them. */
  listed: string
  /** Documents are read, then the central directory is copied, then the object is completed. */
  phase: 'reading' | 'directory' | 'complete'
  after: PagePosition | null
  rows: number
  documents: number
  without_xml: number
  zip: ZipState
  workbook: WorkbookState
  output: OutputState
  /** Of the central directory: where it begins, and how many of its objects are copied. */
  directory: { at: number; copied: number }
  bytes: number
}

export const newState = (key: string, listed: string): MakingState => ({
  ...{ listed, phase: 'reading', after: null, rows: 0, documents: 0, without_xml: 0 },
  ...{ zip: emptyZip(), workbook: emptyWorkbook(), output: emptyOutput(key), directory: { at: 0, copied: 0 }, bytes: 0 },
})

/** A state with the bytes that it carries: those of the file that are no part yet, and those of its central directory. */
export interface Carried {
  state: MakingState
  tail: Uint8Array
  directory: Uint8Array
}

const LENGTHS = 8

export function writeState({ state, tail, directory }: Carried): Uint8Array<ArrayBuffer> {
  const text = Buffer.from(JSON.stringify(state))
  const lengths = Buffer.alloc(LENGTHS)
  lengths.writeUInt32LE(text.length, 0)
  lengths.writeUInt32LE(tail.length, LENGTHS / 2)
  const whole = new Uint8Array(LENGTHS + text.length + tail.length + directory.length)
  let at = 0
  for (const bytes of [lengths, text, tail, directory]) {
    whole.set(bytes, at)
    at += bytes.length
  }
  return whole
}

export function readState(bytes: Uint8Array): Carried {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const [text, tail] = [LENGTHS + view.readUInt32LE(0), LENGTHS + view.readUInt32LE(0) + view.readUInt32LE(LENGTHS / 2)]
  return {
    state: JSON.parse(view.subarray(LENGTHS, text).toString()) as MakingState,
    tail: bytes.slice(text, tail),
    directory: bytes.slice(tail),
  }
}
