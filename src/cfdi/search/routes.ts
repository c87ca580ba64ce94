import { doc } from '#doc'
import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { operation, query, refuses, returnsTable } from '../../platform/http/operation.ts'
import { NOT_READABLE } from '../../taxpayers/contract.ts'
import { CfdiPage, CfdiSearch } from './contract.ts'
import { searchCfdi } from './search.ts'

const SEARCH = doc(`Returns the documents that your visibility windows show and those that you imported, newest first: by issued_at, then by
uuid, both descending. Issued and received documents have a window each.

Indexes serve direction, estatus, tipo_comprobante, payment_status, the RFCs, uuid, issued_from and issued_to, alone and in most
combinations. For any other filter, 250 documents are scanned for each page. **A page may then have fewer documents than limit, or none,
while has_more is true.** Continue with next_cursor until has_more is false. The same applies when you have imported files for the RFC, and
to payment_status when the service has documents that were issued after a ceiling of your windows.

payment_status, paid_amount, credited_amount, balance, last_payment_at and fully_paid_at, and the filters on them, count the payment
complements and credit notes that count and were issued up to the ceiling of the invoice's direction. To follow what changes, use \`GET /v1/cfdi/changes\`.`)

/** The search of CFDIs, under /v1/cfdi. */
export const searchRoutes = new Hono<App>().get(
  '/',
  operation('searchCfdi', 'CFDI', doc('Search CFDIs'), SEARCH),
  query(CfdiSearch),
  returnsTable(CfdiPage),
  refuses(404, NOT_READABLE),
  async (c) => c.json(await searchCfdi(c.var.ctx, c.req.valid('query'))),
)
