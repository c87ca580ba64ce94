import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { operation, query, refuses, returnsTable } from '../../platform/http/operation.ts'
import { NOT_READABLE } from '../../taxpayers/contract.ts'
import { CfdiPage, CfdiSearch } from './contract.ts'
import { searchCfdi } from './search.ts'

const SEARCH = `Returns the documents that your visibility windows show and those that you imported, in the order of sort: newest first by
default, by issued_at, then by uuid, both descending. Issued and received documents have a window each.

Indexes serve direction, estatus, tipo_comprobante, payment_status, the RFCs, uuid, issued_from and issued_to, alone and in most
combinations. For any other filter, and for q, documents are looked at one by one, at most 5,000 for a page. Only a page that ends there is
shorter than limit, or empty, while has_more is true; scanned_through then says how far it got. Continue with next_cursor until has_more is
false. A sort by total looks at no more than 5,000 documents in all, and refuses a search whose indexed filters leave more.

payment_status, paid_amount, credited_amount, balance, last_payment_at and fully_paid_at, and the filters on them, count the payment
complements and credit notes that count and were issued up to the ceiling of the invoice's direction. To follow what changes, use \`GET /v1/cfdi/changes\`.`

/** The search of CFDIs, under /v1/cfdi. */
export const searchRoutes = new Hono<App>().get(
  '/',
  operation('searchCfdi', 'CFDI', 'Search CFDIs', SEARCH),
  query(CfdiSearch),
  returnsTable(CfdiPage),
  refuses(404, NOT_READABLE),
  refuses(422, '`cfdi.too_many_to_sort`: the indexed filters leave more than 5,000 documents to sort by total.'),
  async (c) => c.json(await searchCfdi(c.var.ctx, c.req.valid('query'))),
)
