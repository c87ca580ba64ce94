import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { operation, query, refuses, returns } from '../../platform/http/operation.ts'
import { NOT_READABLE } from '../../taxpayers/contract.ts'
import { listChanges } from './changes.ts'
import { CfdiChanges, ChangesQuery } from './contract.ts'

const CHANGES = `Returns the CFDIs of a fiscal entity that your organization sees for the first time, that it sees changed, or that it
sees no more, since the cursor. Without a cursor that is everything, so that one loop mirrors from nothing: store what has a \`cfdi\` under its
uuid, delete what is \`removed\`, keep next_cursor with them, and ask again while has_more is true. What you then have equals
\`GET /v1/cfdi\`. A change may be told again; none is left out: also what another organization fetched before, when your windows begin to show
it, and invoices whose balance moved because of a payment that they begin to show. Whether a counterparty is on a blacklist can change without
being told here.`

/** What changed of the CFDIs, under /v1/cfdi. */
export const changesRoutes = new Hono<App>().get(
  '/changes',
  operation('listCfdiChanges', 'CFDI', 'Follow changes of CFDIs', CHANGES),
  query(ChangesQuery),
  returns(200, CfdiChanges),
  refuses(404, NOT_READABLE),
  async (c) => c.json(await listChanges(c.var.ctx, c.req.valid('query'))),
)
