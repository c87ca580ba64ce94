import type { Context } from 'hono'
import { free, joined } from '../bytes/bytes.ts'
import { ObjectWriter } from '../bytes/object-writer.ts'
import type { App, StoredUpload } from '../context.ts'
import { Failure, invalid } from '../failures.ts'
import { log } from '../log.ts'

const MIB = 1024 * 1024
const JSON_LIMIT = MIB
/** The largest body that the platform lets through on every plan: 100 MB. */
export const MOST_BODY_BYTES = 100_000_000

const sizeOf = (bytes: number): string => (bytes % MIB === 0 ? `${bytes / MIB} MiB` : `${bytes / 1_000_000} MB`)

const tooLarge = (limit: number) =>
  new Failure('too_large', 'request.too_large', `The body is larger than ${sizeOf(limit)}. Send less at once.`)

/** A body fails to arrive only when the client hangs up. Nobody reads this answer, but the log has it as the client's doing. */
const interrupted = () =>
  new Failure('malformed', 'request.interrupted', 'The connection ended before the whole body was received. Send the request again.')

/**
 * The parts of a body, counted as they arrive, because a Content-Length can be wrong. Throws Failure 413 beyond the limit in bytes, 415 when it
 * is compressed, and 400 when the client hangs up before the end.
 */
async function* countedParts(request: Request, limit: number): AsyncGenerator<Uint8Array, void, undefined> {
  if (Number(request.headers.get('content-length') ?? 0) > limit) throw tooLarge(limit)
  if (!request.body) return
  // The platform leaves it as it came, so that it would be stored or parsed compressed.
  const encoding = request.headers.get('content-encoding')?.trim().toLowerCase() ?? 'identity'
  if (encoding !== 'identity' && encoding !== '')
    throw new Failure('unsupported_media_type', 'request.content_encoding', 'Send the body as it is, without a Content-Encoding.')
  let size = 0
  try {
    for await (const part of request.body as ReadableStream<Uint8Array>) {
      size += part.length
      if (size > limit) throw tooLarge(limit)
      yield part
    }
  } catch (error) {
    throw error instanceof Failure ? error : interrupted()
  }
}

/** Reads a body. Throws Failure 413 beyond the limit in bytes. */
export async function readBytes(request: Request, limit: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  for await (const part of countedParts(request, limit)) parts.push(part)
  return parts.length === 1 ? parts[0]! : joined(parts)
}

export const mediaType = (request: Request): string => (request.headers.get('content-type') ?? '').split(';')[0]!.trim().toLowerCase()

const emptyBody = (message: string): Failure => invalid('request.empty_body', [{ path: 'body', message }])

const strict = () => new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })

/**
 * Admits a JSON body of at most 1 MiB, and leaves its text where Hono and `idempotent` find it. `members` says which members the object has,
 * after "Send a JSON object". Throws Failure 413, 415, or 422 when it is empty.
 */
export async function admitJson({ req }: Context, members: () => string = () => ''): Promise<void> {
  const bytes = await readBytes(req.raw, JSON_LIMIT)
  const type = mediaType(req.raw)
  if (bytes.length === 0 && ['', 'application/json'].includes(type)) throw emptyBody(`Must not be empty. Send a JSON object${members()}.`)
  if (type !== 'application/json') throw new Failure('unsupported_media_type', 'request.content_type', 'Send the body as application/json.')
  Object.assign(req.bodyCache, { text: Promise.try(() => strict().decode(bytes)) })
}

/**
 * Returns the JSON sent to a route that needs no body, `{}` without any, and leaves its text as admitJson does. Throws Failure 422 when it
 * is not JSON.
 */
export async function readOptional({ req }: Context): Promise<unknown> {
  if (req.raw.body === null) return {}
  try {
    const text = strict().decode(await readBytes(req.raw, JSON_LIMIT)) || '{}'
    const value: unknown = JSON.parse(text)
    req.bodyCache.text = text
    return value
  } catch {
    throw invalid('request.unexpected_body', [{ path: 'body', message: 'Must be empty or a JSON object.' }])
  }
}

/** The refusal of a body that has none of these content types; null when it has one. */
const refuseMediaType = (request: Request, contentTypes: readonly string[]): Failure | null =>
  contentTypes.includes(mediaType(request))
    ? null
    : new Failure(
        'unsupported_media_type',
        'request.content_type',
        `Send the body with one of these content types: ${contentTypes.join(', ')}.`,
      )

/** Reads a raw body of one of these content types. Throws Failure 413 beyond the limit in bytes, 415, or 422 when the body is empty. */
export async function readUpload(c: Context, contentTypes: readonly string[], limit: number): Promise<Uint8Array> {
  const bytes = await readBytes(c.req.raw, limit)
  const refusal = refuseMediaType(c.req.raw, contentTypes)
  if (refusal !== null) throw refusal
  if (bytes.length === 0) throw emptyBody('Must not be empty.')
  return bytes
}

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
      // A body that is longer than it says is still counted, because it may be too large.
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
  const writer = new ObjectWriter(files, key)
  try {
    for await (const part of parts) await writer.write(part)
    if (writer.size > 0) await writer.complete()
  } catch (error) {
    await writer.abort()
    throw error
  }
}
