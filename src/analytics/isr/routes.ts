import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { operation, query, refuses, returnsFile, returnsTable } from '../../platform/http/operation.ts'
import { NOT_READABLE } from '../../taxpayers/contract.ts'
import { EntriesPage } from '../common/contract.ts'
import { IsrEntriesQuery, IsrFileQuery, IsrPayment, IsrQuery } from './contract.ts'
import { FILE_TYPES, getIsrFile } from './file.ts'
import { getIsrPayment, listIsrEntries } from './isr.ts'

const PAYMENT = `Computes the provisional payment of ISR of a month, line by line, and compares it with the return of the month. basis has the
formulas, source says of each line where it comes from, and questions says what no CFDI decides. drilldown leads to the documents of a line.`

const FILE = `Returns the payment as a PDF to print or as a workbook: its lines with formulas, what is to be decided, and the latest 2,000 documents of each line.
The PDF is a PDF/A-3 with tags for screen readers, and has the answer of \`GET /v1/analytics/isr-provisional\` attached as JSON.`

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
    '/isr-provisional/file',
    operation('getIsrFile', 'Insight', 'Download the provisional payment of ISR with its documents', FILE),
    query(IsrFileQuery),
    returnsFile('The file', ...Object.values(FILE_TYPES)),
    refuses(404, NOT_READABLE),
    async (c) => {
      const { bytes, type, name } = await getIsrFile(c.var.ctx, c.req.valid('query'))
      return c.body(bytes, 200, { 'Content-Type': type, 'Content-Disposition': `attachment; filename="${name}"` })
    },
  )
  .get(
    '/isr-provisional/entries',
    operation('listIsrEntries', 'Insight', 'List the documents behind a line of the payment of ISR', ENTRIES),
    query(IsrEntriesQuery),
    returnsTable(EntriesPage),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await listIsrEntries(c.var.ctx, c.req.valid('query'))),
  )
