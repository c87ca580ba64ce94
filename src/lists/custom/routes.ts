import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { body, idempotent, operation, params, refuses, returns, roles, upload } from '../../platform/http/operation.ts'
import { CustomList, CustomListDraft, CustomListPath, CustomLists } from './contract.ts'
import { createCustomList, listCustomLists, removeCustomList, replaceCustomList } from './custom.ts'

const TAG = 'Blacklists'
const MAX_BYTES = 5 * 1024 * 1024
const ABSENT = 'The organization has no list with this slug.'

/** An organization's own lists, mounted at /v1/blacklists/custom. */
export const customListRoutes = new Hono<App>()
  .get('/', operation('listCustomBlacklists', TAG, 'List your own blacklists'), returns(200, CustomLists), async (c) =>
    c.json(await listCustomLists(c.var.ctx)),
  )
  .post(
    '/',
    operation(
      'createCustomBlacklist',
      TAG,
      'Create a blacklist of your own',
      'The list is empty until its content is sent with PUT. Only your organization sees it: in look-ups, in `counterparty.blacklist` of ' +
        'CFDIs, and in the events `blacklist.changed`, under the source `custom:<slug>`.',
    ),
    roles('owner', 'admin'),
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
      TAG,
      'Replace the content of a blacklist of your own',
      'Send the whole list: as CSV with a header line with `rfc` and, if you like, `name`, or as JSON `{"entries": [{"rfc", "name"}]}`. What ' +
        'the body does not name leaves the list. A body with an invalid row changes nothing.',
    ),
    params(CustomListPath),
    roles('owner', 'admin'),
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
    operation('deleteCustomBlacklist', TAG, 'Delete a blacklist of your own'),
    params(CustomListPath),
    roles('owner', 'admin'),
    returns(204, undefined, 'The list is deleted'),
    refuses(404, ABSENT),
    async (c) => {
      await removeCustomList(c.var.ctx, c.req.valid('param').slug)
      return c.body(null, 204)
    },
  )
