import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { body, operation, query, returns } from '../../platform/http/operation.ts'
import { BlacklistBatch, BlacklistLookup, LookupBatch, LookupQuery } from './contract.ts'
import { lookUpRfc, lookUpRfcs } from './lookups.ts'

const TAG = 'Blacklists'
const NOTE =
  'Each hit has the machine-readable `source` of its list and the Spanish `list_label` to display. `checked_sources` names the lists ' +
  'that were checked, with their dates. A list that it does not name is not loaded and was not checked.'

export const blacklistRoutes = new Hono<App>()
  .get(
    '/lookup',
    operation('lookUpBlacklists', TAG, 'Look an RFC up on blacklists', NOTE),
    query(LookupQuery),
    returns(200, BlacklistLookup),
    async (c) => c.json(await lookUpRfc(c.var.ctx, c.req.valid('query'))),
  )
  .post(
    '/lookup',
    operation('lookUpBlacklistsBatch', TAG, 'Look up to 500 RFCs up on blacklists', `Open to credentials of every role. ${NOTE}`),
    body(LookupBatch),
    returns(200, BlacklistBatch),
    async (c) => c.json(await lookUpRfcs(c.var.ctx, c.req.valid('json'))),
  )
