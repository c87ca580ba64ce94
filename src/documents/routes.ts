import { SourceWarnings } from '../authority/contract.ts'
import { askedOf } from '../platform/content.ts'
import type { App } from '../platform/context.ts'
import { Hono } from '../platform/http/hono.ts'
import { operation, params, query, refuses, refusesAny, returns, returnsContent, returnsTable } from '../platform/http/operation.ts'
import { pageOf } from '../platform/http/shapes.ts'
import { FiscalEntityPath, NOT_READABLE } from '../taxpayers/contract.ts'
import {
  Document,
  DocumentPath,
  DocumentQuery,
  PortfolioObligation,
  PortfolioObligationQuery,
  PortfolioOpinion,
  PortfolioOpinionQuery,
  TaxProfile,
} from './contract.ts'
import { getDocument, getTaxProfile, listOfDocuments, readDocument } from './documents.ts'
import { Notification, NotificationDocumentQuery, NotificationFetching, NotificationPath, NotificationQuery } from './mailbox/contract.ts'
import { getNotification, listOfNotifications, readNotificationDocument } from './mailbox/notifications.ts'
import { Obligations } from './obligations/contract.ts'
import { listObligations } from './obligations/obligations.ts'
import { listDueObligations, listOpinions } from './portfolio.ts'

const DOCUMENTS = 'Documents'
const TYPES = ['application/pdf', 'application/json', 'application/octet-stream'] as const

const NO_DOCUMENT = 'There is no active connection to the fiscal entity, or no such document that you can read.'

export const documentRoutes = new Hono<App>()
  .get(
    '/:fiscal_entity_id/documents',
    operation(
      'listDocuments',
      DOCUMENTS,
      'List tax documents, newest first',
      'Tax documents other than CFDIs: the tax status certificate (CSF), the compliance opinion (32-D), returns and others. You can ' +
        'read a document when one of your own runs downloaded it and its date, or the end of its period, is not before the earlier ' +
        'floor of your windows. A document whose content changes gets another version; the versions before stay.',
    ),
    params(FiscalEntityPath),
    query(DocumentQuery),
    returns(200, pageOf(Document).extend({ warnings: SourceWarnings })),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await listOfDocuments(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/:fiscal_entity_id/tax-profile',
    operation(
      'getTaxProfile',
      DOCUMENTS,
      'Get what the latest tax documents say',
      'Joins the latest tax status certificate, compliance opinion, registered obligations and list of certificates that you can ' +
        'read, each with the document that it comes from and with what changed since the version before.',
    ),
    params(FiscalEntityPath),
    returns(200, TaxProfile),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await getTaxProfile(c.var.ctx)),
  )
  .get(
    '/:fiscal_entity_id/documents/:document_id',
    operation(
      'getDocument',
      DOCUMENTS,
      'Get a tax document',
      'Returns the document as the list has it, under the `document_id` that events, alerts, obligations, the tax profile and manifests name.',
    ),
    params(DocumentPath),
    returns(200, Document),
    refuses(404, NO_DOCUMENT),
    async (c) => c.json(await getDocument(c.var.ctx, c.req.valid('param').document_id)),
  )
  .get(
    '/:fiscal_entity_id/documents/:document_id/content',
    operation(
      'readDocument',
      DOCUMENTS,
      'Download a document',
      'Returns the file byte for byte as the tax authority delivered it, in the media type that `content_type` of the document names: ' +
        '`application/pdf`, `application/json` for what the authority shows as a list (`obligations`, `registration`, `certificates`, `rug`), or ' +
        '`application/octet-stream` for another format. Its ETag is the SHA-256 of the content. The header Range may ask ' +
        'for one part of it, If-Range for the part only if the ETag is still the same, and If-None-Match for the file only if it is not.',
    ),
    params(DocumentPath),
    returnsContent('The file of the document', ...TYPES),
    refuses(404, NO_DOCUMENT),
    async (c) => {
      const answer = await readDocument(c.var.ctx, c.req.valid('param').document_id, askedOf(c.req.raw))
      return c.newResponse(answer.body, answer)
    },
  )
  .get(
    '/:fiscal_entity_id/obligations',
    operation(
      'listObligations',
      DOCUMENTS,
      'List the tax obligations of an RFC by period',
      'Returns each registered obligation for its last twelve months that are over, or its last three years, and for the current ' +
        'period: when it is due, and whether a return that you can read shows that it was filed. The rows are in the order of their due dates.',
    ),
    params(FiscalEntityPath),
    returnsTable(Obligations),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await listObligations(c.var.ctx)),
  )

/** Of all RFCs of the organization, mounted at /v1/portfolio. */
export const portfolioDocumentRoutes = new Hono<App>()
  .get(
    '/opinions',
    operation(
      'listPortfolioOpinions',
      DOCUMENTS,
      'List the compliance opinions of all RFCs',
      'Returns the latest opinion (32-D) that you can read of each RFC whose connection is active, by fiscal_entity_id. `sense=negativo` lists ' +
        'those that need somebody. A page looks at `limit` connections, so that it can be short while has_more is true.',
    ),
    query(PortfolioOpinionQuery),
    returns(200, pageOf(PortfolioOpinion)),
    async (c) => c.json(await listOpinions(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/obligations',
    operation(
      'listPortfolioObligations',
      DOCUMENTS,
      'List the obligations of all RFCs that are due soon',
      'Returns the obligations of RFCs whose connection is active that are due within `days` and that no downloaded return files. A page looks ' +
        'at `limit` connections, so that it can be short, or have more items than that, and has_more says whether there are more connections.',
    ),
    query(PortfolioObligationQuery),
    returns(200, pageOf(PortfolioObligation)),
    async (c) => c.json(await listDueObligations(c.var.ctx, c.req.valid('query'))),
  )

const MAILBOX = 'Tax mailbox'
const MAILBOX_TYPES = ['application/pdf', 'application/octet-stream'] as const

/** The tax mailbox (buzón tributario), mounted at /v1/fiscal-entities. */
export const mailboxRoutes = new Hono<App>()
  .get(
    '/:fiscal_entity_id/buzon/notifications',
    operation(
      'listNotifications',
      MAILBOX,
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
      MAILBOX,
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
      MAILBOX,
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
    returnsContent('The document', ...MAILBOX_TYPES),
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
