import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { operation, query, refuses, returnsTable } from '../../platform/http/operation.ts'
import { NOT_READABLE } from '../../taxpayers/contract.ts'
import { EntriesPage } from '../common/contract.ts'
import { Risk, RiskEntriesQuery, RiskQuery } from './contract.ts'
import { getRisk, getRiskEntries } from './risk.ts'

const RISK = `Returns the CFDIs of a range that something is wrong with, the highest score first, then the largest total in MXN. Each
flag names the provision and what it rests on. Cancelled and substituted documents are among them. The flag repse_not_valid_at_payment is
raised only of suppliers that the registry was asked about: GET /v1/cfdi/repse-suppliers queues these look-ups, and nothing else does.`

const ENTRIES = `Returns the documents that data_quality counts as missing_rate, dof_rate or not_counted, newest first, with their totals
in their own currency. A page may have fewer entries than limit while has_more is true.`

/** Mounted at /v1/cfdi. */
export const riskRoutes = new Hono<App>()
  .get(
    '/risk',
    operation('listRisk', 'Insight', 'List documents by risk', RISK),
    query(RiskQuery),
    returnsTable(Risk),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await getRisk(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/risk/entries',
    operation('listRiskEntries', 'Insight', 'List the documents that risk leaves out of amounts', ENTRIES),
    query(RiskEntriesQuery),
    returnsTable(EntriesPage),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await getRiskEntries(c.var.ctx, c.req.valid('query'))),
  )
