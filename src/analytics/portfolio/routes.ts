import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { operation, query, refuses, returnsTable } from '../../platform/http/operation.ts'
import { NOT_READABLE } from '../../taxpayers/contract.ts'
import { EntriesPage } from '../common/contract.ts'
import { Portfolio, PortfolioEntriesQuery, PortfolioQuery } from './contract.ts'
import { getPortfolio, getPortfolioEntries } from './portfolio.ts'

const PORTFOLIO = `Returns twelve indicators of the risk of a fiscal entity: compliance, lists, concentration, cash, cancellations,
overdue balances and specialized services. Each has its formula, its threshold and how much it rests on.`

const ENTRIES = `Returns the documents behind an indicator, newest first: those of its numerator. Their net amounts, totals for
cash_share, add up to it. A page may have fewer entries than limit while has_more is true.`

/** Mounted at /v1/analytics. */
export const portfolioRoutes = new Hono<App>()
  .get(
    '/risk',
    operation('getRiskIndicators', 'Insight', 'Measure risk by twelve indicators', PORTFOLIO),
    query(PortfolioQuery),
    returnsTable(Portfolio),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await getPortfolio(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/risk/entries',
    operation('listRiskIndicatorEntries', 'Insight', 'List the documents behind an indicator of risk', ENTRIES),
    query(PortfolioEntriesQuery),
    returnsTable(EntriesPage),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await getPortfolioEntries(c.var.ctx, c.req.valid('query'))),
  )
