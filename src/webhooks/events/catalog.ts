import * as z from 'zod'

/** 128 bits in the form of a UUID: those of a CFDI need not be of a version that RFC 9562 knows. */
const Uuid = z.guid()
const Instant = z.iso.datetime({ offset: true })

const head = <K extends string>(event: K) => ({
  event: z.literal(event),
  event_id: z.string().meta({ description: 'The same as Service-Delivery-Id; it repeats when an event is delivered again.' }),
  occurred_at: Instant,
})
const ofRfc = { fiscal_entity_id: Uuid, rfc: z.string() }

const cancellation = <K extends string>(event: K, id: string) =>
  z
    .strictObject({
      ...head(event),
      ...ofRfc,
      cfdi_uuid: Uuid,
      cancelled_at: Instant,
      cancellation_reason: z.enum(['01', '02', '03', '04', 'unknown']),
      severity: z.enum(['critical', 'warning']).meta({
        description: 'critical: payments were applied to it, or it was an issued income already counted as income.',
      }),
      direction: z.enum(['issued', 'received']),
      cfdi_type: z.string().meta({ description: 'I, E, T, N or P; `retenciones` for a withholding document.' }),
      payment_status: z.enum(['paid', 'partially_paid', 'unpaid', 'not_applicable']),
      total: z.string().meta({ description: 'Decimal.' }),
      currency: z.string().meta({ description: 'XXX when only the metadata is known.' }),
      emisor_rfc: z.string(),
      receptor_rfc: z.string(),
      issued_at: Instant,
    })
    .meta({ id })

const sync = {
  job_id: z.string(),
  data_source_key: z.string(),
  period: z.string().nullable().meta({ description: '`YYYY-MM`; null for document sources.' }),
  document_type: z.string().meta({ description: '`cfdi`, or the kind of document.' }),
  direction: z.enum(['issued', 'received']).nullable(),
  created_count: z.int().meta({ description: 'Of what your window admits.' }),
  updated_count: z.int(),
  cancelled_count: z.int(),
  first_issued_at: Instant.nullable(),
  last_issued_at: Instant.nullable(),
  completed_at: Instant,
}

const SyncCompleted = z.strictObject({ ...head('sync.completed'), ...ofRfc, ...sync }).meta({ id: 'SyncCompletedEvent' })
const SyncFailed = z
  .strictObject({
    ...head('sync.failed'),
    ...ofRfc,
    ...sync,
    error_class: z.enum([
      'invalid_credentials',
      'login_failed',
      'sat_unavailable',
      'rate_limited',
      'request_exhausted',
      'range_too_large',
      'internal_error',
      'undefined',
    ]),
    will_retry: z.boolean().meta({ description: 'false: the next run that covers the period asks for it again.' }),
    next_attempt_at: Instant.nullable(),
  })
  .meta({ id: 'SyncFailedEvent' })
const CiecInvalid = z
  .strictObject({ ...head('connection.ciec_invalid'), ...ofRfc, rejected_at: Instant })
  .meta({ id: 'ConnectionCiecInvalidEvent' })
const Test = z.strictObject({ ...head('webhook.test'), webhook_id: z.string() }).meta({ id: 'WebhookTestEvent' })

/** Payloads by event key: flat, with the key in `event` (service.md, Payload; insights.md 8.17). */
export const PAYLOADS = {
  'cfdi.cancelled': cancellation('cfdi.cancelled', 'CfdiCancelledEvent'),
  'cfdi.cancelled_after_payment': cancellation('cfdi.cancelled_after_payment', 'CfdiCancelledAfterPaymentEvent'),
  'sync.completed': SyncCompleted,
  'sync.failed': SyncFailed,
  'connection.ciec_invalid': CiecInvalid,
  'webhook.test': Test,
} as const

/** What an event says; the same as every delivery of it. */
export const EventPayload = z.discriminatedUnion('event', Object.values(PAYLOADS) as never)
export type EventPayload = { [K in keyof typeof PAYLOADS]: z.infer<(typeof PAYLOADS)[K]> }[keyof typeof PAYLOADS]

/** A delivery that tries an endpoint: outside the catalog. */
export const TEST_KEY = 'webhook.test'

const event = {
  event_id: 'evt_01kabcdefghjkmnpqrstvwxyz0',
  occurred_at: '2026-11-20T18:00:05.000Z',
  fiscal_entity_id: '0198f6c5-6a1b-7c3d-9e4f-5a6b7c8d9e0f',
  rfc: 'EKU9003173C9',
}
const cancelled = {
  ...event,
  cfdi_uuid: '5B2E1F0A-9C64-4F0E-8B1D-2A7C3D4E5F60',
  cancelled_at: '2026-11-20T11:42:10-06:00',
  cancellation_reason: '02',
  direction: 'received',
  cfdi_type: 'I',
  total: '11600.00',
  currency: 'MXN',
  emisor_rfc: 'JES900109Q90',
  receptor_rfc: 'EKU9003173C9',
  issued_at: '2026-11-03T10:15:00-06:00',
}
const synced = {
  ...event,
  job_id: 'job_01kabcdefghjkmnpqrstvwxyz0',
  data_source_key: 'sat_cfdi_received',
  period: '2026-11',
  document_type: 'cfdi',
  direction: 'received',
  created_count: 12,
  updated_count: 0,
  cancelled_count: 1,
  first_issued_at: '2026-11-03T16:15:00.000Z',
  last_issued_at: '2026-11-20T17:58:31.000Z',
  completed_at: '2026-11-20T18:00:05.000Z',
}

interface Entry {
  key: string
  description: string
  sample: Record<string, unknown> | null
}

/** Every event key, in the specification's order; without a sample those that are not sent yet. */
export const CATALOG: readonly Entry[] = [
  {
    key: 'cfdi.cancelled',
    description: 'The tax authority reports that a CFDI held as valid is now cancelled. Once for each CFDI and RFC.',
    sample: { event: 'cfdi.cancelled', ...cancelled, severity: 'warning', payment_status: 'unpaid' },
  },
  {
    key: 'cfdi.cancelled_after_payment',
    description: 'The cancelled CFDI had applied payments, or was an issued income already counted as income. Comes beside cfdi.cancelled.',
    sample: { event: 'cfdi.cancelled_after_payment', ...cancelled, severity: 'critical', payment_status: 'paid' },
  },
  {
    key: 'sync.completed',
    description: 'A sync job ended successfully: one event for each RFC, period and document type.',
    sample: { event: 'sync.completed', ...synced },
  },
  {
    key: 'sync.failed',
    description: 'A sync job failed for good; error_class says why.',
    sample: { event: 'sync.failed', ...synced, created_count: 0, error_class: 'sat_unavailable', will_retry: false, next_attempt_at: null },
  },
  {
    key: 'connection.ciec_invalid',
    description: 'The tax authority rejected the stored CIEC at login; downloads stop until it is updated. Once for each invalidation.',
    sample: { event: 'connection.ciec_invalid', ...event, rejected_at: '2026-11-20T18:00:05.000Z' },
  },
  { key: 'cfdi.issued', description: 'A new CFDI is ingested.', sample: null },
  { key: 'document.csf.updated', description: 'A new tax status certificate is downloaded.', sample: null },
  { key: 'document.opinion_32d.changed', description: 'The compliance opinion changes state.', sample: null },
  { key: 'obligation.due_soon', description: 'A tax obligation is about to fall due.', sample: null },
]

export const EVENT_KEYS = CATALOG.map(({ key }) => key)

const HEADERS = {
  'Service-Event': 'The event key.',
  'Service-Delivery-Id': 'The event’s id: the same for every attempt, endpoint and redelivery.',
  'Service-Attempt': 'From 1.',
  'Service-Signature': '`v1,` and HMAC-SHA256 of the raw body under the signing secret, in hex.',
  'webhook-id': 'As Service-Delivery-Id (Standard Webhooks).',
  'webhook-timestamp': 'When this attempt was made, seconds since 1970 (Standard Webhooks).',
  'webhook-signature': '`v1,` and the signature of Standard Webhooks in base64, under the same secret.',
}

/** What is sent, for the OpenAPI document. */
export const notices = () =>
  Object.entries(PAYLOADS).map(([key, schema]) => ({
    key,
    description: CATALOG.find((entry) => entry.key === key)?.description ?? 'A test that was asked for.',
    headers: HEADERS,
    schema,
  }))
