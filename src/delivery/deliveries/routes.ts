import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { body, idempotent, operation, optionalBody, params, query, refuses, returns, roles } from '../../platform/http/operation.ts'
import { pageOf } from '../../platform/http/shapes.ts'
import { WebhookPath } from '../endpoints/contract.ts'
import { Delivery, DeliveryPath, DeliveryQuery, DeliveryTest, Redelivered, RedeliveryRequest } from './contract.ts'
import { listDeliveries, redeliver, redeliverAll, sendNow, testWebhook } from './log.ts'

const TAG = 'Webhooks'
const NOT_FOUND = 'The webhook does not exist or belongs to another organization.'

export const deliveryRoutes = new Hono<App>()
  .post(
    '/:webhook_id/test',
    operation(
      'testWebhook',
      TAG,
      'Send a test event',
      'Without a body, the event has the key `webhook.test`. With `event_key`, the webhook gets the sample of that event, with the header ' +
        '`Service-Test: true`: its RFC and documents are made up, and in `GET /v1/events` it is a `webhook.test` with `sample_of`. It is sent ' +
        'whatever the webhook subscribes to. See its outcome in the delivery log.',
    ),
    params(WebhookPath),
    roles('owner', 'admin'),
    optionalBody(DeliveryTest),
    returns(202, Delivery, 'The pending delivery'),
    refuses(404, NOT_FOUND),
    refuses(409, 'The webhook is disabled.'),
    idempotent(),
    async (c) => c.json(await testWebhook(c.var.ctx, c.req.valid('param').webhook_id, c.req.valid('json')), 202),
  )
  .get(
    '/:webhook_id/deliveries',
    operation(
      'listDeliveries',
      TAG,
      'List the deliveries of a webhook, newest event first',
      'The delivery log shows every attempt with the answer of your server. Deliveries are kept as long as their events.\n\n' +
        'With a filter, a page can be shorter than `limit`, or empty, while `has_more` is true. This happens only when the service has examined 5,000 deliveries for the page.',
    ),
    params(WebhookPath),
    query(DeliveryQuery),
    returns(200, pageOf(Delivery)),
    refuses(404, NOT_FOUND),
    async (c) => c.json(await listDeliveries(c.var.ctx, c.req.valid('param').webhook_id, c.req.valid('query'))),
  )
  .post(
    '/:webhook_id/deliveries/redeliver',
    operation(
      'redeliverAll',
      TAG,
      'Send all lost, failed or waiting events again',
      'Creates a new delivery of each lost event since a time, at most 1,000 with one request; you can include failed ones. When your server ' +
        'is back, include `pending` too: what still waits for its next attempt is then sent at once.',
    ),
    params(WebhookPath),
    roles('owner', 'admin'),
    body(RedeliveryRequest),
    returns(202, Redelivered, 'The number of deliveries created'),
    refuses(404, NOT_FOUND),
    idempotent(),
    async (c) => c.json(await redeliverAll(c.var.ctx, c.req.valid('param').webhook_id, c.req.valid('json')), 202),
  )
  .post(
    '/:webhook_id/deliveries/:event_id/redeliver',
    operation(
      'redeliver',
      TAG,
      'Redeliver an event',
      'Creates a new delivery of the same event, whatever became of the last one. It has the same `Service-Delivery-Id`, and its ' +
        'attempts count from 1.',
    ),
    params(DeliveryPath),
    roles('owner', 'admin'),
    returns(202, Delivery, 'The pending delivery'),
    refuses(404, 'The webhook does not exist, or the event has never been delivered to it.'),
    refuses(409, 'A delivery of the event to this webhook is already pending.'),
    idempotent(),
    async (c) => c.json(await redeliver(c.var.ctx, c.req.valid('param').webhook_id, c.req.valid('param').event_id), 202),
  )
  .post(
    '/:webhook_id/deliveries/:event_id/send-now',
    operation(
      'sendDeliveryNow',
      TAG,
      'Send a waiting delivery now',
      'The next attempt of the pending delivery is made at once, however long it would wait otherwise. The numbers of the attempts and the ' +
        'waits after them go on as they would have.',
    ),
    params(DeliveryPath),
    roles('owner', 'admin'),
    returns(202, Delivery, 'The pending delivery'),
    refuses(404, 'The webhook does not exist, or the event has never been delivered to it.'),
    refuses(409, 'The webhook is disabled, or no delivery of the event to it is pending.'),
    idempotent(),
    async (c) => c.json(await sendNow(c.var.ctx, c.req.valid('param').webhook_id, c.req.valid('param').event_id), 202),
  )
