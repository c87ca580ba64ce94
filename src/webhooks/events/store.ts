import { jsonChunks } from '../../platform/db/commit.ts'
import { prepared, sql } from '../../platform/db/fragment.ts'
import { SCAN_ROWS, type Scan, scan } from './scan.ts'

export interface EventRow {
  seq: number
  body: string
}

/** Reads an organization's events after a place in its feed, oldest first. An RFC is named by its fiscal entity in UUID form. */
export const scanEvents = (
  d1: D1Database,
  organization_id: string,
  { event_key, entity_uuid }: { event_key: string | null; entity_uuid: string | null },
  after: number,
  limit: number,
): Promise<Scan<EventRow>> => {
  const rows = event_key === null && entity_uuid === null ? limit : Math.max(SCAN_ROWS, limit)
  const query = sql`
    select seq, case when is_match then body end as body, is_match from (
      select seq, body, (${event_key} is null or body->>'event' = ${event_key})
        and (${entity_uuid} is null or body->>'fiscal_entity_id' is ${entity_uuid}) as is_match
      from events where organization_id = ${organization_id} and seq > ${after} order by seq limit ${rows})
    order by seq`
  return scan(prepared(d1, query), rows)
}

export const findEvent = (d1: D1Database, organization_id: string, seq: number): Promise<EventRow | null> =>
  prepared(d1, sql`select seq, body from events where organization_id = ${organization_id} and seq = ${seq}`).first<EventRow>()

/** An event that is not in its organization's feed yet. */
export interface NewEvent {
  organization_id: string
  /** The payload as JSON, without its event_id. */
  body: string
  unique_id: string | null
}

/** Returns which of these events that have a unique_id are in a feed already. */
export const findTold = async (d1: D1Database, unique_ids: readonly string[]): Promise<Set<string>> => {
  const { results } = await prepared(
    d1,
    sql`select e.unique_id as id from json_each(${JSON.stringify(unique_ids)}) i cross join events e indexed by events_unique on e.unique_id = i.value`,
  ).all<{ id: string }>()
  return new Set(results.map(({ id }) => id))
}

/** Appends events to the feeds of their organizations. Refuses the batch with a unique violation if a unique_id is there already. */
export const insertEvents = (d1: D1Database, events: readonly NewEvent[], now: number): D1PreparedStatement[] =>
  jsonChunks(events.map(({ organization_id, body, unique_id }) => [organization_id, body, unique_id])).map((json) =>
    d1
      .prepare(
        `insert into events (organization_id, seq, body, unique_id)
         select n.value->>0,
           max(coalesce((select max(seq) from events where organization_id = n.value->>0), 0), ?2)
             + row_number() over (partition by n.value->>0 order by n.key),
           n.value->>1, n.value->>2
         from json_each(?1) n`,
      )
      .bind(json, now),
  )
