import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { prepared } from '../../platform/db/statement.ts'
import { webhooks } from '../endpoints/tables.ts'
import { events } from '../events/tables.ts'
import { deliveries } from './tables.ts'

const [d, e, w] = [alias(deliveries, 'd'), alias(events, 'e'), alias(webhooks, 'w')]

/** Returns the first organizations after one that have events, in order. Costs one seek for each. */
export const organizationsAfter = async (d1: D1Database, after: string, limit: number): Promise<string[]> => {
  const first = sql`select min(${events.organization_id}) from ${events} where ${events.organization_id}`
  const { results } = await prepared(
    d1,
    sql`with recursive found (id) as (
        ${first} > ${after}
        union all
        select (${first} > found.id) from found where id is not null limit ${limit})
      select id from found where id is not null`,
  ).all<{ id: string }>()
  return results.map(({ id }) => id)
}

/** Instants in milliseconds: up to `all`, every event is forgotten, and from then on up to `unchanged`, what told of no change. */
export interface Ages {
  all: number
  unchanged: number
  /** How far back what told of no change is looked for. */
  since: number
}

/** An event to forget. */
export type Forgotten = readonly [organization_id: string, seq: number, isOld: number]

/** As stored-body.ts keeps it. */
const TELLS_NO_CHANGE = sql`(${e.body}->>'event' = 'sync.completed' and ${e.body}->>'created_count' is null
  or ${e.body}->>'event' = 'extraction.completed' and ${e.body}->>'readable_count' + ${e.body}->>'document_count'
    + ${e.body}->>'updated_count' + ${e.body}->>'cancelled_count' = 0)`
const DELIVERIES = sql`${webhooks} ${w} indexed by webhooks_organization
  cross join ${deliveries} ${d} on ${d.webhook} = ${w.webhook} and ${d.seq} = ${e.seq}
  where ${w.organization_id} = ${e.organization_id} and ${w.deleted_at} is null`

const ofOrganizations = (organizations: readonly string[]): SQL =>
  sql`from json_each(${JSON.stringify(organizations)}) o cross join ${events} ${e} on ${e.organization_id} = o.value`

/** Finds events of organizations that are to be forgotten. One that told of no change stays while a delivery of it is not delivered. */
export const findForgotten = async (
  d1: D1Database,
  organizations: readonly string[],
  { all, unchanged, since }: Ages,
  limit: number,
): Promise<Forgotten[]> =>
  (
    await prepared(
      d1,
      sql`select ${e.organization_id}, ${e.seq}, 1 as is_old ${ofOrganizations(organizations)} and ${e.seq} < ${all}
        union all
        select ${e.organization_id}, ${e.seq}, 0 ${ofOrganizations(organizations)} and ${e.seq} >= ${since} and ${e.seq} < ${unchanged}
        where ${TELLS_NO_CHANGE} and not exists (select 1 from ${DELIVERIES} and ${d.status} <> 'delivered')
        limit ${limit}`,
    ).all<{ organization_id: string; seq: number; is_old: number }>()
  ).results.map(({ organization_id, seq, is_old }) => [organization_id, seq, is_old])

/** Deletes events with their deliveries. What somebody asked to deliver again in the meantime stays. */
export const forgetStatements = (d1: D1Database, forgotten: readonly Forgotten[]): D1PreparedStatement[] =>
  [
    sql`delete from ${deliveries} where ${[deliveries.webhook, deliveries.seq, deliveries.redelivery]} in (
      select ${d.webhook}, ${d.seq}, ${d.redelivery} from (
        select value->>0 as organization_id, value->>1 as seq, value->>2 as is_old from json_each(${JSON.stringify(forgotten)}) limit -1) e
      cross join ${DELIVERIES} and (e.is_old or ${d.status} = 'delivered'))`,
    sql`delete from ${events} as ${e} where ${[e.organization_id, e.seq]} in (
        select value->>0, value->>1 from json_each(${JSON.stringify(forgotten)}))
      and not exists (select 1 from ${DELIVERIES})`,
  ].map((statement) => prepared(d1, statement))
