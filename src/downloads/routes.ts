import type { App } from '../platform/context.ts'
import { Hono } from '../platform/http/hono.ts'
import { operation, params, query, refuses, returns } from '../platform/http/operation.ts'
import { pageOf } from '../platform/http/shapes.ts'
import { FiscalEntityPath } from '../taxpayers/contract.ts'
import { SyncJob, SyncJobQuery } from './contract.ts'
import { listSyncJobs } from './progress.ts'

const NOT_FOUND = 'The organization has no connection to this fiscal entity.'

export const syncJobRoutes = new Hono<App>().get(
  '/:fiscal_entity_id/sync-jobs',
  operation(
    'listSyncJobs',
    'Downloads',
    'List the download jobs of an RFC',
    'The jobs that the organization’s last 60 runs for the RFC created or joined: those of the newest run first, then by source, the ' +
      'latest month first. A job in which nothing changed is forgotten after 14 days.',
  ),
  params(FiscalEntityPath),
  query(SyncJobQuery),
  returns(200, pageOf(SyncJob)),
  refuses(404, NOT_FOUND),
  async (c) => c.json(await listSyncJobs(c.var.ctx, c.req.valid('query'))),
)
