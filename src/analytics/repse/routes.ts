import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { operation, query, refuses, returns } from '../../platform/http/operation.ts'
import { NOT_READABLE } from '../../taxpayers/contract.ts'
import { SupplierReport, SupplierReportQuery } from './contract.ts'
import { reportSuppliers } from './report.ts'

const TAG = 'REPSE'

const REPORT =
  'Compares the issuers of received CFDIs inside their visibility window with the registry. Counts and amounts cover all suppliers, with ' +
  '`blacklist` all that are on a list; `limit` only shortens the list. A supplier is `unknown` until the registry has answered about it. Each request queues look-ups of ' +
  'up to 500 suppliers whose answer is missing or older than a day, which go on in the background until all of them are done. Nothing else ' +
  'does: the flags of fiscal insight about specialized services rest on these answers.'

/** The supplier report, mounted at /v1/cfdi. */
export const supplierRoutes = new Hono<App>().get(
  '/repse-suppliers',
  operation('reportRepseSuppliers', TAG, 'Compare suppliers with REPSE', REPORT),
  query(SupplierReportQuery),
  returns(200, SupplierReport),
  refuses(404, NOT_READABLE),
  async (c) => c.json(await reportSuppliers(c.var.ctx, c.req.valid('query'))),
)
