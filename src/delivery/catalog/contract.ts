import * as z from 'zod'

/** Every event key: those of the specification in its order (service.md, Events), then further ones. */
export const EVENT_KEYS = [
  'cfdi.cancelled',
  'cfdi.cancelled_after_payment',
  'sync.completed',
  'sync.failed',
  'connection.ciec_invalid',
  'cfdi.issued',
  'document.csf.updated',
  'document.opinion_32d.changed',
  'obligation.due_soon',
  'storage.failed',
  'mailbox.notification_received',
  'blacklist.changed',
  'extraction.completed',
  'extraction.failed',
  'alert.raised',
  'alert.resolved',
  'quota.warning',
] as const

/** The key of a test event. It is not in the catalog: a test is sent only on request. */
export const TEST_KEY = 'webhook.test'

export const EventKey = z.enum(EVENT_KEYS).meta({
  id: 'EventKey',
  description: 'A key of the event catalog (`GET /v1/webhooks/event-catalog`).',
})
export type EventKey = z.infer<typeof EventKey>

/** The key of an event that was sent: those of the catalog, and a test's. */
export const SentEventKey = z.enum([...EVENT_KEYS, TEST_KEY])

export const EventCatalogItem = z
  .strictObject({
    key: EventKey,
    description: z.string().meta({ description: 'When the event is sent.' }),
    available: z.boolean().meta({
      description:
        'Whether the service sends the event already. You can subscribe to it either way; `warnings` of the webhook then say so.',
    }),
    schema: z.record(z.string(), z.unknown()).nullable().meta({
      description: 'JSON Schema of the payload; null while the event is not available.',
    }),
    sample: z.record(z.string(), z.unknown()).nullable().meta({
      description: 'A complete sample payload; null while the event is not available.',
    }),
  })
  .meta({ id: 'EventCatalogItem' })
export type EventCatalogItem = z.infer<typeof EventCatalogItem>

export const EventCatalog = z.strictObject({ data: z.array(EventCatalogItem) }).meta({ id: 'EventCatalog' })
export type EventCatalog = z.infer<typeof EventCatalog>
