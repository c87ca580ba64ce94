import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { Database } from '../platform/db/commit.ts'
import { bare, prepared } from '../platform/db/statement.ts'
import type { Connection } from '../platform/tenant/tenant.ts'
import { connections } from './tables.ts'

const c = alias(connections, 'c')

/**
 * The state of `connections.untold`, which a trigger sets when a connection leaves active: since when, in milliseconds, cancellations may
 * not have been told, and the windows as they were then.
 */
export interface Untold extends Pick<Connection, 'issued_from' | 'issued_to' | 'received_from' | 'received_to'> {
  since: number
  /** The last cancellation that has been considered: found_at and UUID. Absent before the first. */
  after?: [found_at: number, uuid: string]
}

/** A connection that is active again, whose organization has not been told yet of every cancellation of the time between. */
export interface UntoldConnection {
  connection: number
  organization_id: string
  entity: number
  shard: number
  active_since: number
  extractor_count: number
  /** An Untold, as JSON. */
  untold: string
}

const SELECT = sql`select ${c.connection}, ${c.organization_id}, ${c.entity}, ${c.shard}, ${c.active_since}, ${c.untold}, o.extractor_count
  from ${connections} ${c} indexed by connections_untold cross join organizations o on o.id = ${c.organization_id}
  where ${c.untold} is not null and ${c.state} = 'active'`

/** A page of these connections, behind `after`. */
export const findUntold = async ({ $client }: Database, after: number, limit: number): Promise<UntoldConnection[]> =>
  (await prepared($client, sql`${SELECT} and ${c.connection} > ${after} order by ${c.connection} limit ${limit}`).all<UntoldConnection>())
    .results

export const findUntoldConnection = ({ $client }: Database, connection: number): Promise<UntoldConnection | null> =>
  prepared($client, sql`${SELECT} and ${c.connection} = ${connection}`).first<UntoldConnection>()

/** Moves on to another state, or to none. False when the connection was left or has moved on since it was read. */
export async function moveUntold(
  { $client }: Database,
  { connection, active_since, untold }: UntoldConnection,
  next: string | null,
): Promise<boolean> {
  const moved = await prepared(
    $client,
    sql`update ${connections} set ${bare(connections.untold)} = ${next} where ${connections.connection} = ${connection}
      and ${connections.state} = 'active' and ${connections.active_since} = ${active_since} and ${connections.untold} = ${untold}
      returning ${bare(connections.connection)}`,
  ).first()
  return moved !== null
}
