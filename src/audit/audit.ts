import { and, desc, eq, lt } from 'drizzle-orm'
import { commit, type Statement } from '../db/commit.ts'
import { openCursor, pageOf } from '../db/cursor.ts'
import { newId } from '../db/id.ts'
import type { Actor, Ctx, System } from '../env.ts'
import type { AuditEvent, AuditQuery } from './contract.ts'
import { auditEvents } from './tables.ts'

/** Who did what to which resource. `changed` names members, never values: an audit row holds no secret. */
export interface Change {
  action: string
  resource_id: string
  changed?: readonly string[]
}

type Author = Pick<System, 'db' | 'now' | 'requestId'> & { actor: Actor }

const nameOf = (actor: Actor): string => (actor.kind === 'credential' ? actor.api_key : `system:${actor.process}`)

/** The audit row of a change to something of an organization's, for a commit that carries several. */
export const audited = ({ db, now, requestId, actor }: Author, organization_id: string, { action, resource_id, changed = [] }: Change) =>
  db.insert(auditEvents).values({
    audit_event_id: newId('aud'),
    organization_id,
    actor: nameOf(actor),
    action,
    resource_id,
    changed: [...changed],
    request_id: requestId,
    created_at: now,
  })

/** Commits a change of the control plane together with its audit row: the one way to write for a customer. */
export const change = (ctx: Ctx, what: Change, statements: readonly Statement[]) =>
  commit(ctx.db.$client, [...statements, audited(ctx, ctx.organization.id, what)])

const view = ({ changed, created_at, organization_id: _, ...row }: typeof auditEvents.$inferSelect): AuditEvent => ({
  ...row,
  changed,
  created_at: created_at.toISOString(),
})

/** The organization's audit events, newest first. */
export async function listAuditEvents(ctx: Ctx, query: AuditQuery) {
  const scope = { list: 'audit_events', filters: query }
  const [after] = (await openCursor(ctx, scope, query.cursor)) ?? []
  const rows = await ctx.db
    .select()
    .from(auditEvents)
    .where(
      and(
        eq(auditEvents.organization_id, ctx.organization.id),
        after === undefined ? undefined : lt(auditEvents.audit_event_id, String(after)),
        query.resource_id === undefined ? undefined : eq(auditEvents.resource_id, query.resource_id),
        query.action === undefined ? undefined : eq(auditEvents.action, query.action),
      ),
    )
    .orderBy(desc(auditEvents.audit_event_id))
    .limit(query.limit + 1)
  return pageOf(ctx, scope, query.limit, rows, (row) => [row.audit_event_id], view)
}
