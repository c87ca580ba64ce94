import { and, eq, lte, ne, or } from 'drizzle-orm'
import type { Database } from '../platform/db/commit.ts'
import { type Fragment, prepared, sql } from '../platform/db/fragment.ts'
import { ciecAttempts, connections, fiscalEntities } from './tables.ts'

export type AttemptRow = typeof ciecAttempts.$inferSelect

/** At most so many attempts in so many milliseconds. */
export interface AttemptLimit {
  attempts: number
  milliseconds: number
}

const countSince = (condition: Fragment, now: Date, { milliseconds }: AttemptLimit): Fragment =>
  sql`(select count(*) from ciec_attempts where ${condition} and attempted_at > ${now.getTime() - milliseconds})`

/** Inserts an attempt, unless a limit is reached. Returns whether it was inserted. */
export const insertAttempt = async (
  db: Database,
  { attempt_id, organization_id, rfc, is_stranger, attempted_at }: AttemptRow,
  limits: { ofOrganization: AttemptLimit; ofStrangers: AttemptLimit },
): Promise<boolean> => {
  const own = countSince(sql`rfc = ${rfc} and organization_id = ${organization_id}`, attempted_at, limits.ofOrganization)
  const strangers = countSince(sql`rfc = ${rfc} and is_stranger = 1`, attempted_at, limits.ofStrangers)
  const { meta } = await prepared(
    db.$client,
    sql`insert into ciec_attempts (attempt_id, organization_id, rfc, is_stranger, is_refused, attempted_at)
      select ${attempt_id}, ${organization_id}, ${rfc}, ${Number(is_stranger)}, 0, ${attempted_at.getTime()}
      where ${own} < ${limits.ofOrganization.attempts}
        and (${Number(is_stranger)} = 0 or ${strangers} < ${limits.ofStrangers.attempts})`,
  ).run()
  return meta.changes > 0
}

/** The attempts that count against one by this organization, in no order. */
export const attemptsAgainst = (
  db: Database,
  { organization_id, rfc, is_stranger }: Pick<AttemptRow, 'organization_id' | 'rfc' | 'is_stranger'>,
) =>
  db
    .select()
    .from(ciecAttempts)
    .where(
      and(
        eq(ciecAttempts.rfc, rfc),
        or(eq(ciecAttempts.organization_id, organization_id), is_stranger ? eq(ciecAttempts.is_stranger, true) : undefined),
      ),
    )

export const deleteAttempt = (db: Database, attempt_id: string) => db.delete(ciecAttempts).where(eq(ciecAttempts.attempt_id, attempt_id))

export const markRefused = (db: Database, attempt_id: string) =>
  db.update(ciecAttempts).set({ is_refused: true }).where(eq(ciecAttempts.attempt_id, attempt_id))

export const deleteAttempts = (db: Database, until: Date) => db.delete(ciecAttempts).where(lte(ciecAttempts.attempted_at, until))

/** The condition on an alert's draft that so many CIECs of other organizations were refused for the RFC since. */
export const refusedOfOthers = (rfc: string, { attempts, milliseconds }: AttemptLimit, now: Date): Fragment =>
  sql`(select count(*) from ciec_attempts
    where rfc = ${rfc} and organization_id <> draft.organization_id and is_refused = 1
      and attempted_at > ${now.getTime() - milliseconds}) >= ${attempts}`

/** The active and paused connections to an RFC, those that were paused as drafts excepted. */
export const connectedTo = (db: Database, rfc: string) =>
  db
    .select({ organization_id: connections.organization_id, fiscal_entity_id: connections.fiscal_entity_id })
    .from(fiscalEntities)
    .innerJoin(connections, eq(connections.entity, fiscalEntities.entity))
    .where(
      and(
        eq(fiscalEntities.rfc, rfc),
        or(eq(connections.state, 'active'), and(eq(connections.state, 'paused'), ne(connections.paused_from, 'draft'))),
      ),
    )
