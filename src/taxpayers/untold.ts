import type { Database } from '../platform/db/commit.ts'
import type { Connection } from '../platform/tenant.ts'

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

const SELECT = `select c.connection, c.organization_id, c.entity, c.shard, c.active_since, c.untold, o.extractor_count
  from connections c indexed by connections_untold cross join organizations o on o.id = c.organization_id
  where c.untold is not null and c.state = 'active'`

/** A page of these connections, behind `after`. */
export const findUntold = async ({ $client }: Database, after: number, limit: number): Promise<UntoldConnection[]> =>
  (await $client.prepare(`${SELECT} and c.connection > ?1 order by c.connection limit ?2`).bind(after, limit).all<UntoldConnection>())
    .results

export const findUntoldConnection = ({ $client }: Database, connection: number): Promise<UntoldConnection | null> =>
  $client.prepare(`${SELECT} and c.connection = ?1`).bind(connection).first<UntoldConnection>()

/** Moves on to another state, or to none. False when the connection was left or has moved on since it was read. */
export async function moveUntold(
  { $client }: Database,
  { connection, active_since, untold }: UntoldConnection,
  next: string | null,
): Promise<boolean> {
  const moved = await $client
    .prepare(
      `update connections set untold = ?4 where connection = ?1 and state = 'active' and active_since = ?2 and untold = ?3 returning connection`,
    )
    .bind(connection, active_since, untold, next)
    .first()
  return moved !== null
}
