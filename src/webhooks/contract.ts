import * as z from 'zod'
import { Id, Instant, Paging, trimmedText } from '../platform/http/shapes.ts'
import { FiscalEntityId } from '../taxpayers/contract.ts'
import { EVENT_KEYS } from './events/catalog.ts'
import { DELIVERY_STATUSES } from './tables.ts'

const EventKey = z.enum(EVENT_KEYS as [string, ...string[]], 'Not a key of the event catalog.').meta({ id: 'EventKey' })

const sent = {
  name: trimmedText(1, 120),
  type: z.literal('custom').nullable(),
  url: z.string().max(2_048, 'Must have at most 2048 characters.').meta({
    description: 'https on port 443 or 8443, with the name of a public host. Checked again at every delivery; redirects are not followed.',
  }),
  event_keys: z
    .array(EventKey)
    .min(1, 'Must name at least one event.')
    .max(100)
    .transform((keys) => [...new Set(keys)])
    .meta({ documented: { type: 'array', items: { $ref: '#/components/schemas/EventKey' }, minItems: 1 } }),
}

export const WebhookDraft = z.strictObject({ ...sent, type: sent.type.default(null) }).meta({ id: 'WebhookDraft' })
export type WebhookDraft = z.infer<typeof WebhookDraft>

export const WebhookChanges = z
  .strictObject({
    name: sent.name.exactOptional(),
    type: sent.type.exactOptional(),
    url: sent.url.exactOptional(),
    event_keys: sent.event_keys.exactOptional(),
    is_enabled: z.boolean().exactOptional(),
  })
  .meta({ id: 'WebhookChanges' })
export type WebhookChanges = z.infer<typeof WebhookChanges>

const webhook = {
  webhook_id: Id('wh'),
  name: z.string(),
  type: z.literal('custom').nullable(),
  url: z.string(),
  event_keys: z.array(EventKey),
  is_enabled: z.boolean().meta({ description: 'While false nothing is sent; what is pending waits.' }),
  secret_hint: z.string().meta({ description: 'The last four characters of the secret that signs now.' }),
  created_at: Instant,
  updated_at: Instant,
}
const signing_secret = z.string().meta({ description: 'Shown this once; nothing can show it again.', examples: ['whsec_…'] })

export const Webhook = z.strictObject(webhook).meta({ id: 'Webhook' })
export type Webhook = z.infer<typeof Webhook>

export const NewWebhook = z.strictObject({ ...webhook, signing_secret }).meta({ id: 'NewWebhook' })
export type NewWebhook = z.infer<typeof NewWebhook>

export const RotatedSecret = z
  .strictObject({ webhook_id: Id('wh'), signing_secret, secret_hint: z.string() })
  .meta({ id: 'RotatedSecret', description: 'Signs from its commit on.' })
export type RotatedSecret = z.infer<typeof RotatedSecret>

export const WebhookPath = z.strictObject({ webhook_id: Id('wh') })
export const WebhookQuery = z.strictObject(Paging)
export type WebhookQuery = z.infer<typeof WebhookQuery>

export const CatalogItem = z
  .strictObject({
    key: EventKey,
    description: z.string(),
    available: z.boolean().meta({ description: 'false: may be subscribed to and is not sent yet.' }),
    schema: z.record(z.string(), z.unknown()).nullable().meta({ description: 'JSON Schema of the payload.' }),
    sample: z.record(z.string(), z.unknown()).nullable(),
  })
  .meta({ id: 'EventCatalogItem' })
export type CatalogItem = z.infer<typeof CatalogItem>
export const EventCatalog = z.strictObject({ data: z.array(CatalogItem) }).meta({ id: 'EventCatalog' })
export type EventCatalog = z.infer<typeof EventCatalog>

const DeliveryStatus = z.enum(DELIVERY_STATUSES).meta({
  id: 'DeliveryStatus',
  description: 'failed: refused for good. lost: six attempts used.',
})

const Attempt = z
  .strictObject({
    attempt: z.int().meta({ description: 'From 1; Service-Attempt.' }),
    attempted_at: Instant,
    duration_ms: z.int(),
    status_code: z.int().nullable(),
    error: z.string().nullable().meta({ description: 'Why there was no answer.' }),
    response_body: z.string().nullable().meta({ description: 'The first bytes of the answer, at most 1 KiB.' }),
  })
  .meta({ id: 'WebhookAttempt' })

export const Delivery = z
  .strictObject({
    event_id: Id('evt'),
    event_key: z.string(),
    redelivery: z.int().meta({ description: '0, or the how-manieth time that this event was asked for again.' }),
    status: DeliveryStatus,
    attempts: z.array(Attempt),
    next_attempt_at: Instant.nullable(),
    created_at: Instant,
  })
  .meta({ id: 'WebhookDelivery' })
export type Delivery = z.infer<typeof Delivery>

export const DeliveryQuery = z.strictObject({
  ...Paging,
  status: DeliveryStatus.optional(),
  event_key: z.string().max(100).optional(),
})
export type DeliveryQuery = z.infer<typeof DeliveryQuery>

export const DeliveryPath = z.strictObject({ webhook_id: Id('wh'), event_id: Id('evt') })

export const RedeliveryRequest = z
  .strictObject({
    since: Instant.meta({ description: 'Of the events: what came before is left.' }),
    statuses: z
      .array(z.enum(['lost', 'failed']))
      .min(1)
      .default(['lost']),
  })
  .meta({ id: 'RedeliveryRequest' })
export type RedeliveryRequest = z.infer<typeof RedeliveryRequest>

export const Redelivered = z
  .strictObject({
    redelivered_count: z.int(),
    has_more: z.boolean().meta({ description: 'More than 1,000: ask again.' }),
  })
  .meta({ id: 'Redelivered' })
export type Redelivered = z.infer<typeof Redelivered>

export const EventQuery = z
  .strictObject({
    ...Paging,
    event_key: z.string().max(100).optional(),
    fiscal_entity_id: FiscalEntityId.optional(),
    fiscalEntityId: FiscalEntityId.optional().meta({ documented: { type: 'string', description: 'The same under another name.' } }),
  })
  .superRefine(({ fiscal_entity_id, fiscalEntityId }, context) => {
    if (fiscal_entity_id !== undefined && fiscalEntityId !== undefined && fiscal_entity_id !== fiscalEntityId)
      context.addIssue({ code: 'custom', path: ['fiscalEntityId'], message: 'Says something else than fiscal_entity_id.' })
  })
export type EventQuery = z.infer<typeof EventQuery>
export const EventPath = z.strictObject({ event_id: Id('evt') })
