import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { operation, query, refuses, returnsTable } from '../../platform/http/operation.ts'
import { NOT_READABLE } from '../../taxpayers/contract.ts'
import { EntriesPage } from '../common/contract.ts'
import { WithholdingEntriesQuery, Withholdings, WithholdingsQuery } from './contract.ts'
import { listWithholdingEntries, listWithholdings } from './withholdings.ts'

const LIST = `Returns what is withheld of the RFC and by it, and what should be, by the day of cash: a row for each event and tax, the
latest first. totals adds up each month of the range, whatever the filters are.`

const ENTRIES = `Returns the documents behind a figure of totals, newest first. Their amounts add up to the figure exactly. A page may
have fewer entries than limit while has_more is true.`

/** Withholdings, under /v1/cfdi. */
export const withholdingRoutes = new Hono<App>()
  .get(
    '/withholdings',
    operation('listWithholdings', 'Insight', 'List withholdings', LIST),
    query(WithholdingsQuery),
    returnsTable(Withholdings),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await listWithholdings(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/withholdings/entries',
    operation('listWithholdingEntries', 'Insight', 'List the documents behind the totals of withholdings', ENTRIES),
    query(WithholdingEntriesQuery),
    returnsTable(EntriesPage),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await listWithholdingEntries(c.var.ctx, c.req.valid('query'))),
  )
