import { answerStatus, faultOf } from '../../platform/egress/answer-status.ts'
import { clock } from '../../platform/time/clock.ts'
import type { Digests } from '../endpoints/endpoints.ts'
import type { AttemptRecord } from '../tables.ts'

const hmac = async (key: Uint8Array, data: Uint8Array): Promise<Uint8Array> => {
  const imported = await crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, data))
}

/** One attempt of a delivery, to be signed. */
interface SignedAttempt {
  event_id: string
  /** The place of the event in its feed. */
  ordering: number
  key: string
  /** The number of the attempt, from 1. */
  attempt: number
  body: Uint8Array
  /** When the attempt is made. */
  at: Date
  /** Whether the body is the sample of an event. */
  isTest?: boolean
}

/**
 * Returns the headers of an attempt. Both signatures cover the exact bytes that are sent:
 * Service-Signature is HMAC-SHA256(signing_secret, body) in hex, webhook-signature follows Standard Webhooks.
 */
export async function deliveryHeaders(
  { a, b }: Digests,
  { event_id, ordering, key, attempt, body, at, isTest }: SignedAttempt,
): Promise<Record<string, string>> {
  const timestamp = String(Math.floor(at.getTime() / 1_000))
  const prefix = new TextEncoder().encode(`${event_id}.${timestamp}.`)
  const stamped = new Uint8Array(prefix.length + body.length)
  stamped.set(prefix)
  stamped.set(body, prefix.length)
  return {
    'Content-Type': 'application/json; charset=utf-8',
    'User-Agent': 'Fiscal-Data-Service/1 (webhooks)',
    'Service-Event': key,
    'Service-Delivery-Id': event_id,
    'Service-Ordering': String(ordering),
    'Service-Attempt': String(attempt),
    ...(isTest && { 'Service-Test': 'true' }),
    'Service-Signature': `v1,${(await hmac(a, body)).toHex()}`,
    'webhook-id': event_id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${(await hmac(b, stamped)).toBase64()}`,
  }
}

/** Seconds to wait before each attempt, counted from the end of the previous one. */
const WAITS = [0, 60, 300, 1_800, 7_200, 21_600] as const

/** How long an attempt may wait for the headers and the first KiB of the body. */
const TIMEOUT_MS = 5_000

type AttemptOutcome = 'delivered' | 'refused' | 'unanswered'

/** Classifies the status of an answer; null means no answer in time. Redirects and interim answers count as refusals. */
export const outcomeOf = (status_code: number | null): AttemptOutcome => {
  if (status_code === null || (status_code >= 500 && status_code < 600) || status_code === 408 || status_code === 429) return 'unanswered'
  return status_code >= 200 && status_code < 300 ? 'delivered' : 'refused'
}

export type Verdict = { status: 'delivered' | 'failed' | 'lost' } | { status: 'pending'; wait_seconds: number }

/** Returns the state of a delivery after its attempt number `attempt`, from 1. */
export function verdictAfter(attempt: number, outcome: AttemptOutcome): Verdict {
  if (outcome === 'delivered') return { status: 'delivered' }
  if (outcome === 'refused') return { status: 'failed' }
  const wait_seconds = WAITS[attempt]
  return wait_seconds === undefined ? { status: 'lost' } : { status: 'pending', wait_seconds }
}

/** How much of an answer's body is read for the delivery log. The body does not affect the outcome. */
const MAX_BODY_BYTES = 1_024

/** Makes one attempt. The headers must arrive within five seconds; redirects are not followed. Never throws. */
export async function post(egress: Fetcher, url: string, headers: Record<string, string>, body: Uint8Array): Promise<AttemptRecord> {
  const [at, began] = [clock.now(), Date.now()]
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  try {
    const response = await egress.fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal })
    const duration_ms = Date.now() - began
    return {
      at,
      duration_ms,
      status_code: answerStatus(response),
      error: null,
      response_body: await firstBytes(response, began + TIMEOUT_MS),
    }
  } catch (thrown) {
    const error = signal.aborted ? 'No answer within 5 seconds.' : faultOf(thrown)
    return { at, duration_ms: Date.now() - began, status_code: null, error, response_body: null }
  }
}

async function firstBytes({ body }: Response, until: number): Promise<string | null> {
  if (body === null) return null
  const reader = body.getReader()
  const bytes = new Uint8Array(MAX_BODY_BYTES)
  let length = 0
  const end = scheduler.wait(Math.max(0, until - Date.now()))
  try {
    while (length < MAX_BODY_BYTES) {
      const part = await Promise.race([reader.read(), end])
      if (!part || part.done) break
      const taken = part.value.subarray(0, MAX_BODY_BYTES - length)
      bytes.set(taken, length)
      length += taken.length
    }
  } catch {
    // The connection broke: the bytes that arrived are kept.
  }
  void reader.cancel().catch(() => {})
  const text = new TextDecoder().decode(bytes.subarray(0, length))
  return text === '' ? null : text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '\ufffd')
}
