/** Returns the first organizations after one that have events, in order. Costs one seek for each. */
export const organizationsAfter = async (d1: D1Database, after: string, limit: number): Promise<string[]> =>
  (
    await d1
      .prepare(
        `with recursive found (id) as (
           select min(organization_id) from events where organization_id > ?1
           union all
           select (select min(organization_id) from events where organization_id > found.id) from found where id is not null limit ?2)
         select id from found where id is not null`,
      )
      .bind(after, limit)
      .all<{ id: string }>()
  ).results.map(({ id }) => id)

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
const TELLS_NO_CHANGE = `(e.body->>'event' = 'sync.completed' and e.body->>'created_count' is null
  or e.body->>'event' = 'extraction.completed'
    and e.body->>'readable_count' + e.body->>'document_count' + e.body->>'updated_count' + e.body->>'cancelled_count' = 0)`
const DELIVERIES = `webhooks w indexed by webhooks_organization
  cross join deliveries d on d.webhook = w.webhook and d.seq = e.seq
  where w.organization_id = e.organization_id and w.deleted_at is null`

/** Finds events of organizations that are to be forgotten. One that told of no change stays while a delivery of it is not delivered. */
export const findForgotten = async (
  d1: D1Database,
  organizations: readonly string[],
  { all, unchanged, since }: Ages,
  limit: number,
): Promise<Forgotten[]> =>
  (
    await d1
      .prepare(
        `select e.organization_id, e.seq, 1 as is_old from json_each(?1) o cross join events e on e.organization_id = o.value and e.seq < ?2
         union all
         select e.organization_id, e.seq, 0 from json_each(?1) o
         cross join events e on e.organization_id = o.value and e.seq >= ?3 and e.seq < ?4
         where ${TELLS_NO_CHANGE} and not exists (select 1 from ${DELIVERIES} and d.status <> 'delivered')
         limit ?5`,
      )
      .bind(JSON.stringify(organizations), all, since, unchanged, limit)
      .all<{ organization_id: string; seq: number; is_old: number }>()
  ).results.map(({ organization_id, seq, is_old }) => [organization_id, seq, is_old])

/** Deletes events with their deliveries. What somebody asked to deliver again in the meantime stays. */
export const forgetStatements = (d1: D1Database, forgotten: readonly Forgotten[]): D1PreparedStatement[] =>
  [
    `delete from deliveries where (webhook, seq, redelivery) in (
       select d.webhook, d.seq, d.redelivery
       from (select value->>0 as organization_id, value->>1 as seq, value->>2 as is_old from json_each(?1) limit -1) e
       cross join ${DELIVERIES} and (e.is_old or d.status = 'delivered'))`,
    `delete from events as e where (organization_id, seq) in (select value->>0, value->>1 from json_each(?1))
       and not exists (select 1 from ${DELIVERIES})`,
  ].map((sql) => d1.prepare(sql).bind(JSON.stringify(forgotten)))
