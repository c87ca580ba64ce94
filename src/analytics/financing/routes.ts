import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { operation, query, refuses, returnsTable } from '../../platform/http/operation.ts'
import { NOT_READABLE } from '../../taxpayers/contract.ts'
import { EntriesPage } from '../common/contract.ts'
import { Financing, FinancingEntriesQuery, FinancingQuery } from './contract.ts'
import { getFinancing, getFinancingEntries } from './financing.ts'

const FINANCING = `Returns what customers owe and what is owed to suppliers at the end of a day: how late it is, when it is expected, how
long payments take, and which issued invoices could be sold or lent upon. Debtors are in data, the largest first. Only PPD invoices are owed;
receivables, payables and pool are about all of them and stand in every page. from and to are the months whose payments are looked at.`

const ENTRIES = `Returns the documents behind a figure, newest first: their amounts, in MXN, add up to it exactly. A page may have fewer entries than
limit while has_more is true. The figures missing_rate, dof_rate, not_counted, unreconciled_payments and other_parties list what data_quality counts, in the
currency that the document states.`

/** Mounted at /v1/analytics. */
export const financingRoutes = new Hono<App>()
  .get(
    '/financing',
    operation('getFinancing', 'Insight', 'Get receivables, payables and what could be lent upon them', FINANCING),
    query(FinancingQuery),
    returnsTable(Financing),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await getFinancing(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/financing/entries',
    operation('listFinancingEntries', 'Insight', 'List the documents behind a figure of financing', ENTRIES),
    query(FinancingEntriesQuery),
    returnsTable(EntriesPage),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await getFinancingEntries(c.var.ctx, c.req.valid('query'))),
  )
