import { Hono } from 'hono'
import type { App } from '../../platform/context.ts'
import { operation, query, refuses, returns } from '../../platform/http/operation.ts'
import { NOT_READABLE } from '../../taxpayers/contract.ts'
import { CfdiPage } from '../contract.ts'
import { CfdiSearch } from './contract.ts'
import { searchCfdi } from './search.ts'

const SEARCH = `Newest first: by issued_at, then uuid, both descending. Only what your visibility window shows, and what you imported yourself.

direction, estatus, tipo_comprobante, payment_status, the RFCs, uuid and issued_from/issued_to are served by an index, alone and in most
combinations. Any other filter is looked for among 250 documents a page: **a page may then hold fewer documents than limit, even none, while
has_more is true.** Go on with next_cursor until has_more is false. The same holds once you have imported files for the RFC, and with
payment_status while something is held that was issued after your window's ceiling.

payment_status, paid_amount, credited_amount, balance, last_payment_at and fully_paid_at, and the filters on them, count the payment
complements and credit notes that were issued up to your window's ceiling. updated_at counts whatever was stored, by any download.`

/** The search, for /v1/cfdi. */
export const searchRoutes = new Hono<App>().get(
  '/',
  operation('searchCfdi', 'CFDI', 'Search CFDIs', SEARCH),
  query(CfdiSearch),
  returns(200, CfdiPage),
  refuses(404, NOT_READABLE),
  async (c) => c.json(await searchCfdi(c.var.ctx, c.req.valid('query'))),
)
