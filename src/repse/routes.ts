import { type Context, Hono } from 'hono'
import type { App } from '../platform/context.ts'
import { idempotent, operation, params, query, refuses, returns } from '../platform/http/operation.ts'
import { NOT_READABLE } from '../taxpayers/contract.ts'
import { RepseChecking, RepsePath, RepseQueued, RepseStatus } from './contract.ts'
import { reportSuppliers } from './report.ts'
import { SupplierReport, SupplierReportQuery } from './report-contract.ts'
import { getRepse, requestRefresh } from './repse.ts'

const TAG = 'REPSE'
const NO_CONNECTION = 'There is no active connection to the fiscal entity.'

const answer = (c: Context, it: RepseStatus | RepseChecking) =>
  'status' in it ? c.json(it, 202, { 'Retry-After': String(it.retry_after_seconds) }) : c.json(it)

/** The registry of providers of specialized services, for /v1/fiscal-entities. */
export const repseRoutes = new Hono<App>()
  .get(
    '/:fiscal_entity_id/repse',
    operation(
      'getRepse',
      TAG,
      'Whether the RFC is in the registry of specialized-service providers',
      'What the registry last answered. Where it never was asked, 202: ask again after the delay, and do not read it as not registered.',
    ),
    params(RepsePath),
    returns(200, RepseStatus),
    returns(202, RepseChecking, 'The registry is being asked for the first time', { 'Retry-After': 'Seconds; the same as in the body.' }),
    refuses(404, NOT_READABLE),
    async (c) => answer(c, await getRepse(c.var.ctx)),
  )
  .post(
    '/:fiscal_entity_id/repse/refresh',
    operation(
      'refreshRepse',
      TAG,
      'Have the registry asked again',
      'At most once an hour for an RFC, whichever organization asks. What it answers is read with the GET.',
    ),
    params(RepsePath),
    returns(202, RepseQueued, 'The look-up is queued'),
    refuses(404, NO_CONNECTION),
    refuses(429, 'It was asked for less than an hour ago. Retry-After and retry_after_seconds say when to try again.'),
    idempotent(),
    async (c) => c.json(await requestRefresh(c.var.ctx), 202),
  )

const REPORT = `The issuers of received CFDIs inside your visibility window, against the registry. Counts and amounts are of all of them, the list is
cut at limit. A supplier is unknown until the registry has answered about it: each reading of the report has up to 50 of those looked up.`

/** The supplier report, for /v1/cfdi. */
export const supplierRoutes = new Hono<App>().get(
  '/repse-suppliers',
  operation('reportRepseSuppliers', TAG, 'Check suppliers against the registry', REPORT),
  query(SupplierReportQuery),
  returns(200, SupplierReport),
  refuses(404, NOT_READABLE),
  async (c) => c.json(await reportSuppliers(c.var.ctx, c.req.valid('query'))),
)
