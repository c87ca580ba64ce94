import { and, eq, lte, or, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { Database } from '../../platform/db/commit.ts'
import { bare, prepared } from '../../platform/db/statement.ts'
import { ciecAttempts, connections, fiscalEntities } from '../tables.ts'

const [a, c, f, n] = [alias(ciecAttempts, 'a'), alias(connections, 'c'), alias(fiscalEntities, 'f'), alias(ciecAttempts, 'n')]

export type AttemptRow = typeof ciecAttempts.$inferSelect

/** At most so many attempts in so many milliseconds. */
export interface AttemptLimit {
  attempts: number
  milliseconds: number
}

const countSince = (condition: SQL, now: Date, { milliseconds }: AttemptLimit): SQL =>
  sql`(select count(*) from ${ciecAttempts} where ${condition} and ${ciecAttempts.attempted_at} > ${now.getTime() - milliseconds})`

const COLUMNS = [
  ...[ciecAttempts.attempt_id, ciecAttempts.organization_id, ciecAttempts.rfc, ciecAttempts.kind],
  ...[ciecAttempts.is_stranger, ciecAttempts.is_refused, ciecAttempts.attempted_at],
].map(bare)

/** Inserts an attempt, unless a limit is reached. Returns whether it was inserted. */
export const insertAttempt = async (
  db: Database,
  { attempt_id, organization_id, rfc, kind, is_stranger, attempted_at }: AttemptRow,
  limits: { ofOrganization: AttemptLimit; ofStrangers: AttemptLimit },
): Promise<boolean> => {
  const own = countSince(
    sql`${ciecAttempts.rfc} = ${rfc} and ${ciecAttempts.organization_id} = ${organization_id}`,
    attempted_at,
    limits.ofOrganization,
  )
  const strangers = countSince(
    sql`${ciecAttempts.rfc} = ${rfc} and ${ciecAttempts.is_stranger} = 1 and ${ciecAttempts.kind} = ${kind}`,
    attempted_at,
    limits.ofStrangers,
  )
  const { meta } = await prepared(
    db.$client,
    sql`insert into ${ciecAttempts} ${COLUMNS}
      select ${attempt_id}, ${organization_id}, ${rfc}, ${kind}, ${Number(is_stranger)}, 0, ${attempted_at.getTime()}
      where ${own} < ${limits.ofOrganization.attempts}
        and (${Number(is_stranger)} = 0 or ${strangers} < ${limits.ofStrangers.attempts})`,
  ).run()
  return meta.changes > 0
}

/** The attempts that count against one by this organization, in no order. */
export const attemptsAgainst = (
  db: Database,
  { organization_id, rfc, kind, is_stranger }: Pick<AttemptRow, 'organization_id' | 'rfc' | 'kind' | 'is_stranger'>,
) =>
  db
    .select()
    .from(ciecAttempts)
    .where(
      and(
        eq(ciecAttempts.rfc, rfc),
        or(
          eq(ciecAttempts.organization_id, organization_id),
          is_stranger ? and(eq(ciecAttempts.is_stranger, true), eq(ciecAttempts.kind, kind)) : undefined,
        ),
      ),
    )

export const deleteAttempt = (db: Database, attempt_id: string) => db.delete(ciecAttempts).where(eq(ciecAttempts.attempt_id, attempt_id))

export const markRefused = (db: Database, attempt_id: string) =>
  db.update(ciecAttempts).set({ is_refused: true }).where(eq(ciecAttempts.attempt_id, attempt_id))

export const deleteAttempts = (db: Database, until: Date) => db.delete(ciecAttempts).where(lte(ciecAttempts.attempted_at, until))

/** A connection to an RFC for which others sent wrong CIECs or e.firmas, and the time of the attempt that causes its alert. */
export interface GuessedRow {
  organization_id: string
  events_shard: number
  fiscal_entity_id: string
  rfc: string
  attempted_at: number
}

/**
 * Finds the connections for whose RFC so many CIECs and e.firmas of other organizations had been refused by one attempt, or by each that is stored: the
 * active and paused ones, those that were paused as drafts excepted. What was sent at about the same time counts.
 */
export const findGuessed = async (
  db: Database,
  { attempts, milliseconds }: AttemptLimit,
  within: number,
  attempt_id?: string,
): Promise<GuessedRow[]> =>
  (
    await prepared(
      db.$client,
      sql`select ${c.organization_id}, o.events_shard, ${c.fiscal_entity_id}, ${a.rfc}, ${a.attempted_at}
        from ${ciecAttempts} ${a} cross join ${fiscalEntities} ${f} on ${f.rfc} = ${a.rfc}
        cross join ${connections} ${c} indexed by connections_entity on ${c.entity} = ${f.entity}
          and (${c.state} = 'active' or (${c.state} = 'paused' and ${c.paused_from} <> 'draft'))
        cross join organizations o on o.id = ${c.organization_id}
        where ${a.is_refused} = 1 and ${attempt_id === undefined ? sql`true` : sql`${a.attempt_id} = ${attempt_id}`} and (
          select count(*) from ${ciecAttempts} ${n} where ${n.rfc} = ${a.rfc} and ${n.organization_id} <> ${c.organization_id}
            and ${n.is_refused} = 1
            and ${n.attempted_at} > ${a.attempted_at} - ${milliseconds}
              and ${n.attempted_at} <= ${a.attempted_at} + ${within}) >= ${attempts}`,
    ).all<GuessedRow>()
  ).results
