import { and, eq, lte, ne, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { Database, Statement } from '../../platform/db/commit.ts'
import { readAll } from '../../platform/db/statement.ts'
import { organizations } from '../../platform/tenant/tables.ts'
import { connections } from '../../taxpayers/tables.ts'
import type { Registration } from './status.ts'
import { repseRecords, repseRounds } from './tables.ts'

export type Round = typeof repseRounds.$inferSelect

const [c, o, r] = [alias(connections, 'c'), alias(organizations, 'o'), alias(repseRecords, 'r')]

/** Returns statements that open the day's round, or reopen it when it is done. An open round continues; rounds of other days end. */
export const openRound = (db: Database, day: string, instant: Date, now: Date): Statement[] => {
  const opened = { instant, after: 0, is_done: false, moved_at: now }
  return [
    db.delete(repseRounds).where(ne(repseRounds.day, day)),
    db
      .insert(repseRounds)
      .values({ day, ...opened })
      .onConflictDoUpdate({ target: repseRounds.day, set: opened, setWhere: sql`${repseRounds.is_done} = 1` }),
  ]
}

export const findRound = async (db: Database, day: string): Promise<Round | undefined> =>
  (await db.select().from(repseRounds).where(eq(repseRounds.day, day)).limit(1))[0]

/** Advances a round past the entity `after`. Does nothing when a concurrent worker has advanced it. */
export const advanceRound = (db: Database, { day, after, instant }: Round, next: number, is_done: boolean, now: Date): Statement =>
  db
    .update(repseRounds)
    .set({ after: next, is_done, moved_at: now })
    .where(and(eq(repseRounds.day, day), eq(repseRounds.after, after), eq(repseRounds.instant, instant), eq(repseRounds.is_done, false)))

/** The day of the open round, if it has not advanced since `before`; else null. */
export const stalledRound = async (db: Database, before: Date): Promise<string | null> =>
  (
    await db
      .select({ day: repseRounds.day })
      .from(repseRounds)
      .where(and(eq(repseRounds.is_done, false), lte(repseRounds.moved_at, before)))
      .limit(1)
  )[0]?.day ?? null

/** The next entities with an active connection, in ascending order. */
export const nextEntities = ({ $client }: Database, after: number, limit: number): Promise<{ entity: number; rfc: string }[]> =>
  readAll($client, [
    sql`select ${c.entity}, ${c.rfc} from ${connections} ${c} indexed by connections_entity
      where ${c.entity} > ${after} and ${c.state} = 'active' group by ${c.entity} order by ${c.entity} limit ${limit}`,
  ])

/** The RFCs among these that have no answer newer than `since` and no requested look-up. */
export const dueRows = ({ $client }: Database, rfcs: readonly string[], since: Date): Promise<{ rfc: string; name: string | null }[]> =>
  readAll($client, [
    sql`select j.value as rfc, ${r.name} from json_each(${JSON.stringify(rfcs)}) j left join ${repseRecords} ${r} on ${r.rfc} = j.value
      where ${r.rfc} is null or (${r.due_at} is null and (${r.checked_at} is null or ${r.checked_at} <= ${since.getTime()}))`,
  ])

/** Claims an RFC for the day's round. Returns false when it has been claimed for that day. */
export const claimForDay = async (db: Database, rfc: string, asked_day: string): Promise<boolean> =>
  (
    await db
      .insert(repseRecords)
      .values({ rfc, attempts: 0, asked_day })
      .onConflictDoUpdate({ target: repseRecords.rfc, set: { asked_day }, setWhere: sql`${repseRecords.asked_day} is not ${asked_day}` })
      .returning({ rfc: repseRecords.rfc })
  ).length > 0

/** The registrations of these entities that end, one per active connection. */
export const registrationsOf = ({ $client }: Database, entities: readonly number[]): Promise<Registration[]> =>
  readAll($client, [
    sql`select ${c.organization_id}, ${o.events_shard}, ${o.timezone}, ${c.fiscal_entity_id}, ${c.rfc}, ${r.vigencia_hasta}
      from json_each(${JSON.stringify(entities)}) j cross join ${connections} ${c} indexed by connections_entity
      cross join ${repseRecords} ${r} cross join ${organizations} ${o}
      where ${c.entity} = j.value and ${c.state} = 'active' and ${r.rfc} = ${c.rfc} and ${r.is_registered} = 1 and ${r.vigencia_hasta} is not null
        and ${o.id} = ${c.organization_id}`,
  ])
