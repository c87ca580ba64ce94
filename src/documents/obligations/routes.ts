import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { operation, params, refuses, returnsTable } from '../../platform/http/operation.ts'
import { FiscalEntityPath, NOT_READABLE } from '../../taxpayers/contract.ts'
import { Obligations } from './contract.ts'
import { listObligations } from './obligations.ts'

/** The tax obligations of an RFC, mounted at /v1/fiscal-entities. */
export const obligationRoutes = new Hono<App>().get(
  '/:fiscal_entity_id/obligations',
  operation(
    'listObligations',
    'Documents',
    'List the tax obligations of an RFC by period',
    'Returns each registered obligation for its last twelve months that are over, or its last three years, and for the current ' +
      'period: when it is due, and whether a return that you can read shows that it was filed. The rows are in the order of their due dates.',
  ),
  params(FiscalEntityPath),
  returnsTable(Obligations),
  refuses(404, NOT_READABLE),
  async (c) => c.json(await listObligations(c.var.ctx)),
)
