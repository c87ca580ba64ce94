import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { operation, query, refuses, returnsTable } from '../../platform/http/operation.ts'
import { NOT_READABLE } from '../../taxpayers/contract.ts'
import { EntriesPage } from '../common/contract.ts'
import { IsrEntriesQuery, IsrPayment, IsrQuery } from './contract.ts'
import { getIsrPayment, listIsrEntries } from './isr.ts'

const PAYMENT = `Computes the provisional payment of ISR of a month, line by line, and compares it with the return of the month. basis has the
formulas, source says of each line where it comes from, and questions says what no CFDI decides. drilldown leads to the documents of a line.`

const ENTRIES = `Returns the documents behind a line, newest first. Their amounts add up to the line exactly. A page may have fewer entries
than limit while has_more is true.`

/** The provisional payment of ISR, under /v1/analytics. */
export const isrRoutes = new Hono<App>()
  .get(
    '/isr-provisional',
    operation('getIsrPayment', 'Insight', 'Compute the provisional payment of ISR', PAYMENT),
    query(IsrQuery),
    returnsTable(IsrPayment),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await getIsrPayment(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/isr-provisional/entries',
    operation('listIsrEntries', 'Insight', 'List the documents behind a line of the payment of ISR', ENTRIES),
    query(IsrEntriesQuery),
    returnsTable(EntriesPage),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await listIsrEntries(c.var.ctx, c.req.valid('query'))),
  )
