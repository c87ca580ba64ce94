import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { jsonChunks } from '../db/commit.ts'
import { bare, readRows } from '../db/statement.ts'
import type { StoredOutboxEvent } from './outbox.ts'
import { outbox, outboxQuarantined } from './tables.ts'

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
  /** For an event that has no row of its own: the event that lists it, and its entry there, as JSON. */
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
    await readRows<{ entity: number }>(
      d1,
      sql`with recursive pending (entity) as (
            select (select ${outbox.entity} from ${outbox} where ${outbox.entity} > ${after} order by ${outbox.entity} limit 1)
            union all
            select (select ${outbox.entity} from ${outbox} where ${outbox.entity} > pending.entity order by ${outbox.entity} limit 1)
            from pending where entity is not null
            limit ${limit})
          select entity from pending where entity is not null`,
    )
  ).map(({ entity }) => entity)

const o = alias(outbox, 'o')

/**
 * Reads the parts of a page: the first event of each entity, then the second of each, and so on. Events that wait after a failure are left
 * out.
 */
export const readPage = async (d1: D1Database, parts: readonly PagePart[], now: number): Promise<PendingEvent[]> => {
  const asked = sql`json_each(${JSON.stringify(parts.map(({ entity, after, count }) => [entity, after, count]))}) p`
  const most = Math.max(...parts.map(({ count }) => count))
  const fits = sql`p.bytes <= ${MAX_EVENT_BYTES} and p.sum_of_bytes <= ${MAX_PAGE_BYTES}`
  const statement = sql`with found as materialized (
          select p.key as part, ${o.outbox_event_id}, ${o.entity},
            octet_length(${o.body}) + coalesce(octet_length(${o.organizations}), 0) as bytes,
            row_number() over (partition by p.key order by ${o.outbox_event_id}) as n
          from ${asked} cross join ${outbox} ${o} on ${o.entity} = p.value->>0 and ${o.outbox_event_id} in (
            select ${outbox.outbox_event_id} from ${outbox}
            where ${outbox.entity} = p.value->>0 and ${outbox.outbox_event_id} > p.value->>1 and ${outbox.retry_at} <= ${now}
            order by ${outbox.outbox_event_id} limit ${most})),
        page as materialized (
          select f.*, sum(iif(bytes <= ${MAX_EVENT_BYTES}, bytes, 0)) over (order by f.n, f.part) as sum_of_bytes
          from ${asked} cross join found f on f.part = p.key and f.n <= p.value->>2)
        select ${o.outbox_event_id} as outbox_event_id, ${o.kind}, ${o.entity}, ${o.created_at}, ${o.progress}, ${o.attempts}, p.bytes,
          iif(${fits}, ${o.organizations}, null) as organizations, iif(${fits}, ${o.body}, null) as body
        from page p cross join ${outbox} ${o}
          on ${o.entity} = p.${bare(o.entity)} and ${o.outbox_event_id} = p.${bare(o.outbox_event_id)}
        order by p.n, p.part`
  return readRows<PendingEvent>(d1, statement)
}

type Key = Pick<StoredOutboxEvent, 'entity' | 'outbox_event_id'>

const keysOf = (events: readonly Key[]): string => JSON.stringify(events.map(({ entity, outbox_event_id }) => [entity, outbox_event_id]))

/** The condition that a row is of an event of this JSON list. */
const isAmong = ({ entity, outbox_event_id }: typeof outbox | typeof outboxQuarantined, json: string): SQL =>
  sql`${[entity, outbox_event_id]} in (select value->>0, value->>1 from json_each(${json}))`

/** Deletes events that are relayed. */
export const deleteStatement = (events: readonly Key[]): SQL => sql`delete from ${outbox} where ${isAmong(outbox, keysOf(events))}`

/** Keeps how far events are relayed. Progress is never taken back. */
export const moveStatement = (events: readonly (Key & { progress: number })[]): SQL => {
  const json = JSON.stringify(events.map(({ entity, outbox_event_id, progress }) => [entity, outbox_event_id, progress]))
  return sql`update ${outbox} set ${bare(outbox.progress)} = max(${outbox.progress}, m.value->>2), ${bare(outbox.attempts)} = 0
        from json_each(${json}) m where ${outbox.entity} = m.value->>0 and ${outbox.outbox_event_id} = m.value->>1`
}

/** Whether an event has no row of its own. */
export const isListed = ({ list }: PendingEvent): boolean => list !== undefined

/** Takes events from the lists in which they are. A list goes with its last event. */
export const strikeStatements = (events: readonly PendingEvent[]): SQL[] => {
  if (events.length === 0) return []
  const json = JSON.stringify(events.map(({ entity, list, entry }) => [entity, list, entry]))
  const lists = `[${[...new Set(events.map(({ entity, list }) => JSON.stringify([entity, list])))].join()}]`
  const left = sql`json_each(${outbox.body}) b where (${outbox.entity}, ${outbox.outbox_event_id}, b.value) not in (
    select value->>0, value->>1, value->>2 from json_each(${json}))`
  return [
    sql`delete from ${outbox} where ${isAmong(outbox, lists)} and not exists (select 1 from ${left})`,
    sql`update ${outbox} set ${bare(outbox.body)} = (select json_group_array(json(b.value)) from ${left}) where ${isAmong(outbox, lists)}`,
  ]
}

/** The columns of an event that both tables have and that are known when it is written. */
const EVENT = [outbox.entity, outbox.outbox_event_id, outbox.kind, outbox.organizations, outbox.body, outbox.created_at].map(bare)

/** Gives listed events rows of their own, so that they have attempts and progress of their own. */
export const detachStatements = (events: readonly PendingEvent[]): SQL[] => {
  const listed = events.filter(isListed)
  if (listed.length === 0) return []
  const rows = listed.map(({ entity, outbox_event_id, kind, organizations, body, created_at }) => [
    ...[entity, outbox_event_id, kind, organizations, body, created_at],
  ])
  return [
    ...jsonChunks(rows).map(
      (json) =>
        sql`insert into ${outbox} ${EVENT}
            select value->>0, value->>1, value->>2, value->>3, value->>4, value->>5 from json_each(${json}) where true on conflict do nothing`,
    ),
    ...strikeStatements(listed),
  ]
}

const FIRST_WAIT_MS = 5_000

/** Counts a failed attempt of each event. They wait for 5 seconds after the first, and twice as long after each of the next four. */
export const failStatement = (events: readonly Key[], now: number): SQL =>
  sql`update ${outbox} set ${bare(outbox.attempts)} = ${outbox.attempts} + 1,
          ${bare(outbox.retry_at)} = ${now} + (${FIRST_WAIT_MS} << min(${outbox.attempts}, 4))
        where ${isAmong(outbox, keysOf(events))}`

const COLUMNS = sql.join([...EVENT, bare(outbox.progress)], sql`, `)

/** Quarantines events, whatever their size. */
export const quarantineStatements = (events: readonly Key[]): SQL[] => [
  sql`insert or replace into ${outboxQuarantined} (${COLUMNS}) select ${COLUMNS} from ${outbox} where ${isAmong(outbox, keysOf(events))}`,
  deleteStatement(events),
]

/** Puts quarantined events back, so that the relay continues where it stopped. */
export const putBackStatements = (events: readonly Key[]): SQL[] => [
  sql`insert into ${outbox} (${COLUMNS}) select ${COLUMNS} from ${outboxQuarantined}
        where ${isAmong(outboxQuarantined, keysOf(events))} on conflict do nothing`,
  dropStatement(events),
]

/** Deletes quarantined events. */
export const dropStatement = (events: readonly Key[]): SQL =>
  sql`delete from ${outboxQuarantined} where ${isAmong(outboxQuarantined, keysOf(events))}`
