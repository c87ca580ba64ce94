import { and, desc, eq } from 'drizzle-orm'
import type { Database } from '../platform/db/commit.ts'
import { prepared, sql } from '../platform/db/fragment.ts'
import { assertThat } from '../platform/db/guard.ts'
import { connections } from './tables.ts'
import type { ConnectionRow } from './taxpayers.ts'

/** All active connections to an RFC, of any organization, the one whose CIEC was accepted last first. */
export const activeConnections = (db: Database, entity: number) =>
  db
    .select()
    .from(connections)
    .where(and(eq(connections.entity, entity), eq(connections.state, 'active')))
    .orderBy(desc(connections.ciec_accepted_at), desc(connections.connection))

/** Refuses its batch when the RFC has active connections other than these, or when one of their CIECs was replaced. */
export const assertActiveUnchanged = (db: Database, rows: readonly ConnectionRow[]): D1PreparedStatement => {
  const read = rows.map(({ connection, ciec_accepted_at }) => [connection, ciec_accepted_at?.getTime() ?? null])
  return assertThat(
    db.$client,
    sql`${JSON.stringify(read)} = (
      select json_group_array(json_array(connection, ciec_accepted_at)) from (
        select connection, ciec_accepted_at from connections where entity = ${rows[0]!.entity} and state = 'active'
        order by ciec_accepted_at desc, connection desc))`,
    'connection.active_unchanged',
  )
}

/** Marks the CIECs of these connections as invalid. Its batch guards the connections with assertActiveUnchanged. */
export const invalidateCiec = (db: Database, rows: readonly ConnectionRow[], now: Date): D1PreparedStatement => {
  const ids = JSON.stringify(rows.map(({ connection }) => connection))
  return prepared(
    db.$client,
    sql`update connections set state = 'invalid_ciec', updated_at = ${now.getTime()}
      where connection in (select value from json_each(${ids})) and state = 'active'`,
  )
}

/** Replaces a stored CIEC by the same one under another key, unless a new CIEC was stored meanwhile. */
export const resealCiec = (db: Database, connection: number, stored: string, sealed: string) =>
  db
    .update(connections)
    .set({ ciec: sealed })
    .where(and(eq(connections.connection, connection), eq(connections.ciec, stored)))
