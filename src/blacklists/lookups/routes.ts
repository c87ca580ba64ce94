import { Hono } from 'hono'
import type { App } from '../../platform/context.ts'
import { body, operation, query, returns } from '../../platform/http/operation.ts'
import { BlacklistBatch, BlacklistLookup, LookupBatch, LookupQuery } from './contract.ts'
import { lookUpRfc, lookUpRfcs } from './lookups.ts'

const TAG = 'Blacklists'
const NOTE =
  'Each hit carries `source`, for logic, and `list_label`, for people. `checked_sources` says which lists were asked and how old each is: a list that is not held was not checked.'

export const blacklistRoutes = new Hono<App>()
  .get(
    '/lookup',
    operation('lookUpBlacklists', TAG, 'Look an RFC up on the authority’s lists and on your own', NOTE),
    query(LookupQuery),
    returns(200, BlacklistLookup),
    async (c) => c.json(await lookUpRfc(c.var.ctx, c.req.valid('query'))),
  )
  .post(
    '/lookup',
    operation('lookUpBlacklistsBatch', TAG, 'Look up to 500 RFCs up', `A read: any role may. ${NOTE}`),
    body(LookupBatch),
    returns(200, BlacklistBatch),
    async (c) => c.json(await lookUpRfcs(c.var.ctx, c.req.valid('json'))),
  )
