import * as z from 'zod'
import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { body, idempotent, operation, params, query, refuses, returns } from '../../platform/http/operation.ts'
import { pageOf } from '../../platform/http/shapes.ts'
import { FiscalEntityPath, NOT_READABLE } from '../../taxpayers/contract.ts'
import { Extractor, ExtractorChanges, ExtractorDraft, ExtractorPath, PreviewDraft } from './contract.ts'
import { changeExtractor, createExtractor, deleteExtractor, getExtractor, listExtractors } from './extractors.ts'
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
} from './runs/contract.ts'
import { runExtractor } from './runs/dispatch.ts'
import { cancelRun, extractRange, getRun, listEntityRuns, listRunJobs, listRuns } from './runs/history.ts'
import { previewExtractor } from './runs/preview.ts'

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
    returns(204, undefined, 'Deleted'),
    refuses(404, NOT_FOUND),
    (c) => deleteExtractor(c.var.ctx, c.req.valid('param').extractor_id).then(() => c.body(null, 204)),
  )

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
    query(RunQuery),
    returns(200, pageOf(Run)),
    refuses(404, NOT_FOUND),
    async (c) => c.json(await listRuns(c.var.ctx, c.req.valid('param').extractor_id, c.req.valid('query'))),
  )

const RUNS = 'Extractions'
const NO_RUN = 'The organization has no run with this identifier. Runs are kept for 30 days.'

/** Mounted at /v1/runs. */
export const oneRunRoutes = new Hono<App>()
  .post(
    '/:run_id/cancel',
    operation(
      'cancelRun',
      RUNS,
      'Cancel a run',
      'Withdraws the downloads of the run that have not begun and that no other run of yours and no other organization asked for; ' +
        'a run that you have cancelled wants nothing any more. Those that have been taken up go on. Windows stay as they are. The same request again withdraws what it can by then.',
    ),
    params(RunPath),
    returns(200, CancelledRun),
    refuses(404, NO_RUN),
    idempotent(),
    async (c) => c.json(await cancelRun(c.var.ctx, c.req.valid('param').run_id)),
  )
  .get(
    '/:run_id',
    operation(
      'getRun',
      RUNS,
      'Get a run with its downloads',
      'Counts the downloads that the run created, joined or found finished, of all RFCs that it covers, and says how it ended.',
    ),
    params(RunPath),
    returns(200, RunProgress),
    refuses(404, NO_RUN),
    async (c) => c.json(await getRun(c.var.ctx, c.req.valid('param').run_id)),
  )
  .get(
    '/:run_id/jobs',
    operation(
      'listRunJobs',
      RUNS,
      'List the downloads of a run',
      'Each download that the run created, joined or found finished, with its state and why it failed: by RFC, then by source, the latest month ' +
        'first. A download in which nothing changed is forgotten after 14 days; it then stands here as succeeded, with 0 attempts and without ' +
        'times. Attempts and times are counted from this run on.',
    ),
    params(RunPath),
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
      RUNS,
      'Download a range of one RFC now',
      'Downloads the months from `from` to `to` of one RFC at once, without an extractor: it joins downloads that are under way, and widens the ' +
        'visibility windows of the RFC like a run that reaches back to `from`. At most once every ten minutes for each RFC; a run that is ' +
        'cancelled whole before anything of it was tried does not count. It is no cadence: ' +
        'extractors download regularly. Follow it with `GET /v1/runs/{run_id}` or the events extraction.completed and extraction.failed.',
    ),
    params(FiscalEntityPath),
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
      RUNS,
      'List the runs that covered an RFC',
      'The last 60 runs that asked for downloads of this RFC, newest first, each with its downloads of this RFC alone.',
    ),
    params(FiscalEntityPath),
    query(RunQuery),
    returns(200, pageOf(RunProgress)),
    refuses(404, 'The organization has no connection to this fiscal entity.'),
    async (c) => c.json(await listEntityRuns(c.var.ctx, c.req.valid('query'))),
  )
