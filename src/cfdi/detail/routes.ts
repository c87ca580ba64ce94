import { Buffer } from 'node:buffer'
import type { Context } from 'hono'
import * as z from 'zod'
import { isMatch } from '../../platform/content.ts'
import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { operation, params, prefers, query, refuses, returns, returnsFile, returnsOrFile } from '../../platform/http/operation.ts'
import { ofFiscalEntity, requireFiscalEntity } from '../../taxpayers/contract.ts'
import { AsOf, CfdiUuid } from '../contract.ts'
import { CfdiDetail, CfdiPayments } from './contract.ts'
import { getCfdi, getPdf, getXml, listPayments } from './detail.ts'

const ByUuid = z.strictObject({ uuid: CfdiUuid })
const OfEntityAsOf = z.strictObject({ ...ofFiscalEntity, as_of: AsOf }).superRefine(requireFiscalEntity)
const OfEntityIn = z
  .strictObject({
    ...ofFiscalEntity,
    language: z.enum(['es', 'en']).default('es').meta({ description: 'The language of the headings. What the XML states stays as it is.' }),
    as_of: AsOf,
  })
  .superRefine(requireFiscalEntity)
const OfEntity = z.strictObject(ofFiscalEntity).superRefine(requireFiscalEntity)

const NOT_VISIBLE = 'There is no active connection to the fiscal entity, or your visibility windows show no such CFDI.'

const NO_PDF = 'Only the metadata of the CFDI is known so far (`cfdi.xml_not_held`).'

const UNCHANGED = 'The PDF is what If-None-Match names. There is no body.'

const PDF = `Returns the printed representation of a CFDI or CFDI de retenciones, which is made of its XML when it is asked for: everything that the XML states but its
Addenda, codes with their names, the total in words, the QR code with which the authority verifies it, the seals and the cadena original. A cancelled
document says so on every page. It is a PDF/A-3 with the XML attached and tags for screen readers. The same document in the same state and language has the
same bytes, which ETag names.`

const PAYMENTS = `Lists the payment complements and credit notes (relation 01, 03 and 07) that refer to the invoice, by their local dates.
Those that your visibility windows do not show are not listed, and those issued after the ceiling do not count. counts says whether one is
applied to the invoice, and not_counted_reason why not: it is cancelled, its parties are not the invoice’s, its MonedaDR is not the invoice’s
currency, it is a credit note that cannot be converted to it, or another vigente document substitutes it. A payment with the invoice’s issuer and another receiver counts, with the warning
receiver_differs.`

async function pdfAnswer(c: Context<App>, { bytes, name }: { bytes: Uint8Array<ArrayBuffer>; name: string }): Promise<Response> {
  const ETag = `"${Buffer.from(await crypto.subtle.digest('SHA-256', bytes)).toString('hex')}"`
  if (isMatch(c.req.header('if-none-match') ?? null, ETag)) return c.body(null, 304, { ETag })
  return c.body(bytes, 200, { 'Content-Type': 'application/pdf', 'Content-Disposition': `inline; filename="${name}"`, ETag })
}

/** The routes of one CFDI, under /v1/cfdi. */
export const detailRoutes = new Hono<App>()
  .get(
    '/:uuid',
    operation('getCfdi', 'CFDI', 'Get a CFDI with its lines, taxes and complements'),
    params(ByUuid),
    query(OfEntityAsOf),
    returnsOrFile(CfdiDetail, 'application/pdf'),
    returns(304, undefined, UNCHANGED),
    refuses(404, NOT_VISIBLE),
    refuses(409, `For application/pdf: ${NO_PDF}`),
    async (c) => {
      const { uuid } = c.req.valid('param')
      const { as_of } = c.req.valid('query')
      if (prefers(c, 'application/pdf')) return pdfAnswer(c, await getPdf(c.var.ctx, uuid, 'es', as_of))
      return c.json(await getCfdi(c.var.ctx, uuid, as_of))
    },
  )
  .get(
    '/:uuid/pdf',
    operation('getCfdiPdf', 'CFDI', 'Get a CFDI as a PDF', PDF),
    params(ByUuid),
    query(OfEntityIn),
    returnsFile('The PDF', 'application/pdf'),
    returns(304, undefined, UNCHANGED),
    refuses(404, NOT_VISIBLE),
    refuses(409, NO_PDF),
    async (c) => {
      const { language, as_of } = c.req.valid('query')
      return pdfAnswer(c, await getPdf(c.var.ctx, c.req.valid('param').uuid, language, as_of))
    },
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
