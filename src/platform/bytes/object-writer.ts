import { free } from './bytes.ts'

/** Parts of an upload have the same size, all but the last one. The platform takes no smaller ones. */
const PART_BYTES = 5 * 1024 * 1024

/** Writes an object of the bucket as its bytes come, a part at a time: the object is there only once it is complete. One part is put at once. */
export class ObjectWriter {
  size = 0
  #buffer = new Uint8Array(PART_BYTES)
  #used = 0
  #upload: R2MultipartUpload | null = null
  readonly #parts: R2UploadedPart[] = []
  readonly #files: R2Bucket
  readonly #key: string
  readonly #onPart: () => Promise<unknown>

  /** `onPart` is called after each part. */
  constructor(files: R2Bucket, key: string, onPart: () => Promise<unknown> = async () => {}) {
    this.#files = files
    this.#key = key
    this.#onPart = onPart
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      if (this.#used === PART_BYTES) await this.#flush()
      const some = bytes.subarray(at, at + PART_BYTES - this.#used)
      this.#buffer.set(some, this.#used)
      this.#used += some.length
      at += some.length
    }
    this.size += bytes.length
  }

  async complete(): Promise<void> {
    if (this.#upload === null) await this.#files.put(this.#key, this.#buffer.subarray(0, this.#used))
    else {
      await this.#flush()
      await this.#upload.complete(this.#parts)
    }
    free(this.#buffer)
  }

  /** Leaves nothing of it. */
  async abort(): Promise<void> {
    await this.#upload?.abort().catch(() => {})
    free(this.#buffer)
  }

  async #flush(): Promise<void> {
    this.#upload ??= await this.#files.createMultipartUpload(this.#key)
    this.#parts.push(await this.#upload.uploadPart(this.#parts.length + 1, this.#buffer.subarray(0, this.#used)))
    this.#used = 0
    await this.#onPart()
  }
}
