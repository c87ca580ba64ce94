import { doc } from '#doc'
import type { App } from '../platform/context.ts'
import { Hono } from '../platform/http/hono.ts'
import { operation, params, query, refuses, returns, returnsFile } from '../platform/http/operation.ts'
import { pageOf } from '../platform/http/shapes.ts'
import { FiscalEntityPath, NOT_READABLE } from '../taxpayers/contract.ts'
import { Document, DocumentPath, DocumentQuery } from './contract.ts'
import { listOfDocuments, readDocument } from './documents.ts'

export const documentRoutes = new Hono<App>()
  .get(
    '/:fiscal_entity_id/documents',
    operation(
      'listDocuments',
      'Documents',
      doc('List tax documents, newest first'),
      doc(
        'Tax documents other than CFDIs: the tax status certificate (CSF), the compliance opinion (32-D), returns and others. You can ' +
          'read a document when one of your own runs downloaded it and its date, or the end of its period, is not before the earlier ' +
          'floor of your windows.',
      ),
    ),
    params(FiscalEntityPath),
    query(DocumentQuery),
    returns(200, pageOf(Document)),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await listOfDocuments(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/:fiscal_entity_id/documents/:document_id/content',
    operation(
      'readDocument',
      'Documents',
      doc('Download a document'),
      doc('Returns the file byte for byte as the tax authority delivered it.'),
    ),
    params(DocumentPath),
    returnsFile(doc('The document'), 'application/pdf', 'application/json', 'application/octet-stream'),
    refuses(404, doc('There is no active connection to the fiscal entity, or no such document that you can read.')),
    async (c) => {
      const { document, content } = await readDocument(c.var.ctx, c.req.valid('param').document_id)
      return c.body(content, 200, {
        'Content-Type': document.content_type,
        'Content-Length': String(document.size),
        'Content-Disposition': `attachment; filename="${document.name.replace(/[^\w.-]/g, '_')}"`,
      })
    },
  )
