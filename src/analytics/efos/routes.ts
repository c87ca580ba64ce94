import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { operation, query, refuses, returnsTable } from '../../platform/http/operation.ts'
import { NOT_READABLE } from '../../taxpayers/contract.ts'
import { EntriesPage } from '../common/contract.ts'
import { EfosEntriesQuery, EfosExposure, EfosQuery } from './contract.ts'
import { getEfosEntries, getEfosExposure } from './efos.ts'

const EXPOSURE = `Returns what was invoiced with counterparties on the list of article 69-B (EFOS), the largest amount first, as the list and
the documents stood at the end of as_of. The range has the last ten years by default. Presumptions and cleared counterparties are told too;
is_active says which of them count in share_of_purchases.`

const ENTRIES = `Returns the documents behind a figure of a counterparty, or of all (active_amount, total_purchases, total_sales), newest first: their amounts add up to it exactly. A page may have fewer
entries than limit while has_more is true. The figures missing_rate, dof_rate, not_counted, unreconciled_payments and other_parties list
what data_quality counts, with amounts in the document’s own currency.`

/** Mounted at /v1/analytics. */
export const efosRoutes = new Hono<App>()
  .get(
    '/efos-exposure',
    operation('getEfosExposure', 'Insight', 'Measure the exposure to counterparties on the list of article 69-B', EXPOSURE),
    query(EfosQuery),
    returnsTable(EfosExposure),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await getEfosExposure(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/efos-exposure/entries',
    operation('listEfosEntries', 'Insight', 'List the documents behind a figure of the exposure', ENTRIES),
    query(EfosEntriesQuery),
    returnsTable(EntriesPage),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await getEfosEntries(c.var.ctx, c.req.valid('query'))),
  )
