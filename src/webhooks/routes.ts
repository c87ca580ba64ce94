import { Hono } from 'hono'
import type { App } from '../platform/context.ts'
import { body, idempotent, operation, params, query, refuses, returns, roles } from '../platform/http/operation.ts'
import { pageOf } from '../platform/http/shapes.ts'
import {
  Delivery,
  DeliveryPath,
  DeliveryQuery,
  EventCatalog,
  EventPath,
  EventQuery,
  NewWebhook,
  Redelivered,
  RedeliveryRequest,
  RotatedSecret,
  Webhook,
  WebhookChanges,
  WebhookDraft,
  WebhookPath,
  WebhookQuery,
} from './contract.ts'
import { listDeliveries, redeliver, redeliverAll, testWebhook } from './deliveries/log.ts'
import {
  changeWebhook,
  commitSecret,
  createWebhook,
  deleteWebhook,
  getWebhook,
  listCatalog,
  listWebhooks,
  rotateSecret,
} from './endpoints/endpoints.ts'
import { EventPayload } from './events/catalog.ts'
import { getEvent, listEvents } from './events/events.ts'

const TAG = 'Webhooks'
const NOT_THERE = 'The webhook does not exist or belongs to another organization.'

export const webhookRoutes = new Hono<App>()
  .get(
    '/',
    operation('listWebhooks', TAG, 'List the webhooks, oldest first'),
    query(WebhookQuery),
    returns(200, pageOf(Webhook)),
    async (c) => c.json(await listWebhooks(c.var.ctx, c.req.valid('query'))),
  )
  .post(
    '/',
    operation('createWebhook', TAG, 'Register a webhook', 'The signing secret is shown this once.'),
    roles('owner', 'admin'),
    body(WebhookDraft),
    returns(201, NewWebhook, 'The webhook with its secret'),
    idempotent(),
    async (c) => c.json(await createWebhook(c.var.ctx, c.req.valid('json')), 201),
  )
  .get(
    '/event-catalog',
    operation('getEventCatalog', TAG, 'What can be subscribed to, with schemas and samples'),
    returns(200, EventCatalog),
    (c) => c.json(listCatalog()),
  )
  .get(
    '/:webhook_id',
    operation('getWebhook', TAG, 'Fetch a webhook'),
    params(WebhookPath),
    returns(200, Webhook),
    refuses(404, NOT_THERE),
    async (c) => c.json(await getWebhook(c.var.ctx, c.req.valid('param').webhook_id)),
  )
  .patch(
    '/:webhook_id',
    operation(
      'updateWebhook',
      TAG,
      'Change a webhook',
      'Only what is sent changes. While disabled nothing is sent; what is pending waits.',
    ),
    params(WebhookPath),
    roles('owner', 'admin'),
    body(WebhookChanges),
    returns(200, Webhook),
    refuses(404, NOT_THERE),
    async (c) => c.json(await changeWebhook(c.var.ctx, c.req.valid('param').webhook_id, c.req.valid('json'))),
  )
  .delete(
    '/:webhook_id',
    operation('deleteWebhook', TAG, 'Delete a webhook', 'Nothing more is sent to it; its log goes with it.'),
    params(WebhookPath),
    roles('owner', 'admin'),
    returns(204, undefined, 'Deleted'),
    refuses(404, NOT_THERE),
    (c) => deleteWebhook(c.var.ctx, c.req.valid('param').webhook_id).then(() => c.body(null, 204)),
  )
  .post(
    '/:webhook_id/test',
    operation('testWebhook', TAG, 'Send a test event', 'Its key is `webhook.test`. Its outcome is in the log.'),
    params(WebhookPath),
    roles('owner', 'admin'),
    returns(202, Delivery, 'On its way'),
    refuses(404, NOT_THERE),
    refuses(409, 'The webhook is disabled.'),
    idempotent(),
    async (c) => c.json(await testWebhook(c.var.ctx, c.req.valid('param').webhook_id), 202),
  )
  .post(
    '/:webhook_id/rotate-secret',
    operation(
      'rotateSecret',
      TAG,
      'Make the next signing secret',
      'Shown this once; it signs from its commit on. The present one signs until then.',
    ),
    params(WebhookPath),
    roles('owner', 'admin'),
    returns(201, RotatedSecret, 'The secret that waits'),
    refuses(404, NOT_THERE),
    refuses(409, 'Somebody else is rotating it at the same time.'),
    idempotent(),
    async (c) => c.json(await rotateSecret(c.var.ctx, c.req.valid('param').webhook_id), 201),
  )
  .post(
    '/:webhook_id/rotate-secret/commit',
    operation('commitSecret', TAG, 'Sign with the next secret from now on', 'Of retries too.'),
    params(WebhookPath),
    roles('owner', 'admin'),
    returns(200, Webhook),
    refuses(404, NOT_THERE),
    refuses(409, 'No new secret waits.'),
    idempotent(),
    async (c) => c.json(await commitSecret(c.var.ctx, c.req.valid('param').webhook_id)),
  )
  .get(
    '/:webhook_id/deliveries',
    operation(
      'listDeliveries',
      TAG,
      'The delivery log, newest event first',
      'Kept for 90 days. A page under a filter may be short and has_more true.',
    ),
    params(WebhookPath),
    query(DeliveryQuery),
    returns(200, pageOf(Delivery)),
    refuses(404, NOT_THERE),
    async (c) => c.json(await listDeliveries(c.var.ctx, c.req.valid('param').webhook_id, c.req.valid('query'))),
  )
  .post(
    '/:webhook_id/deliveries/redeliver',
    operation('redeliverAll', TAG, 'Send all lost events since a time again', 'At most 1,000 at once.'),
    params(WebhookPath),
    roles('owner', 'admin'),
    body(RedeliveryRequest),
    returns(202, Redelivered, 'On their way'),
    refuses(404, NOT_THERE),
    idempotent(),
    async (c) => c.json(await redeliverAll(c.var.ctx, c.req.valid('param').webhook_id, c.req.valid('json')), 202),
  )
  .post(
    '/:webhook_id/deliveries/:event_id/redeliver',
    operation('redeliver', TAG, 'Send an event again', 'A new delivery of the same event: same Service-Delivery-Id, attempts from 1.'),
    params(DeliveryPath),
    roles('owner', 'admin'),
    returns(202, Delivery, 'On its way'),
    refuses(404, 'The webhook or a delivery of this event to it does not exist.'),
    refuses(409, 'The event is on its way already.'),
    idempotent(),
    async (c) => c.json(await redeliver(c.var.ctx, c.req.valid('param').webhook_id, c.req.valid('param').event_id), 202),
  )

export const eventRoutes = new Hono<App>()
  .get(
    '/',
    operation(
      'listEvents',
      'Events',
      'The feed of all events, oldest first',
      'What webhooks deliver, to be pulled: the last page has a next_cursor as well, and what happens later follows it. An empty page has none: keep yours. Kept for 90 days. A page may be short and has_more true.',
    ),
    query(EventQuery),
    returns(200, pageOf(EventPayload)),
    async (c) => c.json(await listEvents(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/:event_id',
    operation('getEvent', 'Events', 'Fetch an event'),
    params(EventPath),
    returns(200, EventPayload),
    refuses(404, 'The event does not exist, belongs to another organization, or is about an RFC that is no longer linked.'),
    async (c) => c.json(await getEvent(c.var.ctx, c.req.valid('param').event_id)),
  )
