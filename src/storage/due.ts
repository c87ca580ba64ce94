import type { System } from '../platform/context.ts'
import { prepared, sql } from '../platform/db/fragment.ts'
import { uuidOf } from '../platform/db/id.ts'
import { sendHints } from '../platform/queues/send.ts'

/** Names a connector outside its database. */
export interface ConnectorHint {
  /** The number of its events shard. */
  shard: number
  connector: number
}

/** Asks the queue to work on a connector. The sweep finds one whose message is lost. */
export const wakeConnector = (system: System, { shard, connector }: ConnectorHint): Promise<void> =>
  sendHints(system, system.env.STORAGE, [{ body: { shard, connector } }])

/**
 * Returns the statement, for the organization's events shard, that marks what is copied of a fiscal entity as due. Without a
 * connector it writes nothing; what a stopped one has to copy is marked too. It does what the trigger `events_mirrored` does for events.
 */
export const markDue = (d1: D1Database, organization_id: string, fiscal_entity_id: string): D1PreparedStatement =>
  prepared(
    d1,
    sql`insert into storage_mirrors (connector, fiscal_entity, due)
      select connector, ${uuidOf(fiscal_entity_id)}, 1 from storage_connectors indexed by storage_connectors_organization
      where organization_id = ${organization_id} and deleted_at is null and is_planned
      on conflict (connector, fiscal_entity) do update set due = 1 where due <> 1`,
  )

/** Marks everything that an organization's connectors copy as due. */
export const markAllDue = (d1: D1Database, organization_id: string): D1PreparedStatement =>
  prepared(
    d1,
    sql`update storage_mirrors set due = 1 where due <> 1 and connector in (
        select connector from storage_connectors indexed by storage_connectors_organization
        where organization_id = ${organization_id} and deleted_at is null)`,
  )
