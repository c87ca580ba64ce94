import * as z from 'zod'
import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { operation, params, query, refuses, returns } from '../../platform/http/operation.ts'
import { ofFiscalEntity, requireFiscalEntity } from '../../taxpayers/contract.ts'
import { CfdiUuid } from '../contract.ts'
import { CfdiHistory, CfdiRelations, RelationsQuery } from './contract.ts'
import { getHistory, listRelations } from './history.ts'

const ByUuid = z.strictObject({ uuid: CfdiUuid })
const OfEntity = z.strictObject(ofFiscalEntity).superRefine(requireFiscalEntity)

const NOT_VISIBLE = 'There is no active connection to the fiscal entity, or your visibility windows show no such CFDI.'

const RELATIONS = `Lists first the documents that the CFDI names, then those that name it, each by relation and uuid. A document that
the CFDI names is listed even if your windows do not show it, then without its contents. A document that names the CFDI is listed only if your
windows show it.`

const HISTORY = `Returns what happened to the CFDI and since when you could know of it. It does not say when another organization
downloaded the CFDI before your own run reached it. The service knows when a document was stored for 90 days, and only while nothing else has
happened to the document.`

/** What a CFDI has to do with others, and what happened to it, under /v1/cfdi. */
export const relatedRoutes = new Hono<App>()
  .get(
    '/:uuid/relations',
    operation('listCfdiRelations', 'CFDI', 'List the documents that a CFDI names, and those that name it', RELATIONS),
    params(ByUuid),
    query(RelationsQuery),
    returns(200, CfdiRelations),
    refuses(404, NOT_VISIBLE),
    async (c) => c.json(await listRelations(c.var.ctx, c.req.valid('param').uuid, c.req.valid('query'))),
  )
  .get(
    '/:uuid/history',
    operation('getCfdiHistory', 'CFDI', 'Get the history of a CFDI', HISTORY),
    params(ByUuid),
    query(OfEntity),
    returns(200, CfdiHistory),
    refuses(404, NOT_VISIBLE),
    async (c) => c.json(await getHistory(c.var.ctx, c.req.valid('param').uuid)),
  )
