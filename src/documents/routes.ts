import { SourceWarnings } from '../authority/contract.ts'
import { askedOf } from '../platform/content.ts'
import type { App } from '../platform/context.ts'
import { Hono } from '../platform/http/hono.ts'
import { operation, params, query, refuses, returns, returnsContent, returnsTable } from '../platform/http/operation.ts'
import { pageOf } from '../platform/http/shapes.ts'
import { FiscalEntityPath, NOT_READABLE } from '../taxpayers/contract.ts'
import {
  Document,
  DocumentPath,
  DocumentQuery,
  PortfolioObligation,
  PortfolioObligationQuery,
  PortfolioOpinion,
  PortfolioOpinionQuery,
  TaxProfile,
} from './contract.ts'
import { getDocument, getTaxProfile, listOfDocuments, readDocument } from './documents.ts'
import { Obligations } from './obligations/contract.ts'
import { listObligations } from './obligations/obligations.ts'
import { listDueObligations, listOpinions } from './portfolio.ts'

const TAG = 'Documents'
const TYPES = ['application/pdf', 'application/json', 'application/octet-stream'] as const

const NO_DOCUMENT = 'There is no active connection to the fiscal entity, or no such document that you can read.'

export const documentRoutes = new Hono<App>()
  .get(
    '/:fiscal_entity_id/documents',
    operation(
      'listDocuments',
      TAG,
      'List tax documents, newest first',
      'Tax documents other than CFDIs: the tax status certificate (CSF), the compliance opinion (32-D), returns and others. You can ' +
        'read a document when one of your own runs downloaded it and its date, or the end of its period, is not before the earlier ' +
        'floor of your windows. A document whose content changes gets another version; the versions before stay.',
    ),
    params(FiscalEntityPath),
    query(DocumentQuery),
    returns(200, pageOf(Document).extend({ warnings: SourceWarnings })),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await listOfDocuments(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/:fiscal_entity_id/tax-profile',
    operation(
      'getTaxProfile',
      TAG,
      'Get what the latest tax documents say',
      'Joins the latest tax status certificate, compliance opinion, registered obligations and list of certificates that you can ' +
        'read, each with the document that it comes from and with what changed since the version before.',
    ),
    params(FiscalEntityPath),
    returns(200, TaxProfile),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await getTaxProfile(c.var.ctx)),
  )
  .get(
    '/:fiscal_entity_id/documents/:document_id',
    operation(
      'getDocument',
      TAG,
      'Get a tax document',
      'Returns the document as the list has it, under the `document_id` that events, alerts, obligations, the tax profile and manifests name.',
    ),
    params(DocumentPath),
    returns(200, Document),
    refuses(404, NO_DOCUMENT),
    async (c) => c.json(await getDocument(c.var.ctx, c.req.valid('param').document_id)),
  )
  .get(
    '/:fiscal_entity_id/documents/:document_id/content',
    operation(
      'readDocument',
      TAG,
      'Download a document',
      'Returns the file byte for byte as the tax authority delivered it, in the media type that `content_type` of the document names: ' +
        '`application/pdf`, `application/json` for what the authority shows as a list (`obligations`, `registration`, `certificates`, `rug`), or ' +
        '`application/octet-stream` for another format. Its ETag is the SHA-256 of the content. The header Range may ask ' +
        'for one part of it, If-Range for the part only if the ETag is still the same, and If-None-Match for the file only if it is not.',
    ),
    params(DocumentPath),
    returnsContent('The file of the document', ...TYPES),
    refuses(404, NO_DOCUMENT),
    async (c) => {
      const answer = await readDocument(c.var.ctx, c.req.valid('param').document_id, askedOf(c.req.raw))
      return c.newResponse(answer.body, answer)
    },
  )
  .get(
    '/:fiscal_entity_id/obligations',
    operation(
      'listObligations',
      TAG,
      'List the tax obligations of an RFC by period',
      'Returns each registered obligation for its last twelve months that are over, or its last three years, and for the current ' +
        'period: when it is due, and whether a return that you can read shows that it was filed. The rows are in the order of their due dates.',
    ),
    params(FiscalEntityPath),
    returnsTable(Obligations),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await listObligations(c.var.ctx)),
  )

/** Of all RFCs of the organization, mounted at /v1/portfolio. */
export const portfolioDocumentRoutes = new Hono<App>()
  .get(
    '/opinions',
    operation(
      'listPortfolioOpinions',
      TAG,
      'List the compliance opinions of all RFCs',
      'Returns the latest opinion (32-D) that you can read of each RFC whose connection is active, by fiscal_entity_id. `sense=negativo` lists ' +
        'those that need somebody. A page looks at `limit` connections, so that it can be short while has_more is true.',
    ),
    query(PortfolioOpinionQuery),
    returns(200, pageOf(PortfolioOpinion)),
    async (c) => c.json(await listOpinions(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/obligations',
    operation(
      'listPortfolioObligations',
      TAG,
      'List the obligations of all RFCs that are due soon',
      'Returns the obligations of RFCs whose connection is active that are due within `days` and that no downloaded return files. A page looks ' +
        'at `limit` connections, so that it can be short, or have more items than that, and has_more says whether there are more connections.',
    ),
    query(PortfolioObligationQuery),
    returns(200, pageOf(PortfolioObligation)),
    async (c) => c.json(await listDueObligations(c.var.ctx, c.req.valid('query'))),
  )
