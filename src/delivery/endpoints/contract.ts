import * as z from 'zod'
import { documented, Id, Instant, Paging, trimmedText, Warning } from '../../platform/http/shapes.ts'
import { FiscalEntityId } from '../../taxpayers/contract.ts'
import { CFDI_TYPES, EventKey } from '../catalog/payload-contract.ts'

const NAME = 'A label of your choice.'
const TYPE = '`custom` is the only type. Null means the same.'

const FISCAL_ENTITIES = 200
const HEADER_NAME = /^[A-Za-z][A-Za-z0-9-]{0,63}$/
/** Headers of every delivery, and those that name the transport of a request. */
const RESERVED =
  /^(accept|connection|content|cookie|date|expect|forwarded|host|keep-alive|origin|proxy|range|referer|te|trailer|transfer-encoding|upgrade|user-agent|via|x-real-ip)$|^(accept|cf|content|if|proxy|sec|service|webhook|x-forwarded)-/i

const GivenHeader = z
  .strictObject({
    name: z
      .string()
      .regex(HEADER_NAME, 'Must be a name of 1 to 64 letters, digits and hyphens that begins with a letter.')
      .refine((name) => !RESERVED.test(name), 'Must not be a header that the service or the connection uses, such as Content-Type or Host.')
      .meta({
        documented: {
          ...{ type: 'string', pattern: HEADER_NAME.source },
          description: 'The name, such as `Authorization` or `X-Api-Key`. Headers that the service or the connection uses are refused.',
          examples: ['Authorization'],
        },
      }),
    value: z
      .string()
      .max(1_000)
      .regex(/^[!-~]([ -~]*[!-~])?$/, 'Must be 1 to 1000 printable ASCII characters, without a space at either end.')
      .meta({ description: 'The value. It is stored encrypted and never shown.', writeOnly: true }),
  })
  .nullable()

const HEADER = 'A header of your own that each delivery has, such as a key of your gateway. Null for none.'
const ABOUT = 'Sends only events about these fiscal entities, and none that are about no RFC, such as `storage.failed`. Null: all events.'

const DIRECTION =
  'Leaves out events about CFDIs or downloads of the other direction. Events that state no `direction` are sent all the same. Null: both.'
const TYPES = 'Leaves out events that state another `cfdi_type`. Events that state none are sent all the same. Null: all.'
const PACE =
  'The most deliveries that are sent within a minute, retries included. They are spread over it evenly, and the others wait. Null: as many as there are.'

const writable = {
  name: documented(trimmedText(1, 120), { type: 'string', minLength: 1, maxLength: 120, description: NAME }),
  type: z.literal('custom').nullable().meta({ description: TYPE }),
  url: z
    .string()
    .max(2_048, 'Must have at most 2048 characters.')
    .meta({
      description:
        'The URL that receives the events: https, port 443 or 8443, and the name of a public host. It is checked again before every ' +
        'delivery. Redirects are not followed.',
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
      description: 'The events to subscribe to. Keys of events that are not available yet are accepted, and `warnings` name them.',
    },
  ),
  fiscal_entity_ids: z
    .array(FiscalEntityId)
    .min(1)
    .max(FISCAL_ENTITIES)
    .transform((ids) => [...new Set(ids)])
    .nullable()
    .meta({
      documented: {
        ...{ type: ['array', 'null'], items: { type: 'string' }, minItems: 1, maxItems: FISCAL_ENTITIES },
        description: ABOUT,
        examples: [['fe_01kabcdefghjkmnpqrstvwxyz0']],
      },
    }),
  direction: z.enum(['issued', 'received']).nullable().meta({ description: DIRECTION }),
  cfdi_types: z
    .array(z.enum(CFDI_TYPES))
    .min(1)
    .max(CFDI_TYPES.length)
    .nullable()
    .meta({ description: TYPES, examples: [['I', 'E']] }),
  max_per_minute: z.int().min(1).max(6_000).nullable().meta({ description: PACE }),
  custom_header: GivenHeader.meta({ description: HEADER }),
}

export const WebhookDraft = z
  .strictObject({
    ...writable,
    type: writable.type.default(null),
    fiscal_entity_ids: writable.fiscal_entity_ids.default(null),
    direction: writable.direction.default(null),
    cfdi_types: writable.cfdi_types.default(null),
    max_per_minute: writable.max_per_minute.default(null),
    custom_header: writable.custom_header.default(null),
  })
  .meta({ id: 'WebhookDraft' })
export type WebhookDraft = z.infer<typeof WebhookDraft>

export const WebhookChanges = z
  .strictObject({
    name: writable.name.exactOptional(),
    type: writable.type.exactOptional(),
    url: writable.url.exactOptional(),
    event_keys: writable.event_keys.exactOptional(),
    fiscal_entity_ids: writable.fiscal_entity_ids.exactOptional(),
    direction: writable.direction.exactOptional(),
    cfdi_types: writable.cfdi_types.exactOptional(),
    max_per_minute: writable.max_per_minute.exactOptional(),
    custom_header: writable.custom_header.exactOptional(),
    is_enabled: z.boolean().exactOptional(),
  })
  .meta({ id: 'WebhookChanges' })
export type WebhookChanges = z.infer<typeof WebhookChanges>

const webhook = {
  webhook_id: Id('wh'),
  name: z.string().meta({ description: NAME }),
  type: z.literal('custom').nullable().meta({ description: TYPE }),
  url: z.string().meta({ description: 'The URL that receives the events.' }),
  event_keys: z.array(EventKey).meta({ description: 'The events that the webhook subscribes to.' }),
  fiscal_entity_ids: z.array(Id('fe')).nullable().meta({ description: ABOUT }),
  direction: writable.direction,
  cfdi_types: z.array(z.enum(CFDI_TYPES)).nullable().meta({ description: TYPES }),
  max_per_minute: z.int().nullable().meta({ description: PACE }),
  custom_header: z
    .strictObject({ name: z.string().meta({ description: 'The name. The value is never shown.' }) })
    .nullable()
    .meta({ description: HEADER }),
  is_enabled: z.boolean().meta({
    description: 'While false, nothing is sent: pending deliveries wait, and new events create no deliveries to this webhook.',
  }),
  last_delivery: z
    .enum(['delivered', 'undelivered'])
    .nullable()
    .meta({
      description:
        'How the newest of the last 20 deliveries that was attempted stands: `delivered`, or `undelivered`, so far or for good; the delivery log ' +
        'says why. Null when none of them was attempted.',
    }),
  secret_hint: z.string().meta({ description: 'The last four characters of the current signing secret.' }),
  warnings: z.array(Warning).meta({
    description:
      'Of each event that it subscribes to and is not sent (`available` false in the catalog): `event.not_sent`. Empty otherwise.',
  }),
  created_at: Instant,
  updated_at: Instant,
}
const signing_secret = z.string().meta({
  description: 'The signing secret. This response is the only one that shows it.',
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
    secret_hint: z.string().meta({ description: 'The last four characters of the new secret.' }),
  })
  .meta({ id: 'RotatedSecret', description: 'A new signing secret, which signs nothing until it is committed.' })
export type RotatedSecret = z.infer<typeof RotatedSecret>

export const WebhookPath = z.strictObject({ webhook_id: Id('wh') })
export const WebhookQuery = z.strictObject(Paging)
export type WebhookQuery = z.infer<typeof WebhookQuery>
