import { Buffer } from 'node:buffer'
import type { PagePosition } from '../../../cfdi/search/search.ts'
import type { Sink, WorkbookState, ZipState } from '../../../platform/workbook.ts'
import type { ExportRow } from '../store.ts'

/** Bounds of the steps and formats of an export. Tests have lower ones. */
export interface ExportLimits {
  /** Documents that are read at once: for rows alone, for rows of contents, for files, and for PDFs, which take long to make. */
  page: Readonly<Record<ExportRow['kind'] | 'pdf', number>>
  /** After so many documents a step is committed. */
  commit: number
  /** Bytes of XML of the documents of a step, or of one document: what is made of them is lost with the worker until the step is committed. */
  stepBytes: number
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

/** The bytes of an export in memory: a page of documents and the part of the file that is not written yet. */
export const WEIGHT = 2 * MIB

export const LIMITS: ExportLimits = {
  page: { cfdi: 500, conceptos: 250, pagos: 250, nominas: 250, complementos: 250, xml: 250, pdf: 25 },
  commit: 5_000,
  stepBytes: 32 * MIB,
  xmlBytes: 2 * MIB,
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

/** How far a file is written. The state of the export carries the bytes that are no whole part yet. */
interface OutputState {
  /** The key of the object that the file becomes. */
  key: string
  /** The id of its multipart upload; null while the file is smaller than a part. */
  upload: string | null
  /** The ETags of the parts. */
  parts: string[]
  /** Objects with the full pieces of the central directory, in their order. */
  directory: string[]
}

/** The file would have more parts than the bucket takes. */
export class TooLarge extends Error {}

/**
 * Buffers of a part that no export uses at the moment. They are used again because the engine collects buffers late: two exports at once took
 * 188 MB without this.
 */
const spare: Uint8Array<ArrayBuffer>[] = []
const MOST_SPARE = 4

/**
 * The file that an export writes: whole parts go into the bucket as they come. A part that is written again after a crash replaces the one
 * before.
 */
export class FileOutput implements Sink {
  readonly state: OutputState
  readonly #files: R2Bucket
  /** Parts that are full and not in the bucket yet. */
  #full: Uint8Array<ArrayBuffer>[] = []
  /** The part that is being filled, up to `#length`. */
  #part: Uint8Array<ArrayBuffer> | null = null
  #length = 0
  #directory: Uint8Array[]

  constructor(files: R2Bucket, state: OutputState, tail: Uint8Array, directory: Uint8Array) {
    this.state = state
    this.#files = files
    this.#directory = [directory]
    this.push(tail)
  }

  get at(): number {
    return (this.state.parts.length + this.#full.length) * PART_BYTES + this.#length
  }

  push(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length; ) {
      this.#part ??= spare.pop() ?? new Uint8Array(PART_BYTES)
      const some = bytes.subarray(from, from + PART_BYTES - this.#length)
      this.#part.set(some, this.#length)
      from += some.length
      this.#length += some.length
      if (this.#length < PART_BYTES) continue
      this.#full.push(this.#part)
      this.#part = null
      this.#length = 0
    }
  }

  enter(bytes: Uint8Array): void {
    this.#directory.push(bytes)
  }

  /** The bytes that no part has yet, after a flush. They change with the next `push`. */
  get tail(): Uint8Array<ArrayBuffer> {
    return this.#part?.subarray(0, this.#length) ?? new Uint8Array()
  }

  /** The bytes of the central directory that no object has yet. */
  get directory(): Uint8Array {
    if (this.#directory.length !== 1) this.#directory = [Buffer.concat(this.#directory)]
    return this.#directory[0]!
  }

  /** Puts the whole parts into the bucket. */
  async flush(): Promise<void> {
    for (let part = this.#full[0]; part; part = this.#full[0]) {
      if (this.state.parts.length + 1 >= MOST_PARTS) throw new TooLarge()
      await this.#upload(part)
      this.#full.shift()
      giveBack(part)
    }
  }

  /** Takes these bytes of the central directory, so that an object may keep them. */
  takeDirectory(): Uint8Array {
    const bytes = this.directory
    this.#directory = []
    return bytes
  }

  /** The last part of a file that has parts. */
  async close(): Promise<void> {
    await this.flush()
    if (this.state.upload === null || this.#length === 0) return
    await this.#upload(this.tail)
    this.release()
  }

  /** Gives the buffer back and drops its contents. Only when nothing reads from it any more. */
  release(): void {
    if (this.#part) giveBack(this.#part)
    this.#part = null
    this.#length = 0
  }

  async #upload(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    const { key, parts } = this.state
    this.state.upload ??= (await this.#files.createMultipartUpload(key)).uploadId
    const { etag } = await this.#files.resumeMultipartUpload(key, this.state.upload).uploadPart(parts.length + 1, bytes)
    parts.push(etag)
  }
}

function giveBack(part: Uint8Array<ArrayBuffer>): void {
  if (spare.length < MOST_SPARE) spare.push(part)
}

/** Makes the object out of its parts, or of bytes that fill none. It can be repeated. Throws when the parts are gone. */
export async function completeObject(files: R2Bucket, { key, upload, parts }: OutputState, tail: Uint8Array): Promise<R2Object> {
  if (upload === null) return (await files.put(key, tail as Uint8Array<ArrayBuffer>))!
  try {
    return await files.resumeMultipartUpload(key, upload).complete(parts.map((etag, n) => ({ partNumber: n + 1, etag })))
  } catch (error) {
    // An earlier worker has completed it, and died.
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
  /** Where the central directory begins, and how many of its objects are copied. */
  directory: { at: number; copied: number }
  bytes: number
}

export const newState = (key: string, listed: string): MakingState => ({
  ...{ listed, phase: 'reading', after: null, rows: 0, documents: 0, without_xml: 0 },
  ...{ zip: { entries: 0, directory: 0 }, workbook: { sheets: [], rows: 0, entry: null } },
  ...{ output: { key, upload: null, parts: [], directory: [] }, directory: { at: 0, copied: 0 }, bytes: 0 },
})

/** A state with its bytes: those of the file that are no part yet, and those of its central directory. */
export interface SavedMaking {
  state: MakingState
  tail: Uint8Array
  directory: Uint8Array
}

const LENGTHS = 8

/** Stores a state as an object. The pieces are sent one after another, because joining them would copy them. */
export async function putState(files: R2Bucket, key: string, { state, tail, directory }: SavedMaking): Promise<void> {
  const text = Buffer.from(JSON.stringify(state))
  const lengths = Buffer.alloc(LENGTHS)
  lengths.writeUInt32LE(text.length, 0)
  lengths.writeUInt32LE(tail.length, LENGTHS / 2)
  const pieces = [lengths, text, tail, directory]
  const { readable, writable } = new FixedLengthStream(pieces.reduce((sum, { length }) => sum + length, 0))
  const send = async (): Promise<void> => {
    const writer = writable.getWriter()
    for (const piece of pieces) if (piece.length > 0) await writer.write(piece)
    await writer.close()
  }
  await Promise.all([files.put(key, readable), send()])
}

export function readState(bytes: Uint8Array): SavedMaking {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const [text, tail] = [LENGTHS + view.readUInt32LE(0), LENGTHS + view.readUInt32LE(0) + view.readUInt32LE(LENGTHS / 2)]
  return {
    state: JSON.parse(view.subarray(LENGTHS, text).toString()) as MakingState,
    tail: bytes.subarray(text, tail),
    directory: bytes.slice(tail),
  }
}
