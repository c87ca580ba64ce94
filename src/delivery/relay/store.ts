import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { bare, prepared } from '../../platform/db/statement.ts'
import { organizations } from '../../platform/tenant/tables.ts'
import { connections } from '../../taxpayers/tables.ts'

const [c, o] = [alias(connections, 'c'), alias(organizations, 'o')]
const { connection, entity, state } = connections

/** An organization's connection to an entity, with the bounds of its windows. */
export interface RecipientRow {
  /** Which request for recipients the row answers. */
  request: number
  connection: number
  entity: number
  organization_id: string
  fiscal_entity_id: string
  rfc: string
  state: string
  /** When the connection last became active, and when it was left since; in milliseconds since 1970, null before. */
  active_since: number | null
  inactive_since: number | null
  issued_from: string | null
  issued_to: number | null
  received_from: string | null
  received_to: number | null
  /** What the connection's own runs reached of each source (taxpayers/visibility/reaches.ts). */
  issued_reaches: string
  received_reaches: string
  extractor_count: number
  /** Until when the organization last saw everything, in milliseconds; null when it never did, or does. */
  extractors_since: number | null
  /** When the connection first became active, in milliseconds. */
  first_active_at: number | null
  /** 1 while a planned run of the organization may widen the window now. */
  has_planned_run: number
  /** The number of the organization's events shard. */
  events_shard: number
}

/** Asks for the connections to an entity: those of some organizations, or a page of all after a number. */
export type RecipientRequest = { entity: number } & ({ organizations: readonly string[] } | { after: number })

/**
 * Finds connections in the order of their numbers; at most `limit` for a request without organizations, which leaves out unlinked ones. A
 * named organization has its events also while the RFC is unlinked: they are hidden until it is linked again.
 */
export const findRecipients = async (d1: D1Database, requests: readonly RecipientRequest[], limit: number): Promise<RecipientRow[]> => {
  const [all, named] = [[] as unknown[], [] as unknown[]]
  for (const [n, it] of requests.entries())
    if ('after' in it) all.push([n, it.entity, it.after])
    else named.push([n, it.entity, it.organizations])
  const { results } = await prepared(
    d1,
    sql`with planned as materialized (
         select organization_id, coalesce(fiscal_entity_id, '') from runs indexed by runs_planned where status = 'planned' and moved_at <= ${Date.now()}),
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
         ${c.untold}->>'since' as inactive_since, ${c.issued_from}, ${c.issued_to}, ${c.received_from}, ${c.received_to}, ${c.issued_reaches},
         ${c.received_reaches}, ${o.extractor_count}, ${o.extractors_since}, ${c.first_active_at}, ${o.events_shard},
         (${c.organization_id}, '') in planned or (${c.organization_id}, ${c.fiscal_entity_id}) in planned as has_planned_run
       from found f
       cross join ${connections} ${c} on ${c.connection} = f.${bare(connection)}
       cross join ${organizations} ${o} on ${o.id} = ${c.organization_id}
       order by ${c.connection}`,
  ).all<RecipientRow>()
  return results
}

/** Returns the organizations that are connected to entities, at most `limit` for each. */
export const findOrganizations = async (
  d1: D1Database,
  entities: readonly number[],
  limit: number,
): Promise<{ entity: number; organization_id: string }[]> =>
  (
    await prepared(
      d1,
      sql`select ${c.entity}, ${c.organization_id}
         from json_each(${JSON.stringify(entities)}) e cross join ${connections} ${c} on ${c.connection} in (
           select ${connection} from ${connections} indexed by connections_entity
           where ${entity} = e.value and ${state} <> 'unlinked' order by ${connection} limit ${limit})`,
    ).all<{ entity: number; organization_id: string }>()
  ).results
