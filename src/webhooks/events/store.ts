import { jsonChunks } from '../../platform/db/commit.ts'
import { prepared, raw, sql } from '../../platform/db/fragment.ts'
import { SCAN_ROWS, type Scan, scan } from './scan.ts'

export interface EventRow {
  seq: number
  event_id: string
  body: string
}

/** Events about an RFC are hidden once it is unlinked. */
const IS_LINKED = raw(`(e.fiscal_entity_id is null or exists (
  select 1 from connections c where c.organization_id = e.organization_id and c.fiscal_entity_id = e.fiscal_entity_id and c.state <> 'unlinked'))`)

/** Reads an organization's events after a place in its feed, oldest first. */
export const scanEvents = (
  d1: D1Database,
  organization_id: string,
  filters: { event_key?: string | undefined; fiscal_entity_id?: string | undefined },
  after: number,
  limit: number,
): Promise<Scan<EventRow>> => {
  const { event_key = null, fiscal_entity_id = null } = filters
  const rows = event_key === null && fiscal_entity_id === null ? limit : Math.max(SCAN_ROWS, limit)
  const query = sql`
    select seq, event_id, case when is_match then body end as body, is_match from (
      select e.*, (${event_key} is null or e.key = ${event_key}) and (${fiscal_entity_id} is null or e.fiscal_entity_id = ${fiscal_entity_id})
        and ${IS_LINKED} as is_match
      from (select * from events where organization_id = ${organization_id} and seq > ${after} order by seq limit ${rows}) e)
    order by seq`
  return scan(prepared(d1, query), rows)
}

export const findEvent = (d1: D1Database, organization_id: string, event_id: string): Promise<EventRow | null> =>
  prepared(
    d1,
    sql`select e.seq, e.event_id, e.body from events e
      where e.event_id = ${event_id} and e.organization_id = ${organization_id} and ${IS_LINKED}`,
  ).first<EventRow>()

/** An event that is not in its organization's feed yet. */
export interface NewEvent {
  event_id: string
  organization_id: string
  key: string
  fiscal_entity_id: string | null
  /** The payload as JSON. */
  body: string
}

/** Appends events to the feeds of their organizations. Refuses the batch with a unique violation if one of them is there already. */
export const insertEvents = (d1: D1Database, events: readonly NewEvent[], now: number): D1PreparedStatement[] =>
  jsonChunks(events.map((event) => [event.event_id, event.organization_id, event.key, event.fiscal_entity_id, event.body])).map((json) =>
    d1
      .prepare(
        `insert into events (organization_id, seq, event_id, key, fiscal_entity_id, body)
         select n.value->>1,
           max(coalesce((select max(seq) from events where organization_id = n.value->>1), 0), ?2)
             + row_number() over (partition by n.value->>1 order by n.key),
           n.value->>0, n.value->>2, n.value->>3, n.value->>4
         from json_each(?1) n`,
      )
      .bind(json, now),
  )
