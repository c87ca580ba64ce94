import { and, desc, eq, gte, lt, lte, type SQL, sql } from 'drizzle-orm'
import { type Ctx, eventsOf, type System } from '../context.ts'
import { commit, type Database, jsonChunks, type Statement } from '../db/commit.ts'
import { isGuardViolation } from '../db/guard.ts'
import { idsFrom, newId, suffixOf } from '../db/id.ts'
import { bare, changesOf } from '../db/statement.ts'
import { expiredAt, inFlight, refuseDone } from '../idempotency/idempotency.ts'
import { assertClaimed, CLAIMED, markKey } from '../idempotency/store.ts'
import { countHourly } from '../locks/hourly.ts'
import { listPage } from '../paging/cursor.ts'
import { leaveReceipt, UNUSED } from '../receipts/receipts.ts'
import type { Actor } from '../tenant/tenant.ts'
import { pageByPage } from '../work/pages.ts'
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

type Author = Pick<System, 'now' | 'requestId'> & { actor: Actor }

const nameOf = (actor: Actor): string => (actor.kind === 'credential' ? actor.api_key : `system:${actor.process}`)

/** The audit row of a change, for a commit that the caller makes itself. */
export const audited = (
  { db, now, requestId, actor }: Author & Pick<System, 'db'>,
  organization_id: string,
  { action, resource_id, changed = [] }: Change,
) =>
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

const COLUMNS = [
  ...[auditEvents.audit_event_id, auditEvents.organization_id, auditEvents.actor, auditEvents.action],
  ...[auditEvents.resource_id, auditEvents.changed, auditEvents.request_id, auditEvents.created_at],
].map(bare)

/** The audit rows of a change that concerns several organizations, for a commit that the caller makes itself. */
export const auditedEach = (
  { now, requestId, actor }: Author,
  rows: readonly { organization_id: string; resource_id: string }[],
  { action, changed = [] }: Pick<Change, 'action' | 'changed'>,
): SQL[] =>
  jsonChunks(rows.map(({ organization_id, resource_id }) => [newId('aud'), organization_id, resource_id])).map(
    (json) =>
      sql`insert into ${auditEvents} ${COLUMNS}
         select value->>0, value->>1, ${nameOf(actor)}, ${action}, value->>2, ${JSON.stringify(changed)}, ${requestId}, ${now.getTime()}
           from json_each(${json})`,
  )

/** The audit rows of a change that concerns each `organization_id, resource_id` that a query finds, for a commit that the caller makes itself. */
export const auditedFound = (
  { now, requestId, actor }: Author,
  { action, changed = [] }: Pick<Change, 'action' | 'changed'>,
  found: SQL,
): SQL =>
  sql`insert into ${auditEvents} ${COLUMNS}
      select substr(${newId('aud')}, 1, 24) || printf('%06d', row_number() over ()), organization_id, ${nameOf(actor)}, ${action},
        resource_id, ${JSON.stringify(changed)}, ${requestId}, ${now.getTime()}
      from (${found})`

/**
 * Commits a change of the control plane together with its audit row. Under an Idempotency-Key the same commit marks the key; Failure 409
 * when another request has claimed the key since, and 429 organization.hourly_limit. Every write for a customer goes through here or through
 * changeEvents.
 */
export function change(ctx: Ctx, what: Change, statements: readonly Statement[]): Promise<D1Result<Record<string, unknown>>[]> {
  const { db, claim } = ctx
  const marks = claim
    ? [assertClaimed(claim), markKey(db, claim, what.resource_id, what.begins || claim.isSeveral ? 'running' : 'done')]
    : []
  return commitMarked(ctx, db.$client, what, marks, statements).catch((error: unknown) => {
    throw claim && isGuardViolation(error, CLAIMED) ? inFlight() : error
  })
}

/**
 * Commits a change of the organization's events shard, where its audit row lies too. Under an Idempotency-Key the same commit leaves a
 * receipt; Failure 409 idempotency.done when another request with the key has left one since.
 */
export function changeEvents(ctx: Ctx, what: Change, statements: readonly Statement[]): Promise<D1Result<Record<string, unknown>>[]> {
  const { claim, now } = ctx
  const d1 = eventsOf(ctx).$client
  const marks = claim ? leaveReceipt(claim, what.resource_id, now, expiredAt(now)) : []
  // Kept with the answer.
  if (claim) claim.changed = what.resource_id
  return commitMarked(ctx, d1, what, marks, statements).catch(async (error: unknown) => {
    if (claim && isGuardViolation(error, UNUSED)) await refuseDone(ctx, claim)
    throw error
  })
}

/** The marks come first, so that a request that has lost its key is refused for that, and not for what the other request changed. */
async function commitMarked(ctx: Ctx, d1: D1Database, what: Change, marks: readonly Statement[], statements: readonly Statement[]) {
  // Under a key the request has been counted with it.
  if (ctx.actor.kind === 'credential' && !ctx.claim) await countHourly(ctx, 'changes')
  return (await commit(d1, [...marks, ...statements, audited(ctx, ctx.organization.id, what)])).slice(marks.length)
}

/** Audit events are deleted after this time. */
const KEPT_YEARS = 2
const PRUNE_BATCH = 1_000

/** Deletes audit events that are older than two years. Returns the cursor where another invocation continues, null at the end. */
export function pruneAudit(system: System, cursor: string): Promise<string | null> {
  const before = new Date(system.now)
  before.setUTCFullYear(before.getUTCFullYear() - KEPT_YEARS)
  const databases = [system.db.$client, ...system.settings.events]
  return pageByPage(system, databases.length, cursor, async () => {
    const deleted: number[] = []
    for (const d1 of databases) deleted.push(await deleteBefore(d1, before, PRUNE_BATCH))
    return Math.max(...deleted) < PRUNE_BATCH ? null : ''
  })
}

const { audit_event_id: id, created_at: at } = auditEvents

/** The identifiers, which sort by time, lead to the oldest. */
const deleteBefore = (d1: D1Database, before: Date, limit: number): Promise<number> =>
  changesOf(
    d1,
    sql`delete from ${auditEvents} where ${id} in (select ${id} from ${auditEvents}
        where ${id} < ${idsFrom('aud', before)} and ${at} < ${before.getTime()} order by ${id} limit ${limit})`,
  )

const view = ({ changed, created_at, organization_id: _, ...row }: typeof auditEvents.$inferSelect): AuditEvent => ({
  ...row,
  changed,
  created_at: created_at.toISOString(),
})

/** Returns the organization's audit events, newest first: those of the control plane and those of its events shard. */
export async function listAuditEvents(ctx: Ctx, query: AuditQuery) {
  const read = async (after: string | undefined, limit: number) => {
    const found = await Promise.all([ctx.db, eventsOf(ctx)].map((db) => rowsAfter(db, ctx.organization.id, query, after)))
    return found
      .flat()
      .sort((a, b) => (a.audit_event_id < b.audit_event_id ? 1 : -1))
      .slice(0, limit)
  }
  return listPage(ctx, 'audit_events', query, read, (row) => row.audit_event_id, view)
}

/** How far the time in an identifier may be from that of the change. */
const SLACK_MS = 2 * 86_400_000

/** An identifier some days beside an instant, so that the index leaves out distant rows. */
const idAt = (instant: string, side: 1 | -1): string =>
  `aud_${suffixOf(
    Math.max(Date.parse(instant) + side * SLACK_MS, 0)
      .toString(16)
      .padStart(12, '0')
      .padEnd(32, '0'),
  )}`

const rowsAfter = (
  db: Database,
  organization_id: string,
  { resource_id, action, actor, since, until, limit }: AuditQuery,
  after?: string,
) =>
  db
    .select()
    .from(auditEvents)
    .where(
      and(
        eq(auditEvents.organization_id, organization_id),
        after === undefined ? undefined : lt(auditEvents.audit_event_id, after),
        resource_id === undefined ? undefined : eq(auditEvents.resource_id, resource_id),
        action === undefined ? undefined : eq(auditEvents.action, action),
        actor === undefined ? undefined : eq(auditEvents.actor, actor),
        since === undefined
          ? undefined
          : and(gte(auditEvents.created_at, new Date(since)), gte(auditEvents.audit_event_id, idAt(since, -1))),
        until === undefined
          ? undefined
          : and(lte(auditEvents.created_at, new Date(until)), lte(auditEvents.audit_event_id, idAt(until, 1))),
      ),
    )
    .orderBy(desc(auditEvents.audit_event_id))
    .limit(limit + 1)
    .all()
