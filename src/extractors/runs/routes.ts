import { Hono } from 'hono'
import type { App } from '../../platform/context.ts'
import { idempotent, operation, params, query, refuses, returns, roles } from '../../platform/http/operation.ts'
import { pageOf } from '../../platform/http/shapes.ts'
import { ExtractorPath } from '../contract.ts'
import { ExtractorRun, Run, RunQuery } from './contract.ts'
import { listRuns } from './history.ts'
import { runExtractor } from './run-now.ts'

const TAG = 'Extractors'
const NOT_THERE = 'The extractor does not exist or belongs to another organization.'

/** For /v1/extractors. */
export const runRoutes = new Hono<App>()
  .post(
    '/:extractor_id/run',
    operation(
      'runExtractor',
      TAG,
      'Run an extractor now',
      'For all active RFCs, at most once in ten minutes; its schedule stays. Without an active RFC the status is `no_connections` and no pause starts.',
    ),
    params(ExtractorPath),
    roles('owner', 'admin'),
    returns(200, ExtractorRun),
    refuses(404, NOT_THERE),
    refuses(409, 'The extractor is disabled.'),
    refuses(429, 'It ran less than ten minutes ago. Retry-After and retry_after_seconds say when to try again.'),
    idempotent(),
    async (c) => c.json(await runExtractor(c.var.ctx, c.req.valid('param').extractor_id)),
  )
  .get(
    '/:extractor_id/runs',
    operation(
      'listRuns',
      TAG,
      'List the runs of an extractor, newest first',
      'One for each local date that it was due on, and those by hand or by an RFC. Kept for 90 days.',
    ),
    params(ExtractorPath),
    query(RunQuery),
    returns(200, pageOf(Run)),
    refuses(404, NOT_THERE),
    async (c) => c.json(await listRuns(c.var.ctx, c.req.valid('param').extractor_id, c.req.valid('query'))),
  )
