import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { operation, query, refuses, returnsTable } from '../../platform/http/operation.ts'
import { NOT_READABLE } from '../../taxpayers/contract.ts'
import { EntriesPage } from '../common/contract.ts'
import { DeductionEntriesQuery, Deductions, DeductionsQuery } from './contract.ts'
import { getDeductionEntries, getDeductions } from './deductions.ts'

const DEDUCTIONS = `Returns what of the received CFDIs can be deducted, and why not, in the order of their dates, in which limits are
used up. The totals are of the whole range, by year and category, and stand in every page.`

const ENTRIES = `Returns the documents behind a total, newest first: their amounts add up to it exactly. A page may have fewer entries
than limit while has_more is true. The figures missing_rate, dof_rate, not_counted, unreconciled_payments and other_parties list
what data_quality counts.`

/** Mounted at /v1/cfdi. */
export const deductionRoutes = new Hono<App>()
  .get(
    '/deductions',
    operation('listDeductions', 'Insight', 'List deductions', DEDUCTIONS),
    query(DeductionsQuery),
    returnsTable(Deductions),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await getDeductions(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/deductions/entries',
    operation('listDeductionEntries', 'Insight', 'List the documents behind a total of deductions', ENTRIES),
    query(DeductionEntriesQuery),
    returnsTable(EntriesPage),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await getDeductionEntries(c.var.ctx, c.req.valid('query'))),
  )
