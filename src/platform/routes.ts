import { listAlerts, readAlert, readAlerts } from './alerts/alerts.ts'
import { Alert, AlertFilters, AlertPath, AlertQuery, AlertsRead } from './alerts/contract.ts'
import { listAuditEvents } from './audit/audit.ts'
import { AuditEvent, AuditQuery } from './audit/contract.ts'
import type { App } from './context.ts'
import { Hono } from './http/hono.ts'
import { idempotent, operation, params, query, refuses, returns } from './http/operation.ts'
import { pageOf } from './http/shapes.ts'

export const auditRoutes = new Hono<App>().get(
  '/',
  operation(
    'listAuditEvents',
    'Audit',
    'List the changes that were made to resources, newest first',
    'Changes are kept for two years and then deleted. To keep them longer, read all pages of a time with `since`, `until` and `cursor`.',
  ),
  query(AuditQuery),
  returns(200, pageOf(AuditEvent)),
  async (c) => c.json(await listAuditEvents(c.var.ctx, c.req.valid('query'))),
)

const ALERTS = 'Alerts'

export const alertRoutes = new Hono<App>()
  .get(
    '/',
    operation('listAlerts', ALERTS, 'List the alerts, newest first or by weight'),
    query(AlertQuery),
    returns(200, pageOf(Alert)),
    async (c) => c.json(await listAlerts(c.var.ctx, c.req.valid('query'))),
  )
  .post(
    '/read',
    operation('readAlerts', ALERTS, 'Mark alerts as read', 'Marks every unread alert that passes the filters, or all of them without any.'),
    query(AlertFilters),
    returns(200, AlertsRead),
    idempotent(),
    async (c) => c.json(await readAlerts(c.var.ctx, c.req.valid('query'))),
  )
  .post(
    '/:alert_id/read',
    operation('readAlert', ALERTS, 'Mark an alert as read', 'An alert that is already read keeps its `read_at`.'),
    params(AlertPath),
    returns(200, Alert),
    refuses(404, 'The alert does not exist or belongs to another organization.'),
    idempotent(),
    async (c) => c.json(await readAlert(c.var.ctx, c.req.valid('param').alert_id)),
  )
