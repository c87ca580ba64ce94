import type { App } from '../platform/context.ts'
import { Hono } from '../platform/http/hono.ts'
import { operation, params, query, refuses, returns } from '../platform/http/operation.ts'
import { pageOf } from '../platform/http/shapes.ts'
import { FiscalEntityPath, NOT_READABLE } from '../taxpayers/contract.ts'
import { CoverageMonth, CoveragePath, CoverageQuery, MissingXmlDocument, MissingXmlQuery } from './completeness/contract.ts'
import { listCoverage, listMissingXml } from './completeness/coverage.ts'
import { SyncJob, SyncJobQuery } from './contract.ts'
import { listSyncJobs } from './progress.ts'

const NOT_FOUND = 'The organization has no connection to this fiscal entity.'

const COVERAGE = `Returns a row for each month and source of CFDIs that your visibility window shows, the latest month first. A month that
the window divides counts what it shows. Counts are of what the service has taken in: while a month is requested, the tax authority may have
more. A row contains nothing that is older than your run that asked for the job.`

const MISSING_XML = `Lists the documents of a month that the tax authority announces, that your visibility window shows, and that are not held
whole, each with the reason. They are sorted by issued_at. Documents whose metadata could not be stored come first.`

export const downloadRoutes = new Hono<App>()
  .get(
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
  .get(
    '/:fiscal_entity_id/coverage',
    operation('listCoverage', 'Downloads', 'List what is held and what is missing of each month', COVERAGE),
    params(FiscalEntityPath),
    query(CoverageQuery),
    returns(200, pageOf(CoverageMonth)),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await listCoverage(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/:fiscal_entity_id/coverage/:source/:month',
    operation('listLackingDocuments', 'Downloads', 'List the documents of a month that are not held whole', MISSING_XML),
    params(CoveragePath),
    query(MissingXmlQuery),
    returns(200, pageOf(MissingXmlDocument)),
    refuses(404, 'The organization has no active connection to the fiscal entity, or its window does not show the month.'),
    async (c) => c.json(await listMissingXml(c.var.ctx, c.req.valid('param'), c.req.valid('query'))),
  )
