import * as z from 'zod'
import { doc } from '#doc'
import { documented, Id, Instant, Paging, trimmedText } from '../../platform/http/shapes.ts'
import { EventKey } from '../catalog/contract.ts'

const NAME = doc('A label of your choice.')
const TYPE = doc('`custom` is the only type. Null means the same.')

const writable = {
  name: documented(trimmedText(1, 120), { type: 'string', minLength: 1, maxLength: 120, description: NAME }),
  type: z.literal('custom').nullable().meta({ description: TYPE }),
  url: z
    .string()
    .max(2_048, 'Must have at most 2048 characters.')
    .meta({
      description: doc(
        'The URL that receives the events: https, port 443 or 8443, and the name of a public host. It is checked again before every ' +
          'delivery. Redirects are not followed.',
      ),
    }),
  event_keys: documented(
    z
      .array(EventKey)
      .min(1)
      .max(100)
      .transform((keys) => [...new Set(keys)]),
    {
      type: 'array',
      items: { $ref: '#/components/schemas/EventKey' },
      minItems: 1,
      maxItems: 100,
      description: doc('The events to subscribe to. Keys of events that are not available yet are accepted.'),
    },
  ),
}

export const WebhookDraft = z.strictObject({ ...writable, type: writable.type.default(null) }).meta({ id: 'WebhookDraft' })
export type WebhookDraft = z.infer<typeof WebhookDraft>

export const WebhookChanges = z
  .strictObject({
    name: writable.name.exactOptional(),
    type: writable.type.exactOptional(),
    url: writable.url.exactOptional(),
    event_keys: writable.event_keys.exactOptional(),
    is_enabled: z.boolean().exactOptional(),
  })
  .meta({ id: 'WebhookChanges' })
export type WebhookChanges = z.infer<typeof WebhookChanges>

const webhook = {
  webhook_id: Id('wh'),
  name: z.string().meta({ description: NAME }),
  type: z.literal('custom').nullable().meta({ description: TYPE }),
  url: z.string().meta({ description: doc('The URL that receives the events.') }),
  event_keys: z.array(EventKey).meta({ description: doc('The events that the webhook subscribes to.') }),
  is_enabled: z.boolean().meta({
    description: doc('While false, nothing is sent: pending deliveries wait, and new events create no deliveries to this webhook.'),
  }),
  secret_hint: z.string().meta({ description: doc('The last four characters of the current signing secret.') }),
  created_at: Instant,
  updated_at: Instant,
}
const signing_secret = z.string().meta({
  description: doc('The signing secret. This response is the only one that shows it.'),
  examples: ['whsec_…'],
})

export const Webhook = z.strictObject(webhook).meta({ id: 'Webhook' })
export type Webhook = z.infer<typeof Webhook>

export const NewWebhook = z.strictObject({ ...webhook, signing_secret }).meta({ id: 'NewWebhook' })
export type NewWebhook = z.infer<typeof NewWebhook>

export const RotatedSecret = z
  .strictObject({
    webhook_id: Id('wh'),
    signing_secret,
    secret_hint: z.string().meta({ description: doc('The last four characters of the new secret.') }),
  })
  .meta({ id: 'RotatedSecret', description: doc('A new signing secret, which signs nothing until it is committed.') })
export type RotatedSecret = z.infer<typeof RotatedSecret>

export const WebhookPath = z.strictObject({ webhook_id: Id('wh') })
export const WebhookQuery = z.strictObject(Paging)
export type WebhookQuery = z.infer<typeof WebhookQuery>
