import type { App } from '../../../platform/context.ts'
import { Hono } from '../../../platform/http/hono.ts'
import { body, idempotent, operation, params, query, refuses, returns, roles } from '../../../platform/http/operation.ts'
import { pageOf } from '../../../platform/http/shapes.ts'
import { FiscalEntityPath, NOT_READABLE } from '../../../taxpayers/contract.ts'
import { ExtractorPath, PreviewDraft } from '../contract.ts'
import {
  CancelledRun,
  ExtractionDraft,
  ExtractorPreview,
  ExtractorRun,
  Run,
  RunJob,
  RunJobQuery,
  RunPath,
  RunProgress,
  RunQuery,
} from './contract.ts'
import { runExtractor } from './dispatch.ts'
import { cancelRun, extractRange, getRun, listEntityRuns, listRunJobs, listRuns } from './history.ts'
import { previewExtractor } from './preview.ts'

const TAG = 'Extractors'
const NOT_FOUND = 'The organization has no extractor with this identifier.'

/** Mounted at /v1/extractors. */
export const runRoutes = new Hono<App>()
  .post(
    '/preview',
    operation(
      'previewExtractor',
      TAG,
      'Preview what an extractor would fetch',
      'Send what you would send to `POST /v1/extractors`, with `extractor_id` when you would change one. Nothing is saved and nothing is downloaded. The answer says when it would run, which ' +
        'months of each data source its first run would cover for the RFCs that are active now, how many of these you can read already, and the ' +
        'visibility windows afterwards. The limit of extractors is not checked.',
    ),
    roles('owner', 'admin'),
    body(PreviewDraft),
    returns(200, ExtractorPreview),
    refuses(404, NOT_FOUND),
    async (c) => c.json(await previewExtractor(c.var.ctx, c.req.valid('json'))),
  )
  .post(
    '/:extractor_id/run',
    operation(
      'runExtractor',
      TAG,
      'Run an extractor now',
      'Runs for all active RFCs, at most once every ten minutes, and does not affect the schedule. What your organization began to download ' +
        'less than ten minutes ago, with any extractor, is not downloaded again: the run joins it, and `dispatched` does not count it. ' +
        'Without an active RFC the status is `no_connections`, and the extractor can run again at once.',
    ),
    params(ExtractorPath),
    roles('owner', 'admin'),
    returns(200, ExtractorRun),
    refuses(404, NOT_FOUND),
    refuses(409, 'The extractor is disabled.'),
    refuses(429, 'The extractor ran less than ten minutes ago. Retry-After and retry_after_seconds state when to try again.'),
    idempotent(),
    async (c) => c.json(await runExtractor(c.var.ctx, c.req.valid('param').extractor_id)),
  )
  .get(
    '/:extractor_id/runs',
    operation(
      'listRuns',
      TAG,
      'List the runs of an extractor',
      'Newest first: one for each local date on which the extractor was due, and those that a request or a newly active RFC started. ' +
        'Runs are kept for 30 days.',
    ),
    params(ExtractorPath),
    roles('owner', 'admin'),
    query(RunQuery),
    returns(200, pageOf(Run)),
    refuses(404, NOT_FOUND),
    async (c) => c.json(await listRuns(c.var.ctx, c.req.valid('param').extractor_id, c.req.valid('query'))),
  )

const NO_RUN = 'The organization has no run with this identifier. Runs are kept for 30 days.'

/** Mounted at /v1/runs. */
export const oneRunRoutes = new Hono<App>()
  .post(
    '/:run_id/cancel',
    operation(
      'cancelRun',
      TAG,
      'Cancel a run',
      'Withdraws the downloads of the run that have not begun and that no other run of yours and no other organization asked for; ' +
        'a run that you have cancelled wants nothing any more. Those that have been taken up go on. Windows stay as they are. The same request again withdraws what it can by then.',
    ),
    params(RunPath),
    roles('owner', 'admin'),
    returns(200, CancelledRun),
    refuses(404, NO_RUN),
    idempotent(),
    async (c) => c.json(await cancelRun(c.var.ctx, c.req.valid('param').run_id)),
  )
  .get(
    '/:run_id',
    operation(
      'getRun',
      TAG,
      'Get a run with its downloads',
      'Counts the downloads that the run created, joined or found finished, of all RFCs that it covers, and says how it ended.',
    ),
    params(RunPath),
    roles('owner', 'admin'),
    returns(200, RunProgress),
    refuses(404, NO_RUN),
    async (c) => c.json(await getRun(c.var.ctx, c.req.valid('param').run_id)),
  )
  .get(
    '/:run_id/jobs',
    operation(
      'listRunJobs',
      TAG,
      'List the downloads of a run',
      'Each download that the run created, joined or found finished, with its state and why it failed: by RFC, then by source, the latest month ' +
        'first. A download in which nothing changed is forgotten after 14 days; it then stands here as succeeded, with 0 attempts and without ' +
        'times. Attempts and times are counted from this run on.',
    ),
    params(RunPath),
    roles('owner', 'admin'),
    query(RunJobQuery),
    returns(200, pageOf(RunJob)),
    refuses(404, NO_RUN),
    async (c) => c.json(await listRunJobs(c.var.ctx, c.req.valid('param').run_id, c.req.valid('query'))),
  )

/** Mounted at /v1/fiscal-entities. */
export const entityRunRoutes = new Hono<App>()
  .post(
    '/:fiscal_entity_id/extractions',
    operation(
      'createExtraction',
      TAG,
      'Download a range of one RFC now',
      'Downloads the months from `from` to `to` of one RFC at once, without an extractor: it joins downloads that are under way, and widens the ' +
        'visibility windows of the RFC like a run that reaches back to `from`. At most once every ten minutes for each RFC; a run that is ' +
        'cancelled whole before anything of it was tried does not count. It is no cadence: ' +
        'extractors download regularly. Follow it with `GET /v1/runs/{run_id}` or the events extraction.completed and extraction.failed.',
    ),
    params(FiscalEntityPath),
    roles('owner', 'admin'),
    body(ExtractionDraft),
    returns(202, RunProgress),
    refuses(404, NOT_READABLE),
    refuses(
      429,
      'A range of the RFC was asked for less than ten minutes ago. Retry-After and retry_after_seconds state when to try again.',
    ),
    idempotent(),
    async (c) => c.json(await extractRange(c.var.ctx, c.req.valid('json')), 202),
  )
  .get(
    '/:fiscal_entity_id/runs',
    operation(
      'listEntityRuns',
      TAG,
      'List the runs that covered an RFC',
      'The last 60 runs that asked for downloads of this RFC, newest first, each with its downloads of this RFC alone.',
    ),
    params(FiscalEntityPath),
    roles('owner', 'admin'),
    query(RunQuery),
    returns(200, pageOf(RunProgress)),
    refuses(404, 'The organization has no connection to this fiscal entity.'),
    async (c) => c.json(await listEntityRuns(c.var.ctx, c.req.valid('query'))),
  )
