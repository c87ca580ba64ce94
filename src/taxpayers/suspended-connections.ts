import { and, asc, eq, inArray, or, sql } from 'drizzle-orm'
import type { Database } from '../platform/db/commit.ts'
import { SUSPENSIONS, type Suspension } from '../platform/tenant/tenant.ts'
import { clock } from '../platform/time/clock.ts'
import { connectionColumns, connections } from './tables.ts'
import type { ConnectionRow } from './taxpayers.ts'

/**
 * Pauses the active connections of organizations. When the trial has ended, it also becomes the reason of connections that an unpaid
 * invoice paused.
 */
export const pauseActive = (db: Database, organization_ids: readonly string[], paused_by: Suspension, now: Date) =>
  db
    .update(connections)
    .set({ state: 'paused', paused_from: 'active', paused_by, updated_at: now })
    .where(
      and(
        sql`${connections.organization_id} in (select value from json_each(${JSON.stringify(organization_ids)}))`,
        // The end of the trial prevails, because it ends reading too.
        or(
          eq(connections.state, 'active'),
          paused_by === 'trial' ? and(eq(connections.state, 'paused'), eq(connections.paused_by, 'payment')) : undefined,
        ),
      ),
    )

const isSuspended = and(eq(connections.state, 'paused'), inArray(connections.paused_by, [...SUSPENSIONS]))

/** Connections that a suspension paused, in the order in which they first became active. */
export const suspendedConnections = (db: Database, organization_id: string) =>
  db
    .select(connectionColumns)
    .from(connections)
    .where(and(eq(connections.organization_id, organization_id), isSuspended))
    .orderBy(asc(connections.first_active_at), asc(connections.connection))

/**
 * Returns these connections to the state in which they were paused, except those that the customer has paused since. Logins of connections
 * that become active are to be verified.
 */
export const resumePaused = (db: Database, rows: readonly ConnectionRow[], now: Date) =>
  db
    .update(connections)
    .set({
      state: sql`${connections.paused_from}`,
      active_since: sql`case ${connections.paused_from} when 'active' then ${now.getTime()} else ${connections.active_since} end`,
      ciec_verify_at: sql`case when ${connections.paused_from} = 'active' and ${connections.ciec} is not null then ${clock.now()} end`,
      ciec_verify_attempts: 0,
      efirma_verify_at: sql`case when ${connections.paused_from} = 'active' and ${connections.efirma} is not null then ${clock.now()} end`,
      efirma_verify_attempts: 0,
      paused_from: null,
      paused_by: null,
      updated_at: now,
    })
    .where(
      and(
        sql`${connections.connection} in (select value from json_each(${JSON.stringify(rows.map(({ connection }) => connection))}))`,
        isSuspended,
      ),
    )

/** Leaves the connections that a suspension paused to the customer, who can resume them when a seat is free. */
export const leavePaused = (db: Database, organization_id: string) =>
  db
    .update(connections)
    .set({ paused_by: 'customer' })
    .where(and(eq(connections.organization_id, organization_id), isSuspended))
