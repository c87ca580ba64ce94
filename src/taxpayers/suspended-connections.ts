import { and, asc, eq, inArray, or, sql } from 'drizzle-orm'
import type { Database } from '../platform/db/commit.ts'
import { SUSPENSIONS, type Suspension } from '../platform/tenant.ts'
import { connections } from './tables.ts'
import type { ConnectionRow } from './taxpayers.ts'

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
