import { and, desc, eq, lt } from 'drizzle-orm'
import type { Ctx, System } from '../context.ts'
import { commit, jsonChunks, type Statement } from '../db/commit.ts'
import { isGuardViolation } from '../db/guard.ts'
import { newId } from '../db/id.ts'
import { inFlight } from '../idempotency/idempotency.ts'
import { assertClaimed, CLAIMED, markKey } from '../idempotency/store.ts'
import { openCursor, paginate } from '../paging/cursor.ts'
import type { Actor } from '../tenant.ts'
import type { AuditEvent, AuditQuery } from './contract.ts'
import { auditEvents } from './tables.ts'

/** A change as the audit log records it. `changed` names members, never their values, so that an audit row contains no secret. */
export interface Change {
  action: string
  resource_id: string
  changed?: readonly string[]
  /** The change spans other databases too: this commit begins it, and a repetition of the request continues it. */
  begins?: true
}

type Author = Pick<System, 'db' | 'now' | 'requestId'> & { actor: Actor }

const nameOf = (actor: Actor): string => (actor.kind === 'credential' ? actor.api_key : `system:${actor.process}`)

/** The audit row of a change, for a commit that the caller makes itself. */
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

/** The audit rows of a change that concerns several organizations, for a commit that the caller makes itself. */
export const auditedEach = (
  { db, now, requestId, actor }: Author,
  rows: readonly { organization_id: string; resource_id: string }[],
  { action, changed = [] }: Pick<Change, 'action' | 'changed'>,
): D1PreparedStatement[] =>
  jsonChunks(rows.map(({ organization_id, resource_id }) => [newId('aud'), organization_id, resource_id])).map((json) =>
    db.$client
      .prepare(
        `insert into audit_events (audit_event_id, organization_id, actor, action, resource_id, changed, request_id, created_at)
         select value->>0, value->>1, ?2, ?3, value->>2, ?4, ?5, ?6 from json_each(?1)`,
      )
      .bind(json, nameOf(actor), action, JSON.stringify(changed), requestId, now.getTime()),
  )

/**
 * Commits a change of the control plane together with its audit row. Every write for a customer goes through here. Under an
 * Idempotency-Key the same commit marks the key; Failure 409 when another request has claimed the key since.
 */
export async function change(ctx: Ctx, what: Change, statements: readonly Statement[]): Promise<D1Result<Record<string, unknown>>[]> {
  const { db, organization, claim } = ctx
  // They come first, so that a request that has lost its claim is refused for that, and not for what the other request changed.
  const marks = claim ? [assertClaimed(db, claim), markKey(db, claim, what.resource_id, what.begins ? 'running' : 'done')] : []
  try {
    return (await commit(db.$client, [...marks, ...statements, audited(ctx, organization.id, what)])).slice(marks.length)
  } catch (error) {
    throw claim && isGuardViolation(error, CLAIMED) ? inFlight() : error
  }
}

const view = ({ changed, created_at, organization_id: _, ...row }: typeof auditEvents.$inferSelect): AuditEvent => ({
  ...row,
  changed,
  created_at: created_at.toISOString(),
})

/** Returns the organization's audit events, newest first. */
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
  return paginate(ctx, scope, query.limit, rows, (row) => [row.audit_event_id], view)
}
