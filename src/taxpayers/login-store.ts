import { and, asc, desc, eq, isNotNull, isNull, lte, or, sql as query } from 'drizzle-orm'
import type { Database } from '../platform/db/commit.ts'
import { prepared, raw, sql } from '../platform/db/fragment.ts'
import { assertThat } from '../platform/db/guard.ts'
import { connectionColumns, connections, fiscalEntities } from './tables.ts'
import type { ConnectionRow } from './taxpayers.ts'

/** A connection with the version of its RFC's CIECs. */
export interface VersionedRow {
  row: ConnectionRow
  version: number
}

const versioned = (db: Database) =>
  db
    .select({ row: connectionColumns, version: fiscalEntities.ciec_version })
    .from(connections)
    .innerJoin(fiscalEntities, eq(fiscalEntities.entity, connections.entity))

/** The connections to an RFC whose stored CIEC counts: active ones, and those that were paused while they were active. */
export const heldConnections = (db: Database, entity: number): Promise<VersionedRow[]> =>
  versioned(db)
    .where(
      and(
        eq(connections.entity, entity),
        isNotNull(connections.ciec),
        or(eq(connections.state, 'active'), and(eq(connections.state, 'paused'), eq(connections.paused_from, 'active'))),
      ),
    )
    .orderBy(desc(connections.ciec_accepted_at), desc(connections.connection))
    .all()

/** The active connections to an RFC with a verified CIEC, of these organizations, the one whose CIEC was accepted last first. */
export const verifiedConnections = (db: Database, entity: number, organizations: readonly string[]): Promise<VersionedRow[]> =>
  versioned(db)
    .where(
      and(
        eq(connections.entity, entity),
        eq(connections.state, 'active'),
        isNotNull(connections.ciec),
        isNull(connections.verify_at),
        query`${connections.organization_id} in (select value from json_each(${JSON.stringify(organizations)}))`,
      ),
    )
    .orderBy(desc(connections.ciec_accepted_at), desc(connections.connection))
    .all()

/** The RFC's connections whose CIEC is to be verified now, the one that waits longest first. */
export const dueConnections = (db: Database, entity: number, now: Date): Promise<VersionedRow[]> =>
  versioned(db)
    .where(and(eq(connections.entity, entity), lte(connections.verify_at, now)))
    .orderBy(asc(connections.verify_at), asc(connections.connection))
    .all()

/** RFCs with a CIEC that is to be verified now. */
export const dueEntities = async (db: Database, now: Date, limit: number): Promise<{ shard: number; entity: number }[]> =>
  (
    await prepared(
      db.$client,
      sql`select distinct shard, entity from connections indexed by connections_unverified where verify_at <= ${now.getTime()} limit ${limit}`,
    ).all<{ shard: number; entity: number }>()
  ).results

/** The version of an RFC's CIECs; 0 while no organization connected the RFC. */
export const ciecVersion = async (db: Database, rfc: string): Promise<number> =>
  (await db.select({ version: fiscalEntities.ciec_version }).from(fiscalEntities).where(eq(fiscalEntities.rfc, rfc)).limit(1))[0]
    ?.version ?? 0

/** Refuses its batch when a CIEC of the RFC was accepted or refused since. */
export const assertCiecVersion = (db: Database, rfc: string, version: number): D1PreparedStatement =>
  assertThat(
    db.$client,
    sql`exists (select 1 from fiscal_entities where rfc = ${rfc} and ciec_version = ${version})`,
    'fiscal_entity.ciec_version',
  )

export const bumpCiecVersion = (db: Database, rfc: string) =>
  db.update(fiscalEntities).set({ ciec_version: query`ciec_version + 1` }).where(eq(fiscalEntities.rfc, rfc))

const listed = (rows: readonly ConnectionRow[]) =>
  sql`connection in (select value from json_each(${JSON.stringify(rows.map(({ connection }) => connection))}))`
const COUNTS = raw(`ciec is not null and (state = 'active' or (state = 'paused' and paused_from = 'active'))`)

/** Refuses its batch when one of these connections has changed its state since, or has lost its CIEC. */
export const assertStatesUnchanged = (db: Database, rows: readonly ConnectionRow[]): D1PreparedStatement => {
  const read = rows.map(({ connection, state }) => [connection, state]).sort(([a], [b]) => Number(a) - Number(b))
  return assertThat(
    db.$client,
    sql`${JSON.stringify(read)} = (
      select json_group_array(json_array(connection, state)) from (
        select connection, state from connections where ${listed(rows)} and ${COUNTS} order by connection))`,
    'connection.state_unchanged',
  )
}

/** Marks the CIECs of these connections as refused. Its batch guards the connections with assertStatesUnchanged. */
export const invalidateCiec = (db: Database, rows: readonly ConnectionRow[], now: Date): D1PreparedStatement =>
  prepared(
    db.$client,
    sql`update connections set
        state = case state when 'active' then 'invalid_ciec' else state end,
        paused_from = case state when 'paused' then 'invalid_ciec' else paused_from end,
        invalid_reason = 'rejected', verify_at = null, verify_attempts = 0, updated_at = ${now.getTime()}
      where ${listed(rows)} and ${COUNTS}`,
  )

/** Makes the CIECs of these connections wait for a verification, from now on. */
export const requireVerification = (db: Database, rows: readonly ConnectionRow[], now: Date): D1PreparedStatement =>
  prepared(db.$client, sql`update connections set verify_at = ${now.getTime()}, verify_attempts = 0 where ${listed(rows)} and ${COUNTS}`)

/**
 * Makes the CIECs of a page of active connections, behind `after`, wait for a verification, if they were neither accepted since an instant
 * nor used by a run. Returns the last connection of the page; 0 behind the last one.
 */
export async function requireIdle(db: Database, after: number, limit: number, since: Date): Promise<number> {
  const page = sql`select connection from connections where connection > ${after} order by connection limit ${limit}`
  const [last] = await db.$client.batch<{ connection: number | null }>([
    prepared(db.$client, sql`select max(connection) as connection from (${page}) having count(*) = ${limit}`),
    prepared(
      db.$client,
      sql`update connections set verify_at = ${Date.now()}, verify_attempts = 0
        where connection in (${page}) and state = 'active' and ciec is not null and verify_at is null
          and max(ciec_accepted_at, coalesce(verified_at, 0), coalesce(issued_to, 0), coalesce(received_to, 0)) <= ${since.getTime()}`,
    ),
  ])
  return last!.results[0]?.connection ?? 0
}

/** Marks the CIECs of these connections as verified. */
export const markVerified = (db: Database, rows: readonly ConnectionRow[]): D1PreparedStatement =>
  prepared(
    db.$client,
    sql`update connections set verify_at = null, verify_attempts = 0, verified_at = ${Date.now()}
      where ${listed(rows)} and verify_at is not null`,
  )

/** Postpones due verifications until `next`. Returns false when another worker has taken them. */
export const claimVerification = async (db: Database, rows: readonly ConnectionRow[], now: Date, next: Date): Promise<boolean> =>
  (
    await prepared(
      db.$client,
      sql`update connections set verify_at = ${next.getTime()}, verify_attempts = verify_attempts + 1
        where ${listed(rows)} and verify_at <= ${now.getTime()}`,
    ).run()
  ).meta.changes > 0

/** Replaces a stored CIEC by the same one under another key, unless a new CIEC was stored meanwhile. */
export const resealCiec = (db: Database, connection: number, stored: string, sealed: string) =>
  db
    .update(connections)
    .set({ ciec: sealed })
    .where(and(eq(connections.connection, connection), eq(connections.ciec, stored)))
