import { and, asc, desc, eq, gt, inArray, isNull, lte, ne } from 'drizzle-orm'
import type { Database } from '../db/commit.ts'
import { type ConnectionState, connections, fiscalEntities } from './tables.ts'

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

/** Changes a connection if it is still in the state that the change was decided on. */
export const updateConnection = (
  db: Database,
  { connection, state }: Pick<ConnectionRow, 'connection' | 'state'>,
  changes: Partial<ConnectionRow>,
) =>
  db
    .update(connections)
    .set(changes)
    .where(and(eq(connections.connection, connection), eq(connections.state, state)))

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

/** The CIEC was rejected: every active connection to the RFC whose CIEC is not newer than the rejected one. */
export const invalidateCiec = (db: Database, { entity, ciec_accepted_at }: ConnectionRow, now: Date) =>
  db
    .update(connections)
    .set({ state: 'invalid_ciec', updated_at: now })
    .where(
      and(
        eq(connections.entity, entity),
        eq(connections.state, 'active'),
        ciec_accepted_at === null ? undefined : lte(connections.ciec_accepted_at, ciec_accepted_at),
      ),
    )

/** From now on the organization has a book of its own for the RFC. */
export const markImported = (db: Database, connection: number, now: Date) =>
  db
    .update(connections)
    .set({ imported_at: now })
    .where(and(eq(connections.connection, connection), isNull(connections.imported_at)))
