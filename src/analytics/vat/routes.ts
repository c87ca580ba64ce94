import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { operation, query, refuses, returnsTable } from '../../platform/http/operation.ts'
import { NOT_READABLE } from '../../taxpayers/contract.ts'
import { EntriesPage } from '../common/contract.ts'
import { VatEntriesQuery, VatPosition, VatQuery } from './contract.ts'
import { getVatPosition, listVatEntries } from './vat.ts'

const POSITION = `Returns the VAT position of each month on a cash basis: what was collected and paid by rate, what was withheld, what
cannot be credited, what is pending, and what the return of the month declares. basis has the formulas. drilldown of a row leads to the
documents behind each figure.`

const ENTRIES = `Returns the documents behind a figure, newest first. Their amounts add up to the figure exactly. A page may have fewer
entries than limit while has_more is true. Amounts of the counts of data_quality are the documents' totals in their own currency; the number
of entries is the count.`

/** The VAT position, under /v1/analytics. */
export const vatRoutes = new Hono<App>()
  .get(
    '/vat-position',
    operation('getVatPosition', 'Insight', 'Get the VAT position', POSITION),
    query(VatQuery),
    returnsTable(VatPosition),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await getVatPosition(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/vat-position/entries',
    operation('listVatEntries', 'Insight', 'List the documents behind the VAT position', ENTRIES),
    query(VatEntriesQuery),
    returnsTable(EntriesPage),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await listVatEntries(c.var.ctx, c.req.valid('query'))),
  )
