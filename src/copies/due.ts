import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { System } from '../platform/context.ts'
import { commit, jsonChunks } from '../platform/db/commit.ts'
import { uuidOf } from '../platform/db/id.ts'
import { bare } from '../platform/db/statement.ts'
import { each } from '../platform/work/pages.ts'
import { sendHints } from '../platform/work/send.ts'
import { storageConnectors as connectors, storageMirrors as mirrors } from './tables.ts'

const s = alias(connectors, 's')

/** Names a connector outside its database. */
export interface ConnectorHint {
  /** The number of its events shard. */
  shard: number
  connector: number
}

/** Asks the queue to work on a connector. The sweep finds one whose message is lost. */
export const wakeConnector = (system: System, { shard, connector }: ConnectorHint): Promise<void> =>
  sendHints(system, system.env.STORAGE, [{ body: { shard, connector } }])

/** A fiscal entity whose documents are copied to the connectors of an organization. */
interface Copies {
  organization_id: string
  fiscal_entity_id: string
}

/** Write nothing without a connector, and include stopped ones. They do what the trigger `events_mirrored` does for events. */
const dueStatements = (copies: readonly Copies[]): SQL[] =>
  jsonChunks(copies.map(({ organization_id, fiscal_entity_id }) => [organization_id, uuidOf(fiscal_entity_id)])).map(
    (json) =>
      sql`insert into ${mirrors} ${[mirrors.connector, mirrors.fiscal_entity, mirrors.due].map(bare)}
        select ${s.connector}, c.value->>1, 1
        from json_each(${json}) c cross join ${connectors} ${s} indexed by storage_connectors_organization
          on ${s.organization_id} = c.value->>0 and ${s.deleted_at} is null and ${s.is_planned}
        where true
        on conflict ${[mirrors.connector, mirrors.fiscal_entity].map(bare)} do update set ${bare(mirrors.due)} = 1
          where ${mirrors.due} <> 1`,
  )

/** Returns the statement, for the organization's events shard, that marks the mirrors of a fiscal entity as due. */
export const markDue = (organization_id: string, fiscal_entity_id: string): SQL =>
  dueStatements([{ organization_id, fiscal_entity_id }])[0]!

/** Marks the mirrors of readers as due, in one commit for each events shard. */
export const markReadersDue = ({ settings }: System, readers: readonly (Copies & { events_shard: number })[]): Promise<void> =>
  each([...Map.groupBy(readers, ({ events_shard }) => events_shard)], ([shard, own]) => {
    const d1 = settings.events[shard]!
    return commit(d1, dueStatements(own))
  })

/** Marks all mirrors of an organization's connectors as due. */
export const markAllDue = (organization_id: string): SQL =>
  sql`update ${mirrors} set ${bare(mirrors.due)} = 1 where ${mirrors.due} <> 1 and ${mirrors.connector} in (
        select ${connectors.connector} from ${connectors} indexed by storage_connectors_organization
        where ${connectors.organization_id} = ${organization_id} and ${connectors.deleted_at} is null)`
