import type { Context } from 'hono'
import { free } from '../bytes/bytes.ts'
import type { App, StoredUpload } from '../context.ts'
import { Failure, invalid } from '../failures.ts'
import { log } from '../log.ts'
import { countedParts, refuseMediaType } from './body.ts'

/** Smaller than this, a body of unknown length is stored at once; otherwise in parts of this size, the least that the bucket takes. */
const PART = 5 * 1024 * 1024

/**
 * Stores a raw body under a new key and counts its bytes as they arrive. When it is not admitted it is only counted. Throws Failure 413
 * beyond the limit in bytes, 415, 400 when its Content-Length is wrong, or 422 when it is empty; then nothing is stored.
 */
export async function storeUpload(
  c: Context<App>,
  { contentTypes, limit, prefix, isAdmitted }: { contentTypes: readonly string[]; limit: number; prefix: string; isAdmitted: boolean },
): Promise<StoredUpload> {
  const request = c.req.raw
  const digest = new crypto.DigestStream('SHA-256')
  const hashing = digest.getWriter()
  let size = 0
  async function* parts() {
    for await (const part of countedParts(request, limit)) {
      size += part.length
      await hashing.write(part)
      yield part
      free(part)
    }
  }
  const refusal = refuseMediaType(request, contentTypes)
  const key = prefix + crypto.randomUUID()
  await into(c.env.FILES, key, parts(), refusal === null && isAdmitted ? declaredLength(request) : 'nowhere')
  await hashing.close()
  if (refusal !== null) throw refusal
  if (size === 0) throw invalid('request.empty_body', [{ path: 'body', message: 'Must not be empty.' }])
  return { key, size, sha256: new Uint8Array(await digest.digest).toHex(), isKept: false }
}

/** Deletes an upload that nothing refers to. A failure is only logged, because the sweep deletes it later. */
export async function dropUpload({ env, var: { requestId } }: Context<App>, { key, isKept }: StoredUpload): Promise<void> {
  if (isKept) return
  try {
    await env.FILES.delete(key)
  } catch (error) {
    log.error({ requestId }, 'An upload that was not used could not be deleted.', { key }, error)
  }
}

const declaredLength = ({ headers }: Request): number | 'unknown' => {
  const declared = Number(headers.get('content-length') ?? Number.NaN)
  return Number.isInteger(declared) && declared > 0 ? declared : 'unknown'
}

type Parts = AsyncGenerator<Uint8Array, void, undefined>

function into(files: R2Bucket, key: string, parts: Parts, length: number | 'unknown' | 'nowhere'): Promise<void> {
  if (length === 'nowhere') return drained(parts)
  return length === 'unknown' ? inParts(files, key, parts) : streamed(files, key, parts, length)
}

async function drained(parts: Parts): Promise<void> {
  while (!(await parts.next()).done);
}

/** The bucket wants to know the length beforehand. */
async function streamed(files: R2Bucket, key: string, parts: Parts, length: number): Promise<void> {
  const { readable, writable } = new FixedLengthStream(length)
  const put = files.put(key, readable)
  put.catch(() => {})
  const writer = writable.getWriter()
  writer.closed.catch(() => {})
  let left = length
  try {
    for await (const part of parts) {
      left -= part.length
      // What is longer than it says is still counted, because it may be too large.
      if (left >= 0) await writer.write(part)
    }
  } catch (error) {
    await writer.abort(error).catch(() => {})
    throw error
  }
  if (left === 0) {
    await writer.close()
    await put
    return
  }
  await writer.abort(new Error('The body is not as long as it says.')).catch(() => {})
  await put.catch(() => {})
  throw new Failure('malformed', 'request.content_length', 'The body is not as long as its Content-Length says.')
}

async function inParts(files: R2Bucket, key: string, parts: Parts): Promise<void> {
  const buffer = new Uint8Array(PART)
  let filled = 0
  let upload: R2MultipartUpload | null = null
  const uploaded: R2UploadedPart[] = []
  try {
    for await (let part of parts) {
      while (filled + part.length > PART) {
        buffer.set(part.subarray(0, PART - filled), filled)
        part = part.subarray(PART - filled)
        upload ??= await files.createMultipartUpload(key)
        uploaded.push(await upload.uploadPart(uploaded.length + 1, buffer))
        filled = 0
      }
      buffer.set(part, filled)
      filled += part.length
    }
    const last = buffer.subarray(0, filled)
    if (upload === null) {
      if (filled > 0) await files.put(key, last)
      return
    }
    uploaded.push(await upload.uploadPart(uploaded.length + 1, last))
    await upload.complete(uploaded)
  } catch (error) {
    await upload?.abort().catch(() => {})
    throw error
  }
}
