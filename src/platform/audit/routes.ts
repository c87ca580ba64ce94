import type { App } from '../context.ts'
import { Hono } from '../http/hono.ts'
import { operation, query, returns, roles } from '../http/operation.ts'
import { pageOf } from '../http/shapes.ts'
import { listAuditEvents } from './audit.ts'
import { AuditEvent, AuditQuery } from './contract.ts'

export const auditRoutes = new Hono<App>().get(
  '/',
  operation(
    'listAuditEvents',
    'Audit',
    'List the changes that were made to resources, newest first',
    'Changes are kept for two years and then deleted. To keep them longer, read all pages of a time with `since`, `until` and `cursor`.',
  ),
  roles('owner', 'admin'),
  query(AuditQuery),
  returns(200, pageOf(AuditEvent)),
  async (c) => c.json(await listAuditEvents(c.var.ctx, c.req.valid('query'))),
)
