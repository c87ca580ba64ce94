import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { operation, query, refuses, returnsTable } from '../../platform/http/operation.ts'
import { NOT_READABLE } from '../../taxpayers/contract.ts'
import { MonthlySummary, MonthlySummaryQuery } from './contract.ts'
import { summarizeMonths } from './summary.ts'

const SUMMARY = `Returns totals for each month of the literal Fecha and each direction. A month that your visibility window divides is
summed only as far as the window shows it, with is_partial true: whole days from the floor on, and up to the instant of the ceiling. The
issued and the received CFDIs have a window each. A row outside its window is absent, unless imports of yours lie there: then it counts
these alone, with is_partial true and data_status missing. A row inside its window without documents has zeros, which count only when its
data_status is complete. from and to may also be days: then the first and the last month are summed from and to these days. drilldown is
the search that returns the documents of a row.`

/** The summaries of CFDIs, under /v1/cfdi. */
export const summaryRoutes = new Hono<App>().get(
  '/summary/monthly',
  operation('summarizeCfdiMonths', 'CFDI', 'Sum CFDIs by month', SUMMARY),
  query(MonthlySummaryQuery),
  returnsTable(MonthlySummary),
  refuses(404, NOT_READABLE),
  async (c) => c.json(await summarizeMonths(c.var.ctx, c.req.valid('query'))),
)
