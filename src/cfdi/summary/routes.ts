import { Hono } from 'hono'
import type { App } from '../../platform/context.ts'
import { operation, query, refuses, returns } from '../../platform/http/operation.ts'
import { NOT_READABLE } from '../../taxpayers/contract.ts'
import { MonthlySummary, MonthlySummaryQuery } from './contract.ts'
import { summarizeMonths } from './summary.ts'

const SUMMARY = `Totals by month of the literal Fecha, for each direction. A month that the window cuts is trimmed to it by day (at the ceiling, to the
instant), with is_partial true; a month outside the window is absent; one inside without documents is there with zeros. from and to may be
days: the first and the last month are then cut at them. drilldown is the search for the documents of a row.`

/** The summaries, for /v1/cfdi. */
export const summaryRoutes = new Hono<App>().get(
  '/summary/monthly',
  operation('summarizeCfdiMonths', 'CFDI', 'Sum CFDIs up by month', SUMMARY),
  query(MonthlySummaryQuery),
  returns(200, MonthlySummary),
  refuses(404, NOT_READABLE),
  async (c) => c.json(await summarizeMonths(c.var.ctx, c.req.valid('query'))),
)
