import type { App } from '../platform/context.ts'
import { Hono } from '../platform/http/hono.ts'
import { body, idempotent, operation, optionalBody, params, query, refuses, returns } from '../platform/http/operation.ts'
import { pageOf } from '../platform/http/shapes.ts'
import { EventCatalog, EventPayload } from './catalog/payload-contract.ts'
import { Delivery, DeliveryPath, DeliveryQuery, DeliveryTest, Redelivered, RedeliveryRequest } from './deliveries/contract.ts'
import { listDeliveries, redeliver, redeliverAll, sendNow, testWebhook } from './deliveries/log.ts'
import { NewWebhook, RotatedSecret, Webhook, WebhookChanges, WebhookDraft, WebhookPath, WebhookQuery } from './endpoints/contract.ts'
import { changeWebhook, commitSecret, createWebhook, deleteWebhook, getWebhook, listWebhooks, rotateSecret } from './endpoints/endpoints.ts'
import { EventPage, EventPath, EventQuery, WatchQuery } from './events/contract.ts'
import { getEvent, listEvents } from './events/events.ts'
import { watchBlacklists, watchListed } from './list-notifications/notify.ts'

const EVENTS = 'Events'

export const eventRoutes = new Hono<App>()
  .get(
    '/',
    operation(
      'listEvents',
      EVENTS,
      'List the events of the organization, oldest first',
      'The feed holds every event for 90 days, whether or not a webhook subscribes to it, with the payload that webhooks deliver. A ' +
        '`sync.completed` whose counts are all 0 is kept for 14 days, and for 90 while a delivery of it is pending, failed or lost.\n\n' +
        'To follow the feed, store `next_cursor` and send it with the next request. Every page has one, the last and an empty one too: ' +
        'with it you list the events that occur later. `has_more` alone says whether to ask again at once.\n\n' +
        'With a filter, a page can be shorter than `limit`, or empty, while `has_more` is true. This happens only when the service has examined 5,000 events for the page.',
    ),
    query(EventQuery),
    returns(200, EventPage),
    refuses(404, 'The organization has no connection to the fiscal entity of the filter.'),
    async (c) => c.json(await listEvents(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/:event_id',
    operation('getEvent', EVENTS, 'Get an event'),
    params(EventPath),
    returns(200, EventPayload),
    refuses(404, 'The event does not exist, belongs to another organization, or is about an RFC that is no longer linked.'),
    async (c) => c.json(await getEvent(c.var.ctx, c.req.valid('param').event_id)),
  )

const WEBHOOKS = 'Webhooks'
const NOT_FOUND = 'The webhook does not exist or belongs to another organization.'

export const webhookRoutes = new Hono<App>()
  .get(
    '/event-catalog',
    operation(
      'getEventCatalog',
      WEBHOOKS,
      'List the events that a webhook can subscribe to',
      'Each available event comes with the JSON Schema of its payload and a sample.',
    ),
    returns(200, EventCatalog),
    async (c) => c.json<EventCatalog>(await (await c.env.ASSETS.fetch('https://assets.invalid/event-catalog.json')).json()),
  )
  .get(
    '/',
    operation('listWebhooks', WEBHOOKS, 'List the webhooks, oldest first'),
    query(WebhookQuery),
    returns(200, pageOf(Webhook)),
    async (c) => c.json(await listWebhooks(c.var.ctx, c.req.valid('query'))),
  )
  .post(
    '/',
    operation(
      'createWebhook',
      WEBHOOKS,
      'Create a webhook',
      'The webhook is enabled at once. Store the signing secret: no later response shows it again.',
    ),
    body(WebhookDraft),
    returns(201, NewWebhook, 'The webhook with its signing secret'),
    refuses(409, 'The organization has as many webhooks as its plan allows (`webhook.plan_limit`).'),
    idempotent(),
    async (c) => c.json(await createWebhook(c.var.ctx, c.req.valid('json')), 201),
  )
  .get(
    '/:webhook_id',
    operation('getWebhook', WEBHOOKS, 'Get a webhook'),
    params(WebhookPath),
    returns(200, Webhook),
    refuses(404, NOT_FOUND),
    async (c) => c.json(await getWebhook(c.var.ctx, c.req.valid('param').webhook_id)),
  )
  .patch(
    '/:webhook_id',
    operation(
      'updateWebhook',
      WEBHOOKS,
      'Update a webhook',
      'Changes only the members that you send. Deliveries that are due when you enable the webhook again are sent at once, the others ' +
        'at their time; events that occurred while it was disabled are only in the feed (`GET /v1/events`).',
    ),
    params(WebhookPath),
    body(WebhookChanges),
    returns(200, Webhook),
    refuses(404, NOT_FOUND),
    async (c) => c.json(await changeWebhook(c.var.ctx, c.req.valid('param').webhook_id, c.req.valid('json'))),
  )
  .delete(
    '/:webhook_id',
    operation(
      'deleteWebhook',
      WEBHOOKS,
      'Delete a webhook',
      'Pending deliveries are not sent. The delivery log is deleted with the webhook.',
    ),
    params(WebhookPath),
    returns(204, undefined, 'Deleted'),
    refuses(404, NOT_FOUND),
    (c) => deleteWebhook(c.var.ctx, c.req.valid('param').webhook_id).then(() => c.body(null, 204)),
  )
  .post(
    '/:webhook_id/rotate-secret',
    operation(
      'rotateSecret',
      WEBHOOKS,
      'Create the next signing secret',
      'The current secret signs deliveries until you commit the new one with `…/rotate-secret/commit`: give your receiver the new ' +
        'secret first. If you repeat this request before the commit, the latest secret counts.',
    ),
    params(WebhookPath),
    returns(201, RotatedSecret, 'The new signing secret'),
    refuses(404, NOT_FOUND),
    refuses(409, 'Another request rotated the secret at the same time. Try again.'),
    idempotent(),
    async (c) => c.json(await rotateSecret(c.var.ctx, c.req.valid('param').webhook_id), 201),
  )
  .post(
    '/:webhook_id/rotate-secret/commit',
    operation(
      'commitSecret',
      WEBHOOKS,
      'Start signing with the next secret',
      'From now on, the new secret signs every delivery, retries included. The old secret signs nothing any more.',
    ),
    params(WebhookPath),
    returns(200, Webhook),
    refuses(404, NOT_FOUND),
    refuses(409, 'There is no new secret to commit, or another request rotated the secret at the same time.'),
    idempotent(),
    async (c) => c.json(await commitSecret(c.var.ctx, c.req.valid('param').webhook_id)),
  )

export const deliveryRoutes = new Hono<App>()
  .post(
    '/:webhook_id/test',
    operation(
      'testWebhook',
      WEBHOOKS,
      'Send a test event',
      'Without a body, the event has the key `webhook.test`. With `event_key`, the webhook gets the sample of that event, with the header ' +
        '`Service-Test: true`: its RFC and documents are made up, and in `GET /v1/events` it is a `webhook.test` with `sample_of`. It is sent ' +
        'whatever the webhook subscribes to. See its outcome in the delivery log.',
    ),
    params(WebhookPath),
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
      WEBHOOKS,
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
      WEBHOOKS,
      'Send all lost, failed or waiting events again',
      'Creates a new delivery of each lost event since a time, at most 1,000 with one request; you can include failed ones. When your server ' +
        'is back, include `pending` too: what still waits for its next attempt is then sent at once.',
    ),
    params(WebhookPath),
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
      WEBHOOKS,
      'Redeliver an event',
      'Creates a new delivery of the same event, whatever became of the last one. It has the same `Service-Delivery-Id`, and its ' +
        'attempts count from 1.',
    ),
    params(DeliveryPath),
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
      WEBHOOKS,
      'Send a waiting delivery now',
      'The next attempt of the pending delivery is made at once, however long it would wait otherwise. The numbers of the attempts and the ' +
        'waits after them go on as they would have.',
    ),
    params(DeliveryPath),
    returns(202, Delivery, 'The pending delivery'),
    refuses(404, 'The webhook does not exist, or the event has never been delivered to it.'),
    refuses(409, 'The webhook is disabled, or no delivery of the event to it is pending.'),
    idempotent(),
    async (c) => c.json(await sendNow(c.var.ctx, c.req.valid('param').webhook_id, c.req.valid('param').event_id), 202),
  )

/** The changes of lists, mounted at /v1/blacklists. */
export const watchRoutes = new Hono<App>().get(
  '/watch',
  operation(
    'watchBlacklists',
    'Blacklists',
    'List what changed on blacklists about your counterparties, oldest first',
    'Lists the events `blacklist.changed` of the last 90 days: a counterparty of a document that your windows show came onto a list, left it, ' +
      'or got another situation, with a new version of that list. The first load of a list changes nothing. A page may hold ' +
      'fewer items than `limit`, or none, although `has_more` is true. The list ends with `next_cursor: null`. To follow the changes, ask `GET /v1/events` with ' +
      '`event_key=blacklist.changed`, whose last page has a cursor for what comes later; or ask again here with `since`, the time of your last ' +
      'request less a minute, and leave out each `event_id` that you have.',
  ),
  query(WatchQuery),
  returns(200, pageOf(EventPayload)),
  async (c) => c.json(await watchBlacklists(c.var.ctx, c.req.valid('query'))),
)

/** Mounted at /v1/portfolio. */
export const listedRoutes = new Hono<App>().get(
  '/listed',
  operation(
    'listPortfolioListed',
    'Blacklists',
    'List the suppliers and customers of all RFCs that a list newly names, oldest first',
    'Lists the events `blacklist.changed` of the last 90 days whose `change` is `listed`, each with the RFC that it concerns and with what was ' +
      'bought from the counterparty and sold to it. `since` narrows them. A page may hold fewer items than `limit`, or none, although `has_more` is true.',
  ),
  query(WatchQuery),
  returns(200, pageOf(EventPayload)),
  async (c) => c.json(await watchListed(c.var.ctx, c.req.valid('query'))),
)
