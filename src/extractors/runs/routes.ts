import { doc } from '#doc'
import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { body, idempotent, operation, params, query, refuses, returns, roles } from '../../platform/http/operation.ts'
import { pageOf } from '../../platform/http/shapes.ts'
import { ExtractorDraft, ExtractorPath } from '../contract.ts'
import { ExtractorRun, Run, RunQuery } from './contract.ts'
import { listRuns } from './history.ts'
import { previewExtractor } from './preview.ts'
import { ExtractorPreview } from './preview-contract.ts'
import { runExtractor } from './run-now.ts'

const TAG = 'Extractors'
const NOT_FOUND = doc('The organization has no extractor with this identifier.')

/** Mounted at /v1/extractors. */
export const runRoutes = new Hono<App>()
  .post(
    '/preview',
    operation(
      'previewExtractor',
      TAG,
      doc('Preview what an extractor would fetch'),
      doc(
        'Send what you would send to `POST /v1/extractors`. Nothing is saved and nothing is downloaded. The answer says when it would run, which ' +
          'months of each data source its first run would cover for the RFCs that are active now, how many of these you can read already, and the ' +
          'visibility windows afterwards. The limit of extractors is not checked.',
      ),
    ),
    roles('owner', 'admin'),
    body(ExtractorDraft),
    returns(200, ExtractorPreview),
    async (c) => c.json(await previewExtractor(c.var.ctx, c.req.valid('json'))),
  )
  .post(
    '/:extractor_id/run',
    operation(
      'runExtractor',
      TAG,
      doc('Run an extractor now'),
      doc(
        'Runs for all active RFCs, at most once every ten minutes, and does not affect the schedule. Without an active RFC the status is ' +
          '`no_connections`, and the extractor can run again at once.',
      ),
    ),
    params(ExtractorPath),
    roles('owner', 'admin'),
    returns(200, ExtractorRun),
    refuses(404, NOT_FOUND),
    refuses(409, doc('The extractor is disabled.')),
    refuses(429, doc('The extractor ran less than ten minutes ago. Retry-After and retry_after_seconds state when to try again.')),
    idempotent(),
    async (c) => c.json(await runExtractor(c.var.ctx, c.req.valid('param').extractor_id)),
  )
  .get(
    '/:extractor_id/runs',
    operation(
      'listRuns',
      TAG,
      doc('List the runs of an extractor'),
      doc(
        'Newest first: one for each local date on which the extractor was due, and those that a request or a newly active RFC started. ' +
          'Runs are kept for 30 days.',
      ),
    ),
    params(ExtractorPath),
    query(RunQuery),
    returns(200, pageOf(Run)),
    refuses(404, NOT_FOUND),
    async (c) => c.json(await listRuns(c.var.ctx, c.req.valid('param').extractor_id, c.req.valid('query'))),
  )
