import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { body, idempotent, operation, params, query, refuses, returns, roles } from '../../platform/http/operation.ts'
import { pageOf } from '../../platform/http/shapes.ts'
import { EventCatalog } from '../catalog/payload-contract.ts'
import { NewWebhook, RotatedSecret, Webhook, WebhookChanges, WebhookDraft, WebhookPath, WebhookQuery } from './contract.ts'
import { changeWebhook, commitSecret, createWebhook, deleteWebhook, getWebhook, listWebhooks, rotateSecret } from './endpoints.ts'

const TAG = 'Webhooks'
const NOT_FOUND = 'The webhook does not exist or belongs to another organization.'

export const webhookRoutes = new Hono<App>()
  .get(
    '/event-catalog',
    operation(
      'getEventCatalog',
      TAG,
      'List the events that a webhook can subscribe to',
      'Each available event comes with the JSON Schema of its payload and a sample.',
    ),
    returns(200, EventCatalog),
    async (c) => c.json<EventCatalog>(await (await c.env.ASSETS.fetch('https://assets.invalid/event-catalog.json')).json()),
  )
  .get(
    '/',
    operation('listWebhooks', TAG, 'List the webhooks, oldest first'),
    query(WebhookQuery),
    returns(200, pageOf(Webhook)),
    async (c) => c.json(await listWebhooks(c.var.ctx, c.req.valid('query'))),
  )
  .post(
    '/',
    operation(
      'createWebhook',
      TAG,
      'Create a webhook',
      'The webhook is enabled at once. Store the signing secret: no later response shows it again.',
    ),
    roles('owner', 'admin'),
    body(WebhookDraft),
    returns(201, NewWebhook, 'The webhook with its signing secret'),
    refuses(409, 'The organization has as many webhooks as its plan allows (`webhook.plan_limit`).'),
    idempotent(),
    async (c) => c.json(await createWebhook(c.var.ctx, c.req.valid('json')), 201),
  )
  .get(
    '/:webhook_id',
    operation('getWebhook', TAG, 'Get a webhook'),
    params(WebhookPath),
    returns(200, Webhook),
    refuses(404, NOT_FOUND),
    async (c) => c.json(await getWebhook(c.var.ctx, c.req.valid('param').webhook_id)),
  )
  .patch(
    '/:webhook_id',
    operation(
      'updateWebhook',
      TAG,
      'Update a webhook',
      'Changes only the members that you send. Deliveries that are due when you enable the webhook again are sent at once, the others ' +
        'at their time; events that occurred while it was disabled are only in the feed (`GET /v1/events`).',
    ),
    params(WebhookPath),
    roles('owner', 'admin'),
    body(WebhookChanges),
    returns(200, Webhook),
    refuses(404, NOT_FOUND),
    async (c) => c.json(await changeWebhook(c.var.ctx, c.req.valid('param').webhook_id, c.req.valid('json'))),
  )
  .delete(
    '/:webhook_id',
    operation('deleteWebhook', TAG, 'Delete a webhook', 'Pending deliveries are not sent. The delivery log is deleted with the webhook.'),
    params(WebhookPath),
    roles('owner', 'admin'),
    returns(204, undefined, 'Deleted'),
    refuses(404, NOT_FOUND),
    (c) => deleteWebhook(c.var.ctx, c.req.valid('param').webhook_id).then(() => c.body(null, 204)),
  )
  .post(
    '/:webhook_id/rotate-secret',
    operation(
      'rotateSecret',
      TAG,
      'Create the next signing secret',
      'The current secret signs deliveries until you commit the new one with `…/rotate-secret/commit`: give your receiver the new ' +
        'secret first. If you repeat this request before the commit, the latest secret counts.',
    ),
    params(WebhookPath),
    roles('owner', 'admin'),
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
      TAG,
      'Start signing with the next secret',
      'From now on, the new secret signs every delivery, retries included. The old secret signs nothing any more.',
    ),
    params(WebhookPath),
    roles('owner', 'admin'),
    returns(200, Webhook),
    refuses(404, NOT_FOUND),
    refuses(409, 'There is no new secret to commit, or another request rotated the secret at the same time.'),
    idempotent(),
    async (c) => c.json(await commitSecret(c.var.ctx, c.req.valid('param').webhook_id)),
  )
