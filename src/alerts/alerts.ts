import { notFound } from '../failures.ts'
import { change } from '../platform/audit/audit.ts'
import type { Ctx } from '../platform/context.ts'
import { openCursor, paginate } from '../platform/paging/cursor.ts'
import type { Alert, AlertQuery } from './contract.ts'
import { type AlertRow, findAlert, listAlertRows, markRead } from './store.ts'

export { type AlertDraft, alertStatements } from './store.ts'

const view = ({ organization_id: _, dedupe_key: __, created_at, read_at, ...row }: AlertRow): Alert => ({
  ...row,
  created_at: created_at.toISOString(),
  read_at: read_at?.toISOString() ?? null,
})

/** Returns a page of the organization's alerts, newest first. */
export async function listAlerts(ctx: Ctx, query: AlertQuery) {
  const scope = { list: 'alerts', filters: query }
  const [after] = (await openCursor(ctx, scope, query.cursor)) ?? []
  const rows = await listAlertRows(ctx.db, ctx.organization.id, query, after === undefined ? undefined : String(after), query.limit + 1)
  return paginate(ctx, scope, query.limit, rows, (row) => [row.alert_id], view)
}

/** Marks an alert as read; an alert that is read already keeps its time. Throws Failure 404 alert.not_found. */
export async function readAlert(ctx: Ctx, alert_id: string): Promise<Alert> {
  const row = await findAlert(ctx.db, ctx.organization.id, alert_id)
  if (!row) throw notFound('alert')
  if (row.read_at) return view(row)
  await change(ctx, { action: 'alert.read', resource_id: alert_id, changed: ['read_at'] }, [
    markRead(ctx.db, ctx.organization.id, alert_id, ctx.now),
  ])
  return view({ ...row, read_at: ctx.now })
}
