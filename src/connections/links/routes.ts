import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { body, confirmed, idempotent, operation, params, query, refuses, returns } from '../../platform/http/operation.ts'
import { ConnectLink, ConnectLinkDraft, ConnectLinkPage, ConnectLinkPath, ConnectLinkQuery, NewConnectLink } from './contract.ts'
import { createLink, getLink, listLinks, revokeLink } from './links.ts'

const TAG = 'Connect links'
const NO_LINK = 'There is no such link.'

/** Mounted at /v1/connect-links. */
export const connectLinkRoutes = new Hono<App>()
  .post(
    '/',
    operation(
      'createConnectLink',
      TAG,
      'Make a link where a taxpayer connects an RFC',
      'The taxpayer opens `url`, reads who asks for what and until when, agrees, and gives the CIEC or e.firma to the service: you never have it. The link can be used once; ' +
        'five logins of it may be refused, and the limits of refused logins count too. With `fiscal_entity_id` the login of a connection is asked for again, which keeps its ' +
        'identifier, windows and history. A connection that the RFC has already keeps its labels, and has the data sources of the new consent. The page cannot be embedded.',
    ),
    confirmed(),
    body(ConnectLinkDraft),
    returns(201, NewConnectLink),
    refuses(404, 'The organization has no connection to this fiscal entity.'),
    refuses(409, 'The connection has no active consent, so that `purposes` are needed (`connect_link.consent_needed`).'),
    idempotent(),
    async (c) => c.json(await createLink(c.var.ctx, c.req.valid('json'), new URL(c.req.url).origin), 201),
  )
  .get(
    '/',
    operation('listConnectLinks', TAG, 'List links, newest first'),
    query(ConnectLinkQuery),
    returns(200, ConnectLinkPage),
    async (c) => c.json(await listLinks(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/:connect_link_id',
    operation('getConnectLink', TAG, 'Get a link', 'A link is forgotten 90 days after it expired. Its consent stays.'),
    params(ConnectLinkPath),
    returns(200, ConnectLink),
    refuses(404, NO_LINK),
    async (c) => c.json(await getLink(c.var.ctx, c.req.valid('param').connect_link_id)),
  )
  .delete(
    '/:connect_link_id',
    operation(
      'revokeConnectLink',
      TAG,
      'Revoke a link',
      'Nobody can use it any more. A login that is being verified with it is not stored.',
    ),
    params(ConnectLinkPath),
    returns(204, undefined, 'The link is revoked.'),
    refuses(404, NO_LINK),
    refuses(409, 'The link was used, has expired or is revoked already (`connect_link.ended`).'),
    (c) => revokeLink(c.var.ctx, c.req.valid('param').connect_link_id).then(() => c.body(null, 204)),
  )
