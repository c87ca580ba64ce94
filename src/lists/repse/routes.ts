import type { Context } from 'hono'
import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { idempotent, operation, params, refuses, returns } from '../../platform/http/operation.ts'
import { NOT_READABLE } from '../../taxpayers/contract.ts'
import { RepseChecking, RepsePath, RepseQueued, RepseStatus } from './contract.ts'
import { getRepse, requestRefresh } from './repse.ts'

const TAG = 'REPSE'
const NO_CONNECTION = 'There is no active connection to the fiscal entity.'

const answer = (c: Context, it: RepseStatus | RepseChecking) =>
  'status' in it ? c.json(it, 202, { 'Retry-After': String(it.retry_after_seconds) }) : c.json(it)

/** The registry of providers of specialized services, mounted at /v1/fiscal-entities. */
export const repseRoutes = new Hono<App>()
  .get(
    '/:fiscal_entity_id/repse',
    operation(
      'getRepse',
      TAG,
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
      TAG,
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
