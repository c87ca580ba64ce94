import * as z from 'zod'
import { GivenInstant, Id, Instant, Paging } from '../../platform/http/shapes.ts'
import { EventKey, SentEventKey } from '../catalog/payload-contract.ts'
import { DELIVERY_STATUSES } from '../tables.ts'

const DeliveryStatus = z.enum(DELIVERY_STATUSES).meta({
  id: 'DeliveryStatus',
  description:
    '`pending`: an attempt is due or under way. `delivered`: the endpoint answered 2xx. `failed`: the endpoint gave an answer that is ' +
    'not retried, or nothing could be sent. `lost`: each of the six attempts ended with 5xx, 408, 429 or without an answer.',
})

const DeliveryAttempt = z
  .strictObject({
    attempt: z.int().meta({ description: 'The number of the attempt, from 1, as in the header Service-Attempt.' }),
    attempted_at: Instant,
    duration_ms: z.int().meta({ description: 'Milliseconds until the headers of the answer arrived, or until the attempt failed.' }),
    status_code: z.int().nullable().meta({ description: 'The status code of the answer; null if there was none.' }),
    error: z.string().nullable().meta({ description: 'Why there was no answer, or why nothing was sent; null if there was an answer.' }),
    response_body: z.string().nullable().meta({ description: 'The beginning of the answer’s body, at most 1 KiB.' }),
  })
  .meta({ id: 'WebhookAttempt' })

export const Delivery = z
  .strictObject({
    event_id: Id('evt'),
    event_key: z.string(),
    fiscal_entity_id: Id('fe').nullable().meta({ description: 'The fiscal entity that the event is about; null of one about none.' }),
    period: z
      .string()
      .nullable()
      .meta({ description: 'What the event says as its `period`, such as the month of a download; null of one that says none.' }),
    redelivery: z.int().meta({ description: '0 for the first delivery of the event to this webhook, and one more for each redelivery.' }),
    status: DeliveryStatus,
    attempts: z.array(DeliveryAttempt).meta({ description: 'The attempts so far, oldest first.' }),
    next_attempt_at: Instant.nullable().meta({ description: 'When the next attempt is due; null unless the delivery is pending.' }),
    created_at: Instant,
  })
  .meta({ id: 'WebhookDelivery' })
export type Delivery = z.infer<typeof Delivery>

export const DeliveryQuery = z.strictObject({
  ...Paging,
  status: DeliveryStatus.optional(),
  event_key: SentEventKey.optional().meta({ description: 'Lists only deliveries of events with this key.' }),
})
export type DeliveryQuery = z.infer<typeof DeliveryQuery>

export const DeliveryPath = z.strictObject({ webhook_id: Id('wh'), event_id: Id('evt') })

export const DeliveryTest = z
  .strictObject({
    event_key: EventKey.optional().meta({
      description: 'Sends the sample of this event, as the catalog shows it, under an identifier of its own. Omitted: `webhook.test`.',
    }),
  })
  .meta({ id: 'WebhookTest' })
export type DeliveryTest = z.infer<typeof DeliveryTest>

export const RedeliveryRequest = z
  .strictObject({
    since: GivenInstant.meta({ description: 'Redelivers events that occurred at this time or later.' }),
    statuses: z
      .array(z.enum(['lost', 'failed', 'pending']))
      .min(1)
      .max(3)
      .default(['lost'])
      .meta({
        description:
          'The events whose latest delivery to this webhook has one of these statuses. `lost` and `failed` ones are delivered anew. With ' +
          '`pending`, the next attempt of each delivery that waits for it is made at once, under its number.',
      }),
  })
  .meta({ id: 'RedeliveryRequest' })
export type RedeliveryRequest = z.infer<typeof RedeliveryRequest>

export const Redelivered = z
  .strictObject({
    redelivered_count: z.int().meta({ description: 'Number of deliveries created, at most 1,000.' }),
    sent_now_count: z
      .int()
      .meta({ description: 'Number of waiting deliveries whose next attempt is made at once, at most 1,000; 0 without `pending`.' }),
    has_more: z.boolean().meta({ description: 'Whether more events may remain. If true, send the same request again.' }),
  })
  .meta({ id: 'Redelivered' })
export type Redelivered = z.infer<typeof Redelivered>
