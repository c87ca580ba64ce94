import { Hono } from 'hono'
import * as z from 'zod'
import type { App } from '../platform/context.ts'
import { body, idempotent, operation, params, query, refuses, returns, roles } from '../platform/http/operation.ts'
import { Extractor, ExtractorChanges, ExtractorDraft, ExtractorPath } from './contract.ts'
import { changeExtractor, createExtractor, deleteExtractor, listExtractors } from './extractors.ts'

const TAG = 'Extractors'
const NOT_THERE = 'The extractor does not exist or belongs to another organization.'

export const extractorRoutes = new Hono<App>()
  .get(
    '/',
    operation('listExtractors', TAG, 'List the extractors, oldest first', 'A plain array, all of them: the plan limits their number.'),
    query(z.strictObject({})),
    returns(200, z.array(Extractor)),
    async (c) => c.json(await listExtractors(c.var.ctx)),
  )
  .post(
    '/',
    operation(
      'createExtractor',
      TAG,
      'Create an extractor',
      'Nothing is downloaded now; the next run is computed. Mandatory sources are added.',
    ),
    roles('owner', 'admin'),
    body(ExtractorDraft),
    returns(201, Extractor, 'The extractor'),
    refuses(409, 'The plan’s limit is reached; the detail says how many it allows and how many exist. Disabled ones count.'),
    idempotent(),
    async (c) => c.json(await createExtractor(c.var.ctx, c.req.valid('json')), 201),
  )
  .patch(
    '/:extractor_id',
    operation(
      'updateExtractor',
      TAG,
      'Change an extractor',
      'Only what is sent changes. Leaving the trigger `schedule` clears schedule_kind and schedule_spec, leaving the scope `last_n_months` clears scope_months. A new schedule or time zone counts from today.',
    ),
    params(ExtractorPath),
    roles('owner', 'admin'),
    body(ExtractorChanges),
    returns(200, Extractor),
    refuses(404, NOT_THERE),
    refuses(409, 'Others keep changing it at the same time.'),
    async (c) => c.json(await changeExtractor(c.var.ctx, c.req.valid('param').extractor_id, c.req.valid('json'))),
  )
  .delete(
    '/:extractor_id',
    operation('deleteExtractor', TAG, 'Delete an extractor', 'Frees its slot of the plan. What may be read stays as it is.'),
    params(ExtractorPath),
    roles('owner', 'admin'),
    returns(204, undefined, 'Deleted'),
    refuses(404, NOT_THERE),
    (c) => deleteExtractor(c.var.ctx, c.req.valid('param').extractor_id).then(() => c.body(null, 204)),
  )
