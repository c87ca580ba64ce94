import { jsonChunks } from '../platform/db/commit.ts'
import type { StoredOutboxEvent } from './outbox.ts'

export type { StoredOutboxEvent }

/** The largest event that the relay reads. D1 takes rows of 2 MB. */
export const MAX_EVENT_BYTES = 1_500_000
/** How much the relay holds in memory at once. */
const MAX_PAGE_BYTES = 4_000_000

/** An event as the relay reads it, with how far it is relayed. */
export interface PendingEvent extends Omit<StoredOutboxEvent, 'body'> {
  /** Null when the event, or the page, is too large to be held in memory. */
  body: string | null
  /** Bytes of its body and organizations. */
  bytes: number
  progress: number
  attempts: number
  /** Of an event that has no row of its own: the event that lists it, and its entry there, as JSON. */
  list?: string
  entry?: string
}

/** A part of a page: events of one entity after an identifier. */
export interface PagePart {
  entity: number
  after: string
  count: number
}

/** Returns the entities after a number that have events in the outbox, in ascending order. Costs one seek for each. */
export const pendingEntities = async (d1: D1Database, after: number, limit: number): Promise<number[]> =>
  (
    await d1
      .prepare(
        `with recursive pending (entity) as (
           select (select entity from outbox where entity > ?1 order by entity limit 1)
           union all
           select (select entity from outbox where entity > pending.entity order by entity limit 1) from pending where entity is not null
           limit ?2)
         select entity from pending where entity is not null`,
      )
      .bind(after, limit)
      .all<{ entity: number }>()
  ).results.map(({ entity }) => entity)

/**
 * Reads the parts of a page: the first event of each entity, then the second of each, and so on. Events that wait after a failure are left
 * out.
 */
export const readPage = async (d1: D1Database, parts: readonly PagePart[], now: number): Promise<PendingEvent[]> =>
  (
    await d1
      .prepare(
        `with found as materialized (
           select p.key as part, o.fact_id, o.entity, octet_length(o.body) + coalesce(octet_length(o.organizations), 0) as bytes,
             row_number() over (partition by p.key order by o.fact_id) as n
           from json_each(?1) p cross join outbox o on o.entity = p.value->>0 and o.fact_id in (
             select fact_id from outbox where entity = p.value->>0 and fact_id > p.value->>1 and retry_at <= ?2 order by fact_id limit ?3)),
         page as materialized (
           select f.*, sum(iif(bytes <= ?4, bytes, 0)) over (order by f.n, f.part) as held
           from json_each(?1) p cross join found f on f.part = p.key and f.n <= p.value->>2)
         select o.fact_id as outbox_event_id, o.kind, o.entity, o.created_at, o.progress, o.attempts, p.bytes,
           iif(p.bytes <= ?4 and p.held <= ?5, o.organizations, null) as organizations, iif(p.bytes <= ?4 and p.held <= ?5, o.body, null) as body
         from page p cross join outbox o on o.entity = p.entity and o.fact_id = p.fact_id
         order by p.n, p.part`,
      )
      .bind(
        JSON.stringify(parts.map(({ entity, after, count }) => [entity, after, count])),
        now,
        Math.max(...parts.map(({ count }) => count)),
        MAX_EVENT_BYTES,
        MAX_PAGE_BYTES,
      )
      .all<PendingEvent>()
  ).results

type Key = Pick<StoredOutboxEvent, 'entity' | 'outbox_event_id'>

const keysOf = (events: readonly Key[]): string => JSON.stringify(events.map(({ entity, outbox_event_id }) => [entity, outbox_event_id]))

/** Deletes events that are relayed. */
export const deleteStatement = (d1: D1Database, events: readonly Key[]): D1PreparedStatement =>
  d1.prepare('delete from outbox where (entity, fact_id) in (select value->>0, value->>1 from json_each(?))').bind(keysOf(events))

/** Keeps how far events are relayed. Progress is never taken back. */
export const moveStatement = (d1: D1Database, events: readonly (Key & { progress: number })[]): D1PreparedStatement =>
  d1
    .prepare(
      `update outbox set progress = max(progress, m.value->>2), attempts = 0 from json_each(?) m
       where outbox.entity = m.value->>0 and outbox.fact_id = m.value->>1`,
    )
    .bind(JSON.stringify(events.map(({ entity, outbox_event_id, progress }) => [entity, outbox_event_id, progress])))

/** Whether an event has no row of its own. */
export const isListed = ({ list }: PendingEvent): boolean => list !== undefined

/** Takes events from the lists in which they are. A list goes with its last event. */
export const strikeStatements = (d1: D1Database, events: readonly PendingEvent[]): D1PreparedStatement[] => {
  if (events.length === 0) return []
  const json = JSON.stringify(events.map(({ entity, list, entry }) => [entity, list, entry]))
  const lists = '(entity, fact_id) in (select value->>0, value->>1 from json_each(?1))'
  const left = 'json_each(body) b where (entity, fact_id, b.value) not in (select value->>0, value->>1, value->>2 from json_each(?1))'
  return [
    d1.prepare(`delete from outbox where ${lists} and not exists (select 1 from ${left})`).bind(json),
    d1.prepare(`update outbox set body = (select json_group_array(json(b.value)) from ${left}) where ${lists}`).bind(json),
  ]
}

/** Gives those of the events that are listed rows of their own, so that they have attempts and progress of their own. */
export const detachStatements = (d1: D1Database, events: readonly PendingEvent[]): D1PreparedStatement[] => {
  const listed = events.filter(isListed)
  if (listed.length === 0) return []
  const rows = listed.map(({ entity, outbox_event_id, kind, organizations, body, created_at }) => [
    ...[entity, outbox_event_id, kind, organizations, body, created_at],
  ])
  return [
    ...jsonChunks(rows).map((json) =>
      d1
        .prepare(
          `insert into outbox (entity, fact_id, kind, organizations, body, created_at)
           select value->>0, value->>1, value->>2, value->>3, value->>4, value->>5 from json_each(?1) where true on conflict do nothing`,
        )
        .bind(json),
    ),
    ...strikeStatements(d1, listed),
  ]
}

const FIRST_WAIT_MS = 5_000

/** Counts a failed attempt of each event. They wait for 5 seconds after the first, and twice as long after each of the next four. */
export const failStatement = (d1: D1Database, events: readonly Key[], now: number): D1PreparedStatement =>
  d1
    .prepare(
      `update outbox set attempts = attempts + 1, retry_at = ?2 + (?3 << min(attempts, 4))
       where (entity, fact_id) in (select value->>0, value->>1 from json_each(?1))`,
    )
    .bind(keysOf(events), now, FIRST_WAIT_MS)

const COLUMNS = 'entity, fact_id, kind, organizations, body, created_at, progress'

/** Puts events aside, whatever their size. */
export const putAsideStatements = (d1: D1Database, events: readonly Key[]): D1PreparedStatement[] => [
  d1
    .prepare(
      `insert or replace into outbox_aside (${COLUMNS}) select ${COLUMNS} from outbox
       where (entity, fact_id) in (select value->>0, value->>1 from json_each(?))`,
    )
    .bind(keysOf(events)),
  deleteStatement(d1, events),
]

/** Puts events back that were put aside, so that the relay goes on where it stopped. */
export const putBackStatements = (d1: D1Database, events: readonly Key[]): D1PreparedStatement[] => [
  d1
    .prepare(
      `insert into outbox (${COLUMNS}) select ${COLUMNS} from outbox_aside
       where (entity, fact_id) in (select value->>0, value->>1 from json_each(?)) on conflict do nothing`,
    )
    .bind(keysOf(events)),
  dropStatement(d1, events),
]

/** Deletes events that were put aside. */
export const dropStatement = (d1: D1Database, events: readonly Key[]): D1PreparedStatement =>
  d1.prepare('delete from outbox_aside where (entity, fact_id) in (select value->>0, value->>1 from json_each(?))').bind(keysOf(events))
