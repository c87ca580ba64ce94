import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { operation, params, query, refuses, returns } from '../../platform/http/operation.ts'
import { pageOf } from '../../platform/http/shapes.ts'
import { FiscalEntityPath } from '../../taxpayers/contract.ts'
import { AttentionQuery, SyncQuery, SyncStatus } from './contract.ts'
import { getSync, listAttention, listSync } from './sync.ts'

const LIST = `Returns every connection with how far its downloads are, in the order of their identifiers. One request takes the place of one
for each RFC: ask for \`state=blocked\` to find those that need a person, and read \`GET /v1/cfdi/changes\` of those whose latest_change_at is later than
your last reading. With \`state\`, a page looks at 500 connections at most, so that it can be short while has_more is true.`

/** Mounted at /v1/sync. */
export const syncRoutes = new Hono<App>().get(
  '/',
  operation('listSync', 'Downloads', 'List where the downloads of all RFCs are', LIST),
  query(SyncQuery),
  returns(200, pageOf(SyncStatus)),
  refuses(404, 'The organization has no connection to the fiscal entity of the filter.'),
  async (c) => c.json(await listSync(c.var.ctx, c.req.valid('query'))),
)

/** Mounted at /v1/portfolio. */
export const attentionRoutes = new Hono<App>().get(
  '/attention',
  operation(
    'listPortfolioAttention',
    'Downloads',
    'List the RFCs that need somebody',
    'Returns the connections whose downloads are `blocked`, or of which a month is incomplete after its last download, with what to do. A page ' +
      'looks at `limit` connections, so that it can be short while has_more is true.',
  ),
  query(AttentionQuery),
  returns(200, pageOf(SyncStatus)),
  async (c) => c.json(await listAttention(c.var.ctx, c.req.valid('query'))),
)

/** Mounted at /v1/fiscal-entities. */
export const entitySyncRoutes = new Hono<App>().get(
  '/:fiscal_entity_id/sync',
  operation(
    'getSync',
    'Downloads',
    'Get where the downloads of an RFC are',
    'Says in one sentence what is going on, why, when it goes on, and what to do.',
  ),
  params(FiscalEntityPath),
  returns(200, SyncStatus),
  refuses(404, 'The organization has no connection to this fiscal entity.'),
  async (c) => c.json(await getSync(c.var.ctx)),
)
