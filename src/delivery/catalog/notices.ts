import { DESCRIPTIONS } from './catalog.ts'
import type { EventKey } from './contract.ts'
import { PAYLOADS } from './payload-contract.ts'
import { RECORDED_ONLY } from './recorded-only.ts'

const HEADERS = {
  'Service-Event': 'The event key, such as `cfdi.cancelled`.',
  'Service-Delivery-Id': 'The event’s identifier: the same for every attempt, redelivery and endpoint.',
  'Service-Attempt': 'The number of the attempt, from 1. A redelivery counts from 1 again.',
  'Service-Signature':
    '`v1,` followed by the HMAC-SHA256 of the raw body in lowercase hex. The key is the whole signing secret, including `whsec_`.',
  'webhook-id': 'The same as Service-Delivery-Id, under its Standard Webhooks name.',
  'webhook-timestamp': 'When this attempt was made, in seconds since 1970 (Standard Webhooks).',
  'webhook-signature': '`v1,` followed by the Standard Webhooks signature in base64, made with the same signing secret.',
}

/** Returns a description of each request that webhooks send, for the OpenAPI document. */
export const notices = () =>
  Object.entries(PAYLOADS)
    .filter(([key]) => !RECORDED_ONLY.includes(key))
    .map(([key, schema]) => ({
      key,
      description: DESCRIPTIONS[key as EventKey] ?? 'A test event, sent on request.',
      headers: HEADERS,
      schema,
    }))
