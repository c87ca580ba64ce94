import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { bare, readFirst, readRows } from '../../platform/db/statement.ts'
import { OF_NO_RFC, type Outbox } from '../../platform/outbox/outbox.ts'
import { organizations } from '../../platform/tenant/tables.ts'
import type { Connection } from '../../platform/tenant/tenant.ts'
import { clock } from '../../platform/time/clock.ts'
import { connections } from '../../taxpayers/tables.ts'
import { type Appended, ofAppended } from '../deliveries/insert-store.ts'
import { fanOuts, relays, webhooks } from '../tables.ts'

const [c, o] = [alias(connections, 'c'), alias(organizations, 'o')]
const { connection, entity, state } = connections

/** An organization's connection to an entity, with the bounds of its windows. */
export interface RecipientRow
  extends Pick<
    Connection,
    | ('connection' | 'entity' | 'fiscal_entity_id' | 'rfc' | 'state' | 'first_active_at' | 'inactive_since')
    | ('issued_from' | 'issued_to' | 'received_from' | 'received_to' | 'issued_granted_ranges' | 'received_granted_ranges')
  > {
  /** Which request for recipients the row answers. */
  request: number
  organization_id: string
  /** When the connection last became active, in milliseconds since 1970; null before. */
  active_since: number | null
  extractor_count: number
  /** Until when the organization last saw everything, in milliseconds; null when it never did, or does. */
  extractors_since: number | null
  /** 1 while a planned run of the organization may widen the window now. */
  has_planned_run: number
  /** The number of the organization's events shard. */
  events_shard: number
}

/** Asks for the connections to an entity: those of some organizations, or a page of all after a number. */
export type RecipientRequest = { entity: number } & ({ organizations: readonly string[] } | { after: number })

/**
 * Finds connections in the order of their numbers; at most `limit` for a request without organizations, which leaves out unlinked ones. A
 * named organization has its events also while the RFC is unlinked: they are hidden until it is linked again. Of no RFC, it has them without
 * any connection.
 */
export const findRecipients = async (d1: D1Database, requests: readonly RecipientRequest[], limit: number): Promise<RecipientRow[]> => {
  const [all, named, own] = [[] as unknown[], [] as unknown[], [] as unknown[]]
  for (const [n, it] of requests.entries())
    if ('after' in it) all.push([n, it.entity, it.after])
    else (it.entity === OF_NO_RFC ? own : named).push([n, it.entity, it.organizations])
  const results = await readRows(
    d1,
    sql<RecipientRow>`with planned as materialized (
         select organization_id, coalesce(fiscal_entity_id, '') from runs indexed by runs_planned where status = 'planned' and moved_at <= ${clock.now()}),
       found as materialized (
         select r.value->>0 as request, ${c.connection}
         from json_each(${JSON.stringify(all)}) r cross join ${connections} ${c} on ${c.connection} in (
           select ${connection} from ${connections} indexed by connections_entity
           where ${entity} = r.value->>1 and ${connection} > r.value->>2 and ${state} <> 'unlinked' order by ${connection} limit ${limit})
         union all
         select r.value->>0, ${c.connection}
         from json_each(${JSON.stringify(named)}) r cross join json_each(r.value->2) o
         cross join ${connections} ${c} indexed by connections_rfc
           on ${c.organization_id} = o.value and ${c.entity} = r.value->>1)
       select f.request, ${c.connection}, ${c.entity}, ${c.organization_id}, ${c.fiscal_entity_id}, ${c.rfc}, ${c.state}, ${c.active_since},
         ${c.unnotified}->>'since' as inactive_since, ${c.issued_from}, ${c.issued_to}, ${c.received_from}, ${c.received_to}, ${c.issued_granted_ranges},
         ${c.received_granted_ranges}, ${o.extractor_count}, ${o.extractors_since}, ${c.first_active_at}, ${o.events_shard},
         (${c.organization_id}, '') in planned or (${c.organization_id}, ${c.fiscal_entity_id}) in planned as has_planned_run
       from found f
       cross join ${connections} ${c} on ${c.connection} = f.${bare(connection)}
       cross join ${organizations} ${o} on ${o.id} = ${c.organization_id}
       order by ${c.connection}`,
  )
  return own.length === 0 ? results : [...results, ...(await readRows(d1, organizationsOf(own)))]
}

/** The organizations that events of no RFC name, as recipients without a connection. */
const organizationsOf = (own: readonly unknown[]): SQL<RecipientRow> =>
  sql<RecipientRow>`select r.value->>0 as request, ${o.id} as organization_id, ${o.events_shard}, ${o.extractor_count}, ${o.extractors_since},
      0 as connection, 0 as entity, '' as fiscal_entity_id, '' as rfc, 'active' as state, 0 as has_planned_run
    from json_each(${JSON.stringify(own)}) r cross join json_each(r.value->2) n cross join ${organizations} ${o} on ${o.id} = n.value`

/** Returns the organizations that are connected to entities, at most `limit` for each. */
export const findOrganizations = (entities: readonly number[], limit: number): SQL<{ entity: number; organization_id: string }> =>
  sql<{ entity: number; organization_id: string }>`select ${c.entity}, ${c.organization_id}
         from json_each(${JSON.stringify(entities)}) e cross join ${connections} ${c} on ${c.connection} in (
           select ${connection} from ${connections} indexed by connections_entity
           where ${entity} = e.value and ${state} <> 'unlinked' order by ${connection} limit ${limit})`

/** An events shard's record of an outbox (tables.ts). */
export interface RelayRecord {
  version: number
  known: Map<string, number>
}

type RelayRow = typeof relays.$inferSelect

export async function findRecord(d1: D1Database, outbox: Outbox): Promise<RelayRecord> {
  const own = sql<RelayRow>`select ${relays.version}, ${relays.known} from ${relays} where ${relays.outbox} = ${String(outbox)}`
  const row = await readFirst(d1, own)
  return { version: row?.version ?? 0, known: new Map(Object.entries(JSON.parse(row?.known ?? '{}') as Record<string, number>)) }
}

/** Replaces the record of a shard. Refuses the batch by the fence `relays.version` unless it still has this version. */
export const replaceRecord = (outbox: Outbox, version: number, known: ReadonlyMap<string, number>): SQL =>
  sql`insert into ${relays} ${[relays.outbox, relays.version, relays.known].map(bare)}
      select ${String(outbox)},
        iif(coalesce((select ${relays.version} from ${relays} where ${relays.outbox} = ${String(outbox)}), 0) = ${version}, ${version + 1}, null),
        ${JSON.stringify(Object.fromEntries(known))} where true
      on conflict (${bare(relays.outbox)}) do update
        set ${bare(relays.version)} = excluded.${bare(relays.version)}, ${bare(relays.known)} = excluded.${bare(relays.known)}`

const COLUMNS = [fanOuts.organization_id, fanOuts.webhook, fanOuts.seq].map(bare)

/** Keeps the events of organizations that have further endpoints, which have no delivery yet to these. Returns the organizations. */
export const insertFanOuts = (appended: readonly Appended[]): SQL[] =>
  ofAppended(appended, [
    sql`${fanOuts} ${COLUMNS}`,
    sql`t.organization_id, t.beyond, e.seq`,
    sql`where t.beyond is not null returning ${bare(fanOuts.organization_id)}`,
  ])

/** The next endpoint, and the events that have no delivery from it on. */
export interface FanOut {
  webhook: number
  seqs: number[]
}

/** Finds the events of an organization that are furthest behind, at most `limit`; null when there is none. */
export async function findFanOut(d1: D1Database, organization_id: string, limit: number): Promise<FanOut | null> {
  const own = sql`from ${fanOuts} where ${fanOuts.organization_id} = ${organization_id}`
  const results = await readRows(
    d1,
    sql<{
      webhook: number
      seq: number
    }>`select ${fanOuts.webhook}, ${fanOuts.seq} ${own} and ${fanOuts.webhook} = (select min(${fanOuts.webhook}) ${own})
      order by ${fanOuts.seq} limit ${limit}`,
  )
  const [first] = results
  return first ? { webhook: first.webhook, seqs: results.map(({ seq }) => seq) } : null
}

/** Returns the endpoint that follows this many endpoints of an organization, from one on; null when there are no more. */
export const findEndpointAfter = async (d1: D1Database, organization_id: string, from: number, count: number): Promise<number | null> => {
  const results = await readRows(
    d1,
    sql<{ webhook: number }>`select ${webhooks.webhook} from ${webhooks} indexed by webhooks_organization
      where ${webhooks.organization_id} = ${organization_id} and ${webhooks.deleted_at} is null and ${webhooks.webhook} >= ${from}
      order by ${webhooks.webhook} limit ${count} + 1`,
  )
  return results[count]?.webhook ?? null
}

/** Moves events on to a later endpoint, or forgets them when there is none. */
export const moveFanOut = (organization_id: string, { webhook, seqs }: FanOut, next: number | null): SQL[] => {
  const moved = sql`from ${fanOuts} where ${fanOuts.organization_id} = ${organization_id} and ${fanOuts.webhook} = ${webhook}
    and ${fanOuts.seq} in (select value from json_each(${JSON.stringify(seqs)}))`
  const copied = sql`insert or ignore into ${fanOuts} ${COLUMNS} select ${fanOuts.organization_id}, ${next}, ${fanOuts.seq} ${moved}`
  return [...(next === null ? [] : [copied]), sql`delete ${moved}`].map((statement) => statement)
}

/** Returns organizations with events that lack deliveries. Costs one seek for each. */
export const organizationsToFanOut = (limit: number): SQL<string> => {
  const first = sql`select min(${fanOuts.organization_id}) from ${fanOuts}`
  return sql<string>`with recursive pending (id) as (
        ${first}
        union all
        select (${first} where ${fanOuts.organization_id} > pending.id) from pending where id is not null limit ${limit})
      select id from pending where id is not null`
}
