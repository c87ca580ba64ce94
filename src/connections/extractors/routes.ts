import * as z from 'zod'
import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { body, idempotent, operation, params, query, refuses, returns, roles } from '../../platform/http/operation.ts'
import { Extractor, ExtractorChanges, ExtractorDraft, ExtractorPath } from './contract.ts'
import { changeExtractor, createExtractor, deleteExtractor, getExtractor, listExtractors } from './extractors.ts'

const TAG = 'Extractors'
const NOT_FOUND = 'The organization has no extractor with this identifier.'

export const extractorRoutes = new Hono<App>()
  .get(
    '/',
    operation('listExtractors', TAG, 'List extractors', 'Returns all extractors as an array, oldest first. The plan limits their number.'),
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
      'Nothing is downloaded yet: `next_run_at` is the time of the first scheduled run. Mandatory data sources are added. Without extractors you ' +
        'read everything that the service has of your RFCs; with the first one you read what your windows say, and documents outside them are ' +
        'not shown any more. The scope `full_history` keeps them.',
    ),
    roles('owner', 'admin'),
    body(ExtractorDraft),
    returns(201, Extractor, 'The extractor'),
    refuses(409, 'The organization has as many extractors as its plan allows, disabled ones included. The detail states both numbers.'),
    idempotent(),
    async (c) => c.json(await createExtractor(c.var.ctx, c.req.valid('json')), 201),
  )
  .get(
    '/:extractor_id',
    operation('getExtractor', TAG, 'Get an extractor'),
    params(ExtractorPath),
    roles('owner', 'admin'),
    returns(200, Extractor),
    refuses(404, NOT_FOUND),
    async (c) => c.json(await getExtractor(c.var.ctx, c.req.valid('param').extractor_id)),
  )
  .patch(
    '/:extractor_id',
    operation(
      'updateExtractor',
      TAG,
      'Update an extractor',
      'Changes only the members of the body. Changing the trigger from `schedule` clears schedule_kind and schedule_spec; changing the ' +
        'scope from `last_n_months` clears scope_months. A new schedule or time zone counts from today, so the extractor runs tomorrow ' +
        'at the earliest, and only for dates after the last one for which it ran. A date that was due and has not run yet runs within ' +
        'minutes.',
    ),
    params(ExtractorPath),
    roles('owner', 'admin'),
    body(ExtractorChanges),
    returns(200, Extractor),
    refuses(404, NOT_FOUND),
    refuses(409, 'Other requests keep changing the extractor at the same time. Try again.'),
    async (c) => c.json(await changeExtractor(c.var.ctx, c.req.valid('param').extractor_id, c.req.valid('json'))),
  )
  .delete(
    '/:extractor_id',
    operation(
      'deleteExtractor',
      TAG,
      'Delete an extractor',
      'It no longer counts towards the plan’s limit. The visibility windows stay as they are.',
    ),
    params(ExtractorPath),
    roles('owner', 'admin'),
    returns(204, undefined, 'Deleted'),
    refuses(404, NOT_FOUND),
    (c) => deleteExtractor(c.var.ctx, c.req.valid('param').extractor_id).then(() => c.body(null, 204)),
  )
