import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { Database } from '../platform/db/commit.ts'
import { bare, readFirst, readRows } from '../platform/db/statement.ts'
import type { Connection } from '../platform/tenant/tenant.ts'
import { connections } from './tables.ts'

const c = alias(connections, 'c')

/**
 * The state in `connections.unnotified`, which a trigger sets when a connection leaves active: the instant in milliseconds from which
 * cancellations may be unreported, and the windows of that time.
 */
export interface Unnotified extends Pick<Connection, 'issued_from' | 'issued_to' | 'received_from' | 'received_to'> {
  since: number
  /** The last cancellation that has been considered: found_at and UUID. Absent before the first. */
  after?: [found_at: number, uuid: string]
}

/** A connection that is active again, with cancellations of the time between that its organization may not know yet. */
export interface UnnotifiedConnection {
  connection: number
  organization_id: string
  entity: number
  shard: number
  active_since: number
  extractor_count: number
  /** An `Unnotified`, as JSON. */
  unnotified: string
}

const SELECT = sql`select ${c.connection}, ${c.organization_id}, ${c.entity}, ${c.shard}, ${c.active_since}, ${c.unnotified}, o.extractor_count
  from ${connections} ${c} indexed by connections_unnotified cross join organizations o on o.id = ${c.organization_id}
  where ${c.unnotified} is not null and ${c.state} = 'active'`

/** A page of these connections, behind `after`. */
export const findUnnotified = ({ $client }: Database, after: number, limit: number): Promise<UnnotifiedConnection[]> =>
  readRows<UnnotifiedConnection>($client, sql`${SELECT} and ${c.connection} > ${after} order by ${c.connection} limit ${limit}`)

export const findUnnotifiedConnection = ({ $client }: Database, connection: number): Promise<UnnotifiedConnection | null> =>
  readFirst($client, sql<UnnotifiedConnection>`${SELECT} and ${c.connection} = ${connection}`)

/** Sets another state, or none. False when the connection has left active, or the state has changed, since it was read. */
export async function moveUnnotified(
  { $client }: Database,
  { connection, active_since, unnotified }: UnnotifiedConnection,
  next: string | null,
): Promise<boolean> {
  const moved = await readFirst(
    $client,
    sql`update ${connections} set ${bare(connections.unnotified)} = ${next} where ${connections.connection} = ${connection}
      and ${connections.state} = 'active' and ${connections.active_since} = ${active_since} and ${connections.unnotified} = ${unnotified}
      returning ${bare(connections.connection)}`,
  )
  return moved !== null
}
