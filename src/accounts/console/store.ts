import { and, desc, eq, gt, type SQL, sql } from 'drizzle-orm'
import type { Database } from '../../platform/db/commit.ts'
import { assertThat } from '../../platform/db/guard.ts'
import { bare, changesOf } from '../../platform/db/statement.ts'
import { organizations } from '../../platform/tenant/tables.ts'
import { consoleSessions, credentials } from '../tables.ts'

const s = consoleSessions

export type SessionRow = typeof consoleSessions.$inferSelect

export const insertSession = (db: Database, row: SessionRow) => db.insert(s).values(row)

/** Ends the sessions of a credential but the `most` that began last. */
export const endSurplusSessions = (api_key: string, most: number): SQL =>
  sql`delete from ${s} where ${s.session_id} in (select ${s.session_id} from ${s}
      where ${s.api_key} = ${api_key} order by ${s.created_at} desc, ${s.until} desc limit -1 offset ${most})`

export const findSession = async (db: Database, session_id: string): Promise<SessionRow | undefined> =>
  (await db.select().from(s).where(eq(s.session_id, session_id)).limit(1))[0]

/** Refuses its batch when the session has ended. */
export const assertSession = (session_id: string): SQL =>
  assertThat(sql`exists (select 1 from ${s} where ${s.session_id} = ${session_id})`, 'console_session.open')

export const deleteSession = (db: Database, session_id: string) => db.delete(s).where(eq(s.session_id, session_id))

/** The sessions of a person that have not ended, the newest first, with the organization that each one is in. */
export const listSessionsOf = (db: Database, email: string, now: Date) =>
  db
    .select({ session_id: s.session_id, created_at: s.created_at, until: s.until, organization: organizations.name })
    .from(s)
    .innerJoin(credentials, eq(credentials.api_key, s.api_key))
    .innerJoin(organizations, eq(organizations.id, credentials.organization_id))
    .where(and(eq(s.email, email), gt(s.until, now)))
    .orderBy(desc(s.created_at))
    .limit(100)

/** Ends a session of a person. */
export const deleteSessionOf = (db: Database, email: string, session_id: string) =>
  db.delete(s).where(and(eq(s.session_id, session_id), eq(s.email, email)))

export const endSessionsOf = (db: Database, api_key: string) => db.delete(s).where(eq(s.api_key, api_key))

/** Ends the sessions that began with the secret of a credential at this time at the latest. */
export const shortenSessionsOf = (api_key: string, until: Date): SQL =>
  sql`update ${s} set ${bare(s.until)} = ${until.getTime()} where ${s.api_key} = ${api_key} and ${s.email} is null and ${s.until} > ${until.getTime()}`

/** Ends the sessions of a member: those of the member's own credentials, and of those that the member made. */
export const endSessionsOfMember = (organization_id: string, member_id: string): SQL =>
  sql`delete from ${s} where ${s.api_key} in (select ${credentials.api_key} from ${credentials}
      where ${credentials.organization_id} = ${organization_id} and ${credentials.member_id} = ${member_id})`

/** Deletes sessions that ended by themselves, `limit` at the most. Returns how many. */
export const deleteEndedSessions = (db: Database, now: Date, limit: number): Promise<number> =>
  changesOf(
    db.$client,
    sql`delete from ${s} where ${s.session_id} in (select ${s.session_id} from ${s} where ${s.until} <= ${now.getTime()} limit ${limit})`,
  )
