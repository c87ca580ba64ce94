import type { Context } from 'hono'
import type { App } from '../platform/context.ts'
import { Hono } from '../platform/http/hono.ts'
import { body, idempotent, operation, params, query, refuses, returns, upload } from '../platform/http/operation.ts'
import { NOT_READABLE } from '../taxpayers/contract.ts'
import { CustomList, CustomListDraft, CustomListPath, CustomLists } from './custom/contract.ts'
import { createCustomList, listCustomLists, removeCustomList, replaceCustomList } from './custom/custom.ts'
import { BlacklistBatch, BlacklistLookup, LookupBatch, LookupQuery } from './lookups/contract.ts'
import { lookUpRfc, lookUpRfcs } from './lookups/lookups.ts'
import { RepseChecking, RepsePath, RepseQueued, RepseStatus } from './repse/contract.ts'
import { getRepse, requestRefresh } from './repse/repse.ts'

const BLACKLISTS = 'Blacklists'
const NOTE =
  'Each hit has the machine-readable `source` of its list and the Spanish `list_label` to display. `checked_sources` names the lists ' +
  'that were checked, with their dates. A list that it does not name is not loaded and was not checked.'

export const blacklistRoutes = new Hono<App>()
  .get(
    '/lookup',
    operation('lookUpBlacklists', BLACKLISTS, 'Look an RFC up on blacklists', NOTE),
    query(LookupQuery),
    returns(200, BlacklistLookup),
    async (c) => c.json(await lookUpRfc(c.var.ctx, c.req.valid('query'))),
  )
  .post(
    '/lookup',
    operation('lookUpBlacklistsBatch', BLACKLISTS, 'Look up to 500 RFCs up on blacklists', `Open to credentials of every role. ${NOTE}`),
    body(LookupBatch),
    returns(200, BlacklistBatch),
    async (c) => c.json(await lookUpRfcs(c.var.ctx, c.req.valid('json'))),
  )

const MAX_BYTES = 5 * 1024 * 1024
const ABSENT = 'The organization has no list with this slug.'

/** An organization's own lists, mounted at /v1/blacklists/custom. */
export const customListRoutes = new Hono<App>()
  .get('/', operation('listCustomBlacklists', BLACKLISTS, 'List your own blacklists'), returns(200, CustomLists), async (c) =>
    c.json(await listCustomLists(c.var.ctx)),
  )
  .post(
    '/',
    operation(
      'createCustomBlacklist',
      BLACKLISTS,
      'Create a blacklist of your own',
      'The list is empty until its content is sent with PUT. Only your organization sees it: in look-ups, in `counterparty.blacklist` of ' +
        'CFDIs, and in the events `blacklist.changed`, under the source `custom:<slug>`.',
    ),
    body(CustomListDraft),
    returns(201, CustomList, 'The list'),
    refuses(409, 'The slug is taken (`blacklist.exists`), or the plan allows no more lists (`blacklist.plan_limit`).'),
    idempotent(),
    async (c) => c.json(await createCustomList(c.var.ctx, c.req.valid('json')), 201),
  )
  .put(
    '/:slug',
    operation(
      'replaceCustomBlacklist',
      BLACKLISTS,
      'Replace the content of a blacklist of your own',
      'Send the whole list: as CSV with a header line with `rfc` and, if you like, `name`, or as JSON `{"entries": [{"rfc", "name"}]}`. What ' +
        'the body does not name leaves the list. A body with an invalid row changes nothing.',
    ),
    params(CustomListPath),
    upload(['text/csv', 'application/json'], MAX_BYTES, 'The whole list.'),
    returns(200, CustomList),
    refuses(404, ABSENT),
    refuses(
      409,
      'The plan allows fewer RFCs on your own lists in all (`blacklist_entry.plan_limit`), or other requests keep replacing the list.',
    ),
    refuses(422, 'The body is no such list. `errors` names the rows.'),
    async (c) =>
      c.json(await replaceCustomList(c.var.ctx, c.req.valid('param').slug, c.var.upload, /json/i.test(c.req.header('content-type') ?? ''))),
  )
  .delete(
    '/:slug',
    operation('deleteCustomBlacklist', BLACKLISTS, 'Delete a blacklist of your own'),
    params(CustomListPath),
    returns(204, undefined, 'The list is deleted'),
    refuses(404, ABSENT),
    async (c) => {
      await removeCustomList(c.var.ctx, c.req.valid('param').slug)
      return c.body(null, 204)
    },
  )

const REPSE = 'REPSE'
const NO_CONNECTION = 'There is no active connection to the fiscal entity.'

const answer = (c: Context, it: RepseStatus | RepseChecking) =>
  'status' in it ? c.json(it, 202, { 'Retry-After': String(it.retry_after_seconds) }) : c.json(it)

/** The registry of providers of specialized services, mounted at /v1/fiscal-entities. */
export const repseRoutes = new Hono<App>()
  .get(
    '/:fiscal_entity_id/repse',
    operation(
      'getRepse',
      REPSE,
      'Get the REPSE status of an RFC',
      'Returns the last answer of the registry of providers of specialized services. Returns 202 while the registry has not answered ' +
        'for the first time. Repeat the request after the delay, and do not take 202 for “not registered”.',
    ),
    params(RepsePath),
    returns(200, RepseStatus),
    returns(202, RepseChecking, 'The registry has not answered yet', {
      'Retry-After': 'Seconds to wait before the next request, as in the body.',
    }),
    refuses(404, NOT_READABLE),
    async (c) => answer(c, await getRepse(c.var.ctx)),
  )
  .post(
    '/:fiscal_entity_id/repse/refresh',
    operation(
      'refreshRepse',
      REPSE,
      'Refresh the REPSE status of an RFC',
      'Queues a look-up, at most once an hour per RFC across all organizations. `GET …/repse` returns the answer. Every role may ask for it, ' +
        'members too.',
    ),
    params(RepsePath),
    returns(202, RepseQueued, 'The look-up is queued'),
    refuses(404, NO_CONNECTION),
    refuses(429, 'A look-up of the RFC was requested less than an hour ago. Retry-After and retry_after_seconds state when to try again.'),
    idempotent(),
    async (c) => c.json(await requestRefresh(c.var.ctx), 202),
  )
