import { targetFault } from '../../platform/target.ts'
import { DestinationError } from './port.ts'

/** For one request, from its first byte to the last one of its answer. */
const TIMEOUT_MS = 15_000
/**
 * Of an object that is read, and of any other answer, in bytes. A destination must not use up the memory of the service, and what crosses from
 * one Worker to another has less than 32 MiB.
 */
const [LARGEST_OBJECT, LARGEST_ANSWER] = [31 * 1_048_576, 1_048_576]

/** The way by which drivers reach their providers. */
export interface Network {
  /** The service's own host names, which no destination may have. */
  publicHosts: readonly string[]
  fetch(url: string, init: RequestInit): Promise<Response>
}

export interface ProviderRequest {
  method: string
  url: string
  headers?: Record<string, string> | Headers
  body?: Uint8Array | string
}

export interface ProviderAnswer {
  status: number
  headers: Headers
  body: Uint8Array
}

/**
 * Sends one request to a provider and returns its whole answer, whatever its status. Redirects are not followed. The URL may contain a
 * secret: no error repeats it. Throws DestinationError address_refused, timeout, connection_failed or refused.
 */
export async function call(network: Network, { url, ...request }: ProviderRequest): Promise<ProviderAnswer> {
  // What follows the host cannot change it, and may be longer than a customer's URL.
  const fault = targetFault(/^[^:/?#]*:\/\/[^/?#]*/.exec(url)?.[0] ?? url, network.publicHosts)
  if (fault !== null) throw new DestinationError('address_refused', `The address of the destination may not be called. ${fault}`)
  const { signal, abort, expired, end } = timer()
  try {
    const answer = await Promise.race([network.fetch(url, { ...request, redirect: 'manual', signal }), expired])
    return {
      status: answer.status,
      headers: answer.headers,
      body: await bodyOf(answer, request.method === 'GET' ? LARGEST_OBJECT : LARGEST_ANSWER, expired),
    }
  } catch (error) {
    abort()
    if (error instanceof DestinationError) throw error
    // The error of the network is not passed on: it could name hosts, or the URL.
    throw new DestinationError('connection_failed', 'The connection to the destination could not be made, or it broke.')
  } finally {
    end()
  }
}

function timer() {
  const controller = new AbortController()
  const { promise: expired, reject } = Promise.withResolvers<never>()
  expired.catch(() => null)
  const abort = () => controller.abort()
  const clock = setTimeout(() => {
    reject(new DestinationError('timeout', `The destination did not answer within ${TIMEOUT_MS / 1_000} seconds.`))
    abort()
  }, TIMEOUT_MS)
  return { signal: controller.signal, abort, expired, end: () => clearTimeout(clock) }
}

async function bodyOf({ body }: Response, most: number, expired: Promise<never>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let length = 0
  const reader = body?.getReader()
  for (;;) {
    const piece = await Promise.race([reader?.read(), expired])
    if (!piece || piece.done) break
    pieces.push(piece.value)
    length += piece.value.length
    if (length > most) throw new DestinationError('refused', `The destination answered with more than ${most} bytes.`)
  }
  const whole = new Uint8Array(length)
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}

/** The members of an answer that is a JSON object; none of any other answer. */
export function jsonOf({ body }: ProviderAnswer): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(body))
    return membersOf(value)
  } catch {
    return {}
  }
}

export const membersOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}

/** Sends a part of a large object. Returns null when the connection broke or the provider failed, and the part may be sent again. */
export async function sendPart(sending: Promise<ProviderAnswer>, isLast: boolean): Promise<ProviderAnswer | null> {
  try {
    const answer = await sending
    return isLast || answer.status < 500 || answer.headers.has('retry-after') ? answer : null
  } catch (error) {
    if (!isLast && error instanceof DestinationError && error.code === 'connection_failed') return null
    throw error
  }
}
