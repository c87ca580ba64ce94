import { Hono } from 'hono'
import * as z from 'zod'
import type { App } from '../../platform/context.ts'
import { operation, params, query, refuses, returns, returnsFile } from '../../platform/http/operation.ts'
import { NOT_READABLE, ofFiscalEntity, requireFiscalEntity } from '../../taxpayers/contract.ts'
import { CfdiUuid } from '../contract.ts'
import { CfdiPage, CfdiPayments } from './contract.ts'
import { getCfdi, getXml, listPayments } from './detail.ts'
import { CfdiDetail } from './detail-contract.ts'
import { searchCfdi } from './search.ts'
import { CfdiSearch } from './search-contract.ts'
import { summarizeMonths } from './summary.ts'
import { MonthlySummary, MonthlySummaryQuery } from './summary-contract.ts'

const ByUuid = z.strictObject({ uuid: CfdiUuid })
const OfEntity = z.strictObject(ofFiscalEntity).superRefine(requireFiscalEntity)

const NOT_SEEN = 'There is no active connection to the fiscal entity, or it has no such CFDI inside your visibility window.'

const SEARCH = `Newest first: by issued_at, then uuid, both descending. Only what your visibility window shows, and what you imported yourself.

direction, estatus, tipo_comprobante, payment_status, the RFCs, uuid and issued_from/issued_to are served by an index, alone and in most
combinations. Any other filter is looked for among 250 documents a page: **a page may then hold fewer documents than limit, even none, while
has_more is true.** Go on with next_cursor until has_more is false. The same holds once you have imported files for the RFC, and with
payment_status while something is held that was issued after your window's ceiling.

payment_status, paid_amount, credited_amount, balance, last_payment_at and fully_paid_at, and the filters on them, count the payment
complements and credit notes that were issued up to your window's ceiling. updated_at counts whatever was stored, by any download.`

const PAYMENTS = `Payment complements and credit notes (relation 01 and 03) that were applied to the invoice, by their literal date. Those outside your
visibility window are absent, and those after its ceiling do not count; cancelled ones are listed and do not count.`

const SUMMARY = `Totals by month of the literal Fecha, for each direction. A month that the window cuts is trimmed to it by day (at the ceiling, to the
instant), with is_partial true; a month outside the window is absent; one inside without documents is there with zeros. from and to may be
days: the first and the last month are then cut at them. drilldown is the search for the documents of a row.`

/** Reads of CFDI, for /v1/cfdi. */
export const cfdiRoutes = new Hono<App>()
  .get(
    '/',
    operation('searchCfdi', 'CFDI', 'Search CFDIs', SEARCH),
    query(CfdiSearch),
    returns(200, CfdiPage),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await searchCfdi(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/summary/monthly',
    operation('summarizeCfdiMonths', 'CFDI', 'Sum CFDIs up by month', SUMMARY),
    query(MonthlySummaryQuery),
    returns(200, MonthlySummary),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await summarizeMonths(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/:uuid',
    operation('getCfdi', 'CFDI', 'Get a CFDI with its lines, taxes and complements'),
    params(ByUuid),
    query(OfEntity),
    returns(200, CfdiDetail),
    refuses(404, NOT_SEEN),
    async (c) => c.json(await getCfdi(c.var.ctx, c.req.valid('param').uuid)),
  )
  .get(
    '/:uuid/payments',
    operation('listCfdiPayments', 'CFDI', 'List what was applied to an invoice', PAYMENTS),
    params(ByUuid),
    query(OfEntity),
    returns(200, CfdiPayments),
    refuses(404, NOT_SEEN),
    async (c) => c.json(await listPayments(c.var.ctx, c.req.valid('param').uuid)),
  )
  .get(
    '/:uuid/xml',
    operation('getCfdiXml', 'CFDI', 'Get the XML of a CFDI', 'Byte for byte as it was downloaded.'),
    params(ByUuid),
    query(OfEntity),
    returnsFile('The XML', 'application/xml'),
    refuses(404, `${NOT_SEEN} With the code cfdi.xml_not_available: only its metadata is known so far.`),
    async (c) => {
      const { bytes, name } = await getXml(c.var.ctx, c.req.valid('param').uuid)
      return c.body(bytes, 200, { 'Content-Type': 'application/xml', 'Content-Disposition': `attachment; filename="${name}"` })
    },
  )
