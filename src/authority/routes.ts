import * as z from 'zod'
import type { App } from '../platform/context.ts'
import { Hono } from '../platform/http/hono.ts'
import { operation, query, returns } from '../platform/http/operation.ts'
import { pageOf } from '../platform/http/shapes.ts'
import { DataSource } from './contract.ts'
import { listDataSources } from './sources.ts'

export const sourceRoutes = new Hono<App>().get(
  '/data-sources',
  operation(
    'listDataSources',
    'Data sources',
    'List the data sources',
    'Returns the whole catalog in one page. When you offer a choice of sources, filter by `is_mandatory` rather than by key.',
  ),
  query(z.strictObject({})),
  returns(200, pageOf(DataSource)),
  (c) => c.json(listDataSources(c.var.ctx)),
)
