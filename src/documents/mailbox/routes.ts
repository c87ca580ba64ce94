import { SourceWarnings } from '../../authority/contract.ts'
import { askedOf } from '../../platform/content.ts'
import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { operation, params, query, refuses, refusesAny, returns, returnsContent } from '../../platform/http/operation.ts'
import { pageOf } from '../../platform/http/shapes.ts'
import { FiscalEntityPath, NOT_READABLE } from '../../taxpayers/contract.ts'
import { Notification, NotificationDocumentQuery, NotificationFetching, NotificationPath, NotificationQuery } from './contract.ts'
import { getNotification, listOfNotifications, readNotificationDocument } from './notifications.ts'

const TAG = 'Tax mailbox'
const TYPES = ['application/pdf', 'application/octet-stream'] as const

/** The tax mailbox (buzón tributario), mounted at /v1/fiscal-entities. */
export const mailboxRoutes = new Hono<App>()
  .get(
    '/:fiscal_entity_id/buzon/notifications',
    operation(
      'listNotifications',
      TAG,
      'List the notifications of the tax mailbox, latest first',
      'Lists what the tax authority sent to the mailbox (buzón tributario). You can read a notification when one of your own runs listed ' +
        'it and it was not sent before the earlier floor of your windows. Listing never opens a notification.',
    ),
    params(FiscalEntityPath),
    query(NotificationQuery),
    returns(200, pageOf(Notification).extend({ warnings: SourceWarnings })),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await listOfNotifications(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/:fiscal_entity_id/buzon/notifications/:notification_id',
    operation(
      'getNotification',
      TAG,
      'Get a notification of the tax mailbox',
      'Returns the notification as the list has it, under the `notification_id` that events and alerts name. Never opens it.',
    ),
    params(NotificationPath),
    returns(200, Notification),
    refuses(404, 'There is no active connection to the fiscal entity, or no such notification that you can read.'),
    async (c) => c.json(await getNotification(c.var.ctx, c.req.valid('param').notification_id)),
  )
  .get(
    '/:fiscal_entity_id/buzon/document',
    operation(
      'readNotificationDocument',
      TAG,
      'Download the document of a notification',
      'Returns the file byte for byte. A `pending` notification would take effect by being opened. It is opened only with ' +
        '`acknowledge_notification=true`, by an owner or admin, and the audit events record who asked for it. The answer is 202 until the ' +
        'tax authority has delivered the document: repeat the request, without the acknowledgement if you like. If the authority cannot be ' +
        'reached for more than an hour, the request lapses. HEAD, and a request that is ' +
        'marked as made in advance (Sec-Purpose: prefetch), open nothing, have nothing fetched, and ignore the acknowledgement. It is also ' +
        'ignored when a browser says that another site or a part of a page made it send the request (Sec-Fetch-Site, Sec-Fetch-Dest). The waiting ' +
        'opening is withdrawn when the credential that acknowledged it is revoked, expires or becomes a member’s, and when the connection stops ' +
        'being active. Range, If-Range and If-None-Match ' +
        'mean what they do for other documents; the ETag is the SHA-256.',
    ),
    params(FiscalEntityPath),
    query(NotificationDocumentQuery),
    returnsContent('The document', ...TYPES),
    returns(202, NotificationFetching, 'The document is being fetched', {
      'Retry-After': 'Seconds to wait before the next request, as in the body.',
    }),
    refusesAny({
      403: 'A credential with the role member acknowledges.',
      404: 'There is no active connection to the fiscal entity, no such notification that you can read, or it has no document. The detail says when one without a document was opened.',
      409:
        '`would_notify`: the notification is pending, and the request does not acknowledge that it is opened. `open_deadline` is its deadline. ' +
        '`fiscal_entity.not_active`: the document is not fetched yet, and cannot be while an unpaid invoice pauses the connection, or because ' +
        'it was paused meanwhile. `notification.not_openable`: this deployment opens no notifications. `notification.not_fetched`: the ' +
        'document comes with a run, and cannot be asked for in this deployment. `credential.changed`: the credential that ' +
        'acknowledges was revoked, or became a member’s, while the request was carried out.',
    }),
    async (c) => {
      const found = await readNotificationDocument(c.var.ctx, c.req.valid('query'), askedOf(c.req.raw))
      if (found instanceof Response) return c.newResponse(found.body, found)
      return c.json(found, 202, { 'Retry-After': String(found.retry_after_seconds) })
    },
  )
