import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { operation, query, refuses, returnsTable } from '../../platform/http/operation.ts'
import { NOT_READABLE } from '../../taxpayers/contract.ts'
import { EntriesPage } from '../common/contract.ts'
import { getConcentration, getConcentrationEntries } from './concentration.ts'
import { Concentration, ConcentrationEntriesQuery, ConcentrationQuery } from './contract.ts'

const CONCENTRATION = `Returns how the net amounts of issued or received CFDIs are divided among counterparties, the largest first. The
header is about the whole range and stands in every page. Amounts are subtotal − descuento in MXN, net of credit notes.`

const ENTRIES = `Returns the documents behind a figure, newest first: their amounts add up to it exactly. A page may have fewer entries than
limit while has_more is true. The figures missing_rate, dof_rate and not_counted list what data_quality counts, with totals in the
document’s own currency.`

/** Mounted at /v1/cfdi. */
export const concentrationRoutes = new Hono<App>()
  .get(
    '/concentration',
    operation('getConcentration', 'Insight', 'Measure the concentration of customers or suppliers', CONCENTRATION),
    query(ConcentrationQuery),
    returnsTable(Concentration),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await getConcentration(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/concentration/entries',
    operation('listConcentrationEntries', 'Insight', 'List the documents behind a figure of concentration', ENTRIES),
    query(ConcentrationEntriesQuery),
    returnsTable(EntriesPage),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await getConcentrationEntries(c.var.ctx, c.req.valid('query'))),
  )
