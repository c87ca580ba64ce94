import { type SQL, sql } from 'drizzle-orm'
import { jsonChunks } from '../../platform/db/commit.ts'
import { bare } from '../../platform/db/statement.ts'
import { events } from '../tables.ts'
import { type Scan, scan, storedOf, timeOf } from './stored-body.ts'

export interface EventRow {
  seq: number
  /** As it is stored (stored-body.ts). */
  body: string
}

/** Reads an organization's events after a position in its feed, oldest first. An RFC is named by its fiscal entity in UUID form. */
export const scanEvents = (
  d1: D1Database,
  organization_id: string,
  { event_key, entity_uuid }: { event_key: string | null; entity_uuid: string | null },
  after: number,
  rows: number,
): Promise<Scan<EventRow>> => {
  const query = sql`
    select seq, case when is_match then body end as body, is_match from (
      select ${events.seq}, ${events.body}, (${event_key} is null or ${events.body}->>'event' = ${event_key})
        and (${entity_uuid} is null or ${events.body}->>'fiscal_entity_id' is ${entity_uuid}) as is_match
      from ${events} where ${events.organization_id} = ${organization_id} and ${events.seq} > ${after} order by ${events.seq} limit ${rows})
    order by seq`
  return scan(d1, query, rows)
}

/** An event is found near the time in its identifier, or else by the index. In milliseconds. */
const NEAR_MS = 600_000

/** Finds an event by its identifier. Examines the organization's events within ten minutes of its time. */
export const findEvent = (organization_id: string, event_id: string): SQL<EventRow> => {
  const own = sql`select ${events.seq}, ${events.body} from ${events} where ${events.organization_id} = ${organization_id}`
  return sql<EventRow>`${own} and ${events.event_id} = ${event_id}
      union all
      ${own} and ${events.seq} between ${timeOf(event_id) - NEAR_MS} and ${timeOf(event_id) + NEAR_MS}
        and ${events.body}->>'event_id' = ${event_id}
      limit 1`
}

/** An event that is not in its organization's feed yet. */
export interface NewEvent {
  organization_id: string
  event_id: string
  /** The payload as JSON. */
  body: string
  /** Whether several outbox events can report the change. */
  isUnique: boolean
}

/** Returns which of these events that are unique are in a feed already. */
export const findNotified = (event_ids: readonly string[]): SQL<string> =>
  sql<string>`select ${events.event_id} as id from json_each(${JSON.stringify(event_ids)}) i
      cross join ${events} indexed by events_id on ${events.event_id} = i.value`

/** Appends events to the feeds of their organizations. Refuses the batch with a unique violation if a unique one is there already. */
export const insertEvents = (added: readonly NewEvent[], now: number): SQL[] =>
  jsonChunks(
    added.map(({ organization_id, body, event_id, isUnique }) => [
      organization_id,
      storedOf(body),
      event_id,
      isUnique ? 0 : timeOf(event_id),
    ]),
  ).map(
    (json) =>
      sql`insert into ${events} ${[events.organization_id, events.seq, events.body, events.event_id].map(bare)}
        select organization_id, seq, body, iif(abs(seq - time) > ${NEAR_MS}, event_id, null) from (
          select n.value->>0 as organization_id,
            max(coalesce((select max(${events.seq}) from ${events} where ${events.organization_id} = n.value->>0), 0), ${now})
              + row_number() over (partition by n.value->>0 order by n.key) as seq,
            n.value->>1 as body, n.value->>2 as event_id, n.value->>3 as time
          from json_each(${json}) n)`,
  )
