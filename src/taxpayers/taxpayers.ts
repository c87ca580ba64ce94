import { and, asc, desc, eq, gt, inArray, isNull, max, ne, or, sql } from 'drizzle-orm'
import type { Database } from '../platform/db/commit.ts'
import { type ConnectionState, SUSPENSIONS, type Suspension } from '../platform/tenant.ts'
import { connections, fiscalEntities } from './tables.ts'

export type ConnectionRow = typeof connections.$inferSelect
export type EntityRow = typeof fiscalEntities.$inferSelect

/** The entity of an RFC, made when nobody had connected it before; two at once make one. */
export async function upsertEntity(db: Database, row: Omit<EntityRow, 'entity'>): Promise<EntityRow> {
  await db.insert(fiscalEntities).values(row).onConflictDoNothing()
  return (await db.select().from(fiscalEntities).where(eq(fiscalEntities.rfc, row.rfc)).limit(1))[0]!
}

const linked = (organization_id: string, fiscal_entity_id: string) =>
  and(
    eq(connections.organization_id, organization_id),
    eq(connections.fiscal_entity_id, fiscal_entity_id),
    ne(connections.state, 'unlinked'),
  )

export const findConnection = async (db: Database, organization_id: string, fiscal_entity_id: string): Promise<ConnectionRow | undefined> =>
  (await db.select().from(connections).where(linked(organization_id, fiscal_entity_id)).limit(1))[0]

/** A connection to an RFC in whatever state, unlinked included. */
export const findEver = async (db: Database, organization_id: string, rfc: string): Promise<ConnectionRow | undefined> =>
  (
    await db
      .select()
      .from(connections)
      .where(
        and(
          eq(connections.organization_id, organization_id),
          inArray(
            connections.fiscal_entity_id,
            db.select({ id: fiscalEntities.fiscal_entity_id }).from(fiscalEntities).where(eq(fiscalEntities.rfc, rfc)),
          ),
        ),
      )
      .limit(1)
  )[0]

export const insertConnection = (db: Database, row: Omit<ConnectionRow, 'connection'>) => db.insert(connections).values(row)

/**
 * Changes a connection that is still what the change was decided on; otherwise refuses its whole batch with a guard violation, by
 * making the state null.
 */
export const updateConnection = (
  db: Database,
  { connection, state, first_active_at, paused_from, paused_by }: ConnectionRow,
  changes: Partial<ConnectionRow>,
) =>
  db
    .update(connections)
    .set({
      ...changes,
      state: sql`case when state = ${state} and first_active_at is ${first_active_at?.getTime() ?? null}
        and paused_from is ${paused_from} and paused_by is ${paused_by} then ${changes.state ?? state} end`,
    })
    .where(eq(connections.connection, connection))

/** Unlinks a connection and erases its CIEC; refuses its whole batch when it is not in the state any more that it was read in. */
export const unlinkConnection = (db: Database, { connection, state }: ConnectionRow, now: Date) =>
  db
    .update(connections)
    .set({ state: sql`case when state = ${state} then 'unlinked' end`, ciec: null, ciec_accepted_at: null, updated_at: now })
    .where(eq(connections.connection, connection))

export const listConnections = (
  db: Database,
  organization_id: string,
  state: ConnectionState | undefined,
  after: string | undefined,
  limit: number,
) =>
  db
    .select()
    .from(connections)
    .where(
      and(
        eq(connections.organization_id, organization_id),
        state === undefined ? ne(connections.state, 'unlinked') : eq(connections.state, state),
        after === undefined ? undefined : gt(connections.fiscal_entity_id, after),
      ),
    )
    .orderBy(asc(connections.fiscal_entity_id))
    .limit(limit)

/** Everybody's active connections to one RFC, the one whose CIEC was accepted last first. */
export const activeConnections = (db: Database, entity: number) =>
  db
    .select()
    .from(connections)
    .where(and(eq(connections.entity, entity), eq(connections.state, 'active')))
    .orderBy(desc(connections.ciec_accepted_at), desc(connections.connection))

/** Some active connections to the RFC of this name. */
export const activeConnectionsOf = (db: Database, rfc: string) =>
  db
    .select({ organization_id: connections.organization_id, fiscal_entity_id: connections.fiscal_entity_id })
    .from(fiscalEntities)
    .innerJoin(connections, and(eq(connections.entity, fiscalEntities.entity), eq(connections.state, 'active')))
    .where(eq(fiscalEntities.rfc, rfc))
    .limit(5)

/**
 * Refuses its whole batch with a guard violation when the RFC's active connections, or when their CIECs were accepted, are no longer
 * as they were read.
 */
export const assertActiveUnchanged = (db: Database, rows: readonly ConnectionRow[]): D1PreparedStatement => {
  const read = rows.map(({ connection, ciec_accepted_at }) => [connection, ciec_accepted_at?.getTime() ?? null])
  return db.$client
    .prepare(
      `update connections set state = case when ?3 = (
         select json_group_array(json_array(connection, ciec_accepted_at)) from (
           select connection, ciec_accepted_at from connections where entity = ?1 and state = 'active'
           order by ciec_accepted_at desc, connection desc)) then state end
       where connection = ?2`,
    )
    .bind(rows[0]!.entity, rows[0]!.connection, JSON.stringify(read))
}

/** The CIEC was rejected: these connections, which `holdActive` holds as they were read. */
export const invalidateCiec = (db: Database, rows: readonly ConnectionRow[], now: Date) =>
  db
    .update(connections)
    .set({ state: 'invalid_ciec', updated_at: now })
    .where(
      sql`connection in (select value from json_each(${JSON.stringify(rows.map(({ connection }) => connection))})) and state = 'active'`,
    )

/** Pauses all that is active of an organization, or is paused for a debt when the reason is another now. */
export const pauseActive = (db: Database, organization_id: string, paused_by: Suspension, now: Date) =>
  db
    .update(connections)
    .set({ state: 'paused', paused_from: 'active', paused_by, updated_at: now })
    .where(
      and(
        eq(connections.organization_id, organization_id),
        // Of two reasons the one that ends reading stays.
        or(
          eq(connections.state, 'active'),
          paused_by === 'trial' ? and(eq(connections.state, 'paused'), eq(connections.paused_by, 'payment')) : undefined,
        ),
      ),
    )

/** Connections that a suspension paused, those that were active first first. */
export const suspendedConnections = (db: Database, organization_id: string) =>
  db
    .select()
    .from(connections)
    .where(
      and(
        eq(connections.organization_id, organization_id),
        eq(connections.state, 'paused'),
        inArray(connections.paused_by, [...SUSPENSIONS]),
      ),
    )
    .orderBy(asc(connections.first_active_at), asc(connections.connection))

/** Makes those of these connections active again that no customer paused meanwhile. */
export const resumePaused = (db: Database, rows: readonly ConnectionRow[], now: Date) =>
  db
    .update(connections)
    .set({ state: 'active', active_since: now, paused_from: null, paused_by: null, updated_at: now })
    .where(
      and(
        sql`connection in (select value from json_each(${JSON.stringify(rows.map(({ connection }) => connection))}))`,
        eq(connections.state, 'paused'),
        inArray(connections.paused_by, [...SUSPENSIONS]),
      ),
    )

/** What a suspension paused and its end did not bring back is paused like any other: it can be resumed when there is a seat. */
export const leavePaused = (db: Database, organization_id: string) =>
  db
    .update(connections)
    .set({ paused_by: 'customer' })
    .where(
      and(
        eq(connections.organization_id, organization_id),
        eq(connections.state, 'paused'),
        inArray(connections.paused_by, [...SUSPENSIONS]),
      ),
    )

/** Puts the same CIEC, sealed anew, in the place of a stored one, unless another has come there meanwhile. */
export const resealCiec = (db: Database, connection: number, stored: string, sealed: string) =>
  db
    .update(connections)
    .set({ ciec: sealed })
    .where(and(eq(connections.connection, connection), eq(connections.ciec, stored)))

/** From now on the organization has a book of its own for the RFC. */
export const markImported = (db: Database, connection: number, now: Date) =>
  db
    .update(connections)
    .set({ imported_at: now })
    .where(and(eq(connections.connection, connection), isNull(connections.imported_at)))

/** A page of the active connections that a run covers. */
export const connectionsOfRun = (
  db: Database,
  run: { organization_id: string; fiscal_entity_id: string | null },
  after: string,
  limit: number,
) =>
  db
    .select()
    .from(connections)
    .where(
      and(
        eq(connections.organization_id, run.organization_id),
        eq(connections.state, 'active'),
        run.fiscal_entity_id === null ? gt(connections.fiscal_entity_id, after) : eq(connections.fiscal_entity_id, run.fiscal_entity_id),
      ),
    )
    .orderBy(asc(connections.fiscal_entity_id))
    .limit(limit)

/** Widens windows: the floor to the earlier, the ceiling to the later (decisions.md 6). */
export const widenWindows = (db: Database, rows: readonly { connection: number; from: string; to: number }[]): D1PreparedStatement =>
  db.$client
    .prepare(
      `update connections set
         visible_from = min(coalesce(visible_from, j.floor), j.floor),
         visible_to = max(coalesce(visible_to, j.ceiling), j.ceiling)
       from (select value->>0 as connection, value->>1 as floor, value->>2 as ceiling from json_each(?1)) j
       where connections.connection = j.connection`,
    )
    .bind(JSON.stringify(rows.map(({ connection, from, to }) => [connection, from, to])))

/** The latest ceiling of any connection to an RFC, in milliseconds: when anybody last downloaded it. Null before the first download. */
export const latestCeiling = async (db: Database, entity: number): Promise<number | null> => {
  const [found] = await db
    .select({ latest: max(connections.visible_to) })
    .from(connections)
    .where(eq(connections.entity, entity))
  return found?.latest?.getTime() ?? null
}
