import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { operation, query, refuses, returnsTable } from '../../platform/http/operation.ts'
import { NOT_READABLE } from '../../taxpayers/contract.ts'
import { EntriesPage } from '../common/contract.ts'
import { FxEntriesQuery, FxExposure, FxQuery } from './contract.ts'
import { getFxEntries, getFxExposure } from './fx.ts'

const EXPOSURE = `Returns a row for each currency other than MXN: what was invoiced in it, what is open at the end of a day, at the exchange
rates of the invoices and of that day, and what exchange rates gained on the payments of the range. The range is up to the month of as_of by
default; documents and payments after as_of do not count.`

const ENTRIES = `Returns the documents behind a figure, newest first: their amounts add up to it exactly. issued_amount, received_amount, open_receivable and
open_payable are in the currency of the row, the others in MXN. A page may have fewer entries than limit while has_more
is true. The figures missing_rate, dof_rate, not_counted, unreconciled_payments and other_parties list what data_quality counts, in the currency that the
document states.`

/** Mounted at /v1/analytics. */
export const fxRoutes = new Hono<App>()
  .get(
    '/fx-exposure',
    operation('getFxExposure', 'Insight', 'Measure the exposure to exchange rates', EXPOSURE),
    query(FxQuery),
    returnsTable(FxExposure),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await getFxExposure(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/fx-exposure/entries',
    operation('listFxExposureEntries', 'Insight', 'List the documents behind a figure of the exposure', ENTRIES),
    query(FxEntriesQuery),
    returnsTable(EntriesPage),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await getFxEntries(c.var.ctx, c.req.valid('query'))),
  )
