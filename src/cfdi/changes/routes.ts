import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { operation, query, refuses, returns } from '../../platform/http/operation.ts'
import { NOT_READABLE } from '../../taxpayers/contract.ts'
import { listChanges } from './changes.ts'
import { CfdiChanges, ChangesQuery } from './contract.ts'

const CHANGES = `Returns the CFDIs of a fiscal entity that your organization sees for the first time, that it sees changed, or that it
sees no more, since the cursor. Without a cursor that is everything, so that one loop mirrors from nothing: store what has a \`cfdi\` under its
uuid, delete what is \`removed\`, keep next_cursor with them, and ask again while has_more is true. What you then have equals
\`GET /v1/cfdi\`. A change can be reported more than once, and no change is left out. The changes include documents that another
organization fetched earlier, once your windows show them. They also include invoices whose balance changed because your windows now show a
payment. A change of a blacklist is not reported here.`

/** What changed of the CFDIs, under /v1/cfdi. */
export const changesRoutes = new Hono<App>().get(
  '/changes',
  operation('listCfdiChanges', 'CFDI', 'Follow changes of CFDIs', CHANGES),
  query(ChangesQuery),
  returns(200, CfdiChanges),
  refuses(404, NOT_READABLE),
  async (c) => c.json(await listChanges(c.var.ctx, c.req.valid('query'))),
)
