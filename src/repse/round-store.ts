import { eq } from 'drizzle-orm'
import type { Database } from '../platform/db/commit.ts'
import type { Registration } from './expiry.ts'
import { repseRounds } from './tables.ts'

export type Round = typeof repseRounds.$inferSelect

/** Returns statements that open the day's round, or reopen it when it is done. An open round continues; rounds of other days end. */
export const openRound = (db: Database, day: string, instant: Date, now: Date): D1PreparedStatement[] => [
  db.$client.prepare('delete from repse_rounds where day <> ?1').bind(day),
  db.$client
    .prepare(
      `insert into repse_rounds (day, instant, after, is_done, moved_at) values (?1, ?2, 0, 0, ?3)
       on conflict (day) do update set instant = excluded.instant, after = 0, is_done = 0, moved_at = excluded.moved_at where is_done = 1`,
    )
    .bind(day, instant.getTime(), now.getTime()),
]

export const findRound = async (db: Database, day: string): Promise<Round | undefined> =>
  (await db.select().from(repseRounds).where(eq(repseRounds.day, day)).limit(1))[0]

/** Advances a round past the entity `after`. Does nothing when a concurrent worker has advanced it. */
export const advanceRound = (db: Database, round: Round, after: number, is_done: boolean, now: Date): D1PreparedStatement =>
  db.$client
    .prepare(
      'update repse_rounds set after = ?3, is_done = ?4, moved_at = ?5 where day = ?1 and after = ?2 and instant = ?6 and is_done = 0',
    )
    .bind(round.day, round.after, after, is_done ? 1 : 0, now.getTime(), round.instant.getTime())

/** The day of the open round, if it has not advanced since `before`; else null. */
export const stalledRound = (db: Database, before: Date): Promise<string | null> =>
  db.$client
    .prepare('select day from repse_rounds where is_done = 0 and moved_at <= ?1 limit 1')
    .bind(before.getTime())
    .first<string>('day')

/** The next entities with an active connection, in ascending order. */
export const nextEntities = async (db: Database, after: number, limit: number): Promise<{ entity: number; rfc: string }[]> =>
  (
    await db.$client
      .prepare(
        `select entity, rfc from connections indexed by connections_entity
         where entity > ?1 and state = 'active' group by entity order by entity limit ?2`,
      )
      .bind(after, limit)
      .all<{ entity: number; rfc: string }>()
  ).results

/** Those of the RFCs that have no answer newer than `since` and no requested look-up. */
export const dueRows = async (db: Database, rfcs: readonly string[], since: Date): Promise<{ rfc: string; name: string | null }[]> =>
  (
    await db.$client
      .prepare(
        `select j.value as rfc, r.name from json_each(?1) j left join repse_records r on r.rfc = j.value
         where r.rfc is null or (r.due_at is null and (r.checked_at is null or r.checked_at <= ?2))`,
      )
      .bind(JSON.stringify(rfcs), since.getTime())
      .all<{ rfc: string; name: string | null }>()
  ).results

/** Claims an RFC for the day's round. Returns false when it has been claimed for that day. */
export const claimForDay = async (db: Database, rfc: string, day: string): Promise<boolean> =>
  (
    await db.$client
      .prepare(
        `insert into repse_records (rfc, attempts, asked_day) values (?1, 0, ?2)
         on conflict (rfc) do update set asked_day = excluded.asked_day where asked_day is not excluded.asked_day returning rfc`,
      )
      .bind(rfc, day)
      .all()
  ).results.length > 0

/** The registrations of these entities that end, one per active connection. */
export const registrationsOf = async (db: Database, entities: readonly number[]): Promise<Registration[]> =>
  (
    await db.$client
      .prepare(
        `select c.organization_id, o.events_shard, o.timezone, c.fiscal_entity_id, c.rfc, r.vigencia_hasta
         from json_each(?1) j cross join connections c indexed by connections_entity cross join repse_records r cross join organizations o
         where c.entity = j.value and c.state = 'active' and r.rfc = c.rfc and r.is_registered = 1 and r.vigencia_hasta is not null
           and o.id = c.organization_id`,
      )
      .bind(JSON.stringify(entities))
      .all<Registration>()
  ).results
