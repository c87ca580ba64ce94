import type { SatRequest } from './operations.ts'
import { Unanswered } from './unanswered.ts'

/** What sends a request: `fetch`, or what stands in for it. */
export type Send = (url: string, init: RequestInit) => Promise<Response>

/**
 * Sends a request and gives the body of the answer to `read`, all within so many milliseconds. Redirects are not followed, because requests
 * contain tokens. Throws Unanswered, and whatever else `read` throws.
 */
export async function exchange<T>(
  send: Send,
  { url, headers, body }: SatRequest,
  milliseconds: number,
  read: (body: AsyncIterable<Uint8Array>) => Promise<T>,
): Promise<T> {
  const signal = AbortSignal.timeout(milliseconds)
  let status: number | null = null
  try {
    const response = await send(url, { method: 'POST', headers, body, redirect: 'manual', signal }).catch((error: unknown) => {
      throw interrupted(error, 'unreachable', 'The tax authority cannot be reached.')
    })
    status = response.status
    return await read(chunksOf(response.body))
  } catch (error) {
    if (error instanceof Unanswered) error.status = status
    throw error
  }
}

/** In bytes: what of an answer is in memory. */
const CHUNK = 65_536

/** Reads a body into one buffer again and again: a chunk is good until the next one is read. What is no stream of bytes comes as it is. */
function readerOf(body: ReadableStream<Uint8Array>) {
  let reader: ReadableStreamBYOBReader
  try {
    reader = body.getReader({ mode: 'byob' })
  } catch {
    return body.getReader()
  }
  let buffer = new ArrayBuffer(CHUNK)
  return {
    async read() {
      const { done, value } = await reader.read(new Uint8Array(buffer))
      if (value) buffer = value.buffer as ArrayBuffer
      return { done, value }
    },
    cancel: () => reader.cancel(),
  }
}

async function* chunksOf(body: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array> {
  if (body === null) return
  const reader = readerOf(body)
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw interrupted(error, 'truncated', 'The answer of the tax authority ends too early.')
      })
      if (done || value === undefined) return
      yield value
    }
  } finally {
    // The rest is not wanted. After the end this does nothing.
    await reader.cancel().catch(() => {})
  }
}

const interrupted = (error: unknown, otherwise: 'unreachable' | 'truncated', message: string): Unanswered =>
  error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError')
    ? new Unanswered('timed_out', 'The tax authority did not answer in time.')
    : new Unanswered(otherwise, message)

/** In bytes. All answers without a package are far smaller. */
const MAX_TEXT = 1_000_000

/** Reads an answer as text. Throws Unanswered for one that is too long. */
export async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > MAX_TEXT) throw new Unanswered('malformed', 'The answer of the tax authority is too long.')
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}
