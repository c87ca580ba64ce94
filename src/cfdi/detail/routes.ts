import * as z from 'zod'
import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { operation, params, query, refuses, returns, returnsFile } from '../../platform/http/operation.ts'
import { ofFiscalEntity, requireFiscalEntity } from '../../taxpayers/contract.ts'
import { AsOf, CfdiUuid } from '../contract.ts'
import { CfdiDetail, CfdiPayments } from './contract.ts'
import { getCfdi, getXml, listPayments } from './detail.ts'

const ByUuid = z.strictObject({ uuid: CfdiUuid })
const OfEntityAsOf = z.strictObject({ ...ofFiscalEntity, as_of: AsOf }).superRefine(requireFiscalEntity)
const OfEntity = z.strictObject(ofFiscalEntity).superRefine(requireFiscalEntity)

const NOT_VISIBLE = 'There is no active connection to the fiscal entity, or your visibility windows show no such CFDI.'

const PAYMENTS = `Lists the payment complements and credit notes (relation 01, 03 and 07) that refer to the invoice, by their local dates.
Those that your visibility windows do not show are not listed, and those issued after the ceiling do not count. counts says whether one is
applied to the invoice, and not_counted_reason why not: it is cancelled, its parties are not the invoice’s, its MonedaDR is not the invoice’s
currency, it is a credit note that cannot be converted to it, or another vigente document substitutes it. A payment with the invoice’s issuer and another receiver counts, with the warning
receiver_differs.`

/** The routes of one CFDI, under /v1/cfdi. */
export const detailRoutes = new Hono<App>()
  .get(
    '/:uuid',
    operation('getCfdi', 'CFDI', 'Get a CFDI with its lines, taxes and complements'),
    params(ByUuid),
    query(OfEntityAsOf),
    returns(200, CfdiDetail),
    refuses(404, NOT_VISIBLE),
    async (c) => c.json(await getCfdi(c.var.ctx, c.req.valid('param').uuid, c.req.valid('query').as_of)),
  )
  .get(
    '/:uuid/payments',
    operation('listCfdiPayments', 'CFDI', 'List the payments and credit notes of an invoice', PAYMENTS),
    params(ByUuid),
    query(OfEntity),
    returns(200, CfdiPayments),
    refuses(404, NOT_VISIBLE),
    async (c) => c.json(await listPayments(c.var.ctx, c.req.valid('param').uuid)),
  )
  .get(
    '/:uuid/xml',
    operation('getCfdiXml', 'CFDI', 'Get the XML of a CFDI', 'Returns the XML byte for byte as it was downloaded or imported.'),
    params(ByUuid),
    query(OfEntity),
    returnsFile('The XML', 'application/xml'),
    refuses(404, `${NOT_VISIBLE} With the code cfdi.xml_not_available, only the metadata of the CFDI is known so far.`),
    async (c) => {
      const { bytes, name } = await getXml(c.var.ctx, c.req.valid('param').uuid)
      return c.body(bytes, 200, { 'Content-Type': 'application/xml', 'Content-Disposition': `attachment; filename="${name}"` })
    },
  )
