import type { Digests } from '../endpoints/endpoints.ts'

const hmac = async (key: Uint8Array, data: Uint8Array): Promise<Uint8Array> => {
  const imported = await crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, data))
}

/** One attempt of a delivery, to be signed. */
export interface SignedAttempt {
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
