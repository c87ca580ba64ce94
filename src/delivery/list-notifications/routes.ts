import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { operation, query, returns } from '../../platform/http/operation.ts'
import { pageOf } from '../../platform/http/shapes.ts'
import { EventPayload } from '../catalog/payload-contract.ts'
import { WatchQuery } from '../events/contract.ts'
import { watchBlacklists, watchListed } from './notify.ts'

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
