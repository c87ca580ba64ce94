import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { jsonChunks, type Statement } from '../../platform/db/commit.ts'
import { assertThat } from '../../platform/db/guard.ts'
import { bare } from '../../platform/db/statement.ts'
import type { Position } from '../../platform/paging/cursor.ts'
import { RECORDED_ONLY } from '../catalog/recorded-only.ts'
import { type Scan, scan } from '../events/stored-body.ts'
import { deliveries, events, webhooks } from '../tables.ts'

export type DeliveryRow = Pick<
  typeof deliveries.$inferSelect,
  'webhook' | 'seq' | 'redelivery' | 'event_key' | 'status' | 'due_at' | 'created_at'
> & {
  event_id: string
  /** The fiscal entity that the event is about. */
  about: string | null
  period: string | null
  /** JSON. */
  attempts: string
}

const [d, l, e, w] = [alias(deliveries, 'd'), alias(deliveries, 'l'), alias(events, 'e'), alias(webhooks, 'w')]
const LOG_COLUMNS = sql`${d.webhook}, ${d.seq}, ${d.redelivery}, ${d.event_key}, ${d.status}, ${d.due_at}, ${d.created_at}, ${d.attempts},
  ${e.body}->>'event_id' as event_id, ${e.body}->>'fiscal_entity_id' as about, ${e.body}->>'period' as period`
const withEvent = (organization_id: string): SQL =>
  sql`cross join ${events} ${e} on ${e.organization_id} = ${organization_id} and ${e.seq} = ${d.seq}`

interface DeliveryFilters {
  status?: DeliveryRow['status'] | null | undefined
  event_key?: string | null | undefined
  /** In UUID form. */
  bound_to?: readonly string[] | undefined
}

/** Reads an endpoint's deliveries after a position, newest event first. */
export function scanDeliveries(
  d1: D1Database,
  { webhook, organization_id }: { webhook: number; organization_id: string },
  { status = null, event_key = null, bound_to }: DeliveryFilters,
  after: Position | undefined,
  rows: number,
): Promise<Scan<DeliveryRow>> {
  const isIndexed = status === 'failed' || status === 'lost'
  const { seq, redelivery } = deliveries
  const before = after && sql`and ${[seq, redelivery]} < (${after[0]!}, ${after[1]!})`
  const indexed = sql`indexed by deliveries_undelivered where ${deliveries.status} in ('failed', 'lost') and`
  const query = sql`
    select ${LOG_COLUMNS},
      (${status} is null or ${d.status} = ${status}) and (${event_key} is null or ${d.event_key} = ${event_key})
        and ${bound_to ? sql`coalesce(${e.body}->>'fiscal_entity_id' in (select value from json_each(${JSON.stringify(bound_to)})), 1)` : sql`1`} as is_match
    from (select * from ${deliveries} ${isIndexed ? indexed : sql`where`} ${deliveries.webhook} = ${webhook} ${before}
      order by ${seq} desc, ${redelivery} desc limit ${rows}) d
    ${withEvent(organization_id)}
    order by ${d.seq} desc, ${d.redelivery} desc`
  return scan(d1, query, rows)
}

/** Finds the newest delivery of an event, named by its position in the feed, to an endpoint. */
export const findDelivery = ({ webhook, organization_id }: { webhook: number; organization_id: string }, seq: number): SQL<DeliveryRow> =>
  sql<DeliveryRow>`select ${LOG_COLUMNS} from ${deliveries} ${d} ${withEvent(organization_id)}
      where ${d.webhook} = ${webhook} and ${d.seq} = ${seq} order by ${d.redelivery} desc limit 1`

const COLUMNS = [
  ...[deliveries.webhook, deliveries.seq, deliveries.redelivery, deliveries.event_key],
  ...[deliveries.status, deliveries.due_at, deliveries.attempts, deliveries.created_at],
].map(bare)

/** Creates a delivery of the newest event of an organization to one endpoint, whether or not it subscribes to its key. Returns its position. */
export const insertDelivery = ({ webhook, organization_id }: { webhook: number; organization_id: string }, now: number): SQL =>
  sql`insert into ${deliveries} ${COLUMNS}
      select ${webhook}, ${events.seq}, 0, coalesce(${events.body}->>'sample_of', ${events.body}->>'event'), 'pending', ${now}, '[]', ${now}
      from ${events} where ${events.organization_id} = ${organization_id} order by ${events.seq} desc limit 1
      returning ${bare(deliveries.seq)}`

/** Makes the pending delivery of an event due now. Refuses the batch as `deliveries.pending` when none is pending. */
export const hasten = ({ webhook, seq, redelivery }: DeliveryRow, now: number): Statement[] => {
  const isIt = sql`${deliveries.webhook} = ${webhook} and ${deliveries.seq} = ${seq} and ${deliveries.redelivery} = ${redelivery}`
  return [
    assertThat(sql`exists (select 1 from ${deliveries} where ${isIt} and ${deliveries.status} = 'pending')`, 'deliveries.pending'),
    sql`update ${deliveries} set ${bare(deliveries.due_at)} = min(${deliveries.due_at}, ${now}) where ${isIt}`,
  ]
}

/** Creates the delivery of the same event that follows this one. Refuses the batch with a unique violation if it exists already. */
export const insertRedelivery = ({ webhook, seq, redelivery, event_key }: DeliveryRow, now: number): SQL =>
  sql`insert into ${deliveries} ${COLUMNS}
      values (${webhook}, ${seq}, ${redelivery + 1}, ${event_key}, 'pending', ${now}, '[]', ${now})`

/**
 * For each event since an instant whose newest delivery to the endpoint has one of these statuses, creates a delivery if that one ended,
 * and makes it due now if it waits, at most `limit` of each. Refuses the batch as `deliveries.found` when there is none.
 */
export const sendAgain = (webhook: number, statuses: readonly string[], since: number, now: number, limit: number): Statement[] => {
  const ended = sql`from ${deliveries} ${d} indexed by deliveries_undelivered
    where ${d.webhook} = ${webhook} and ${d.seq} >= ${since} and ${d.status} in ('failed', 'lost')
      and ${d.status} in (select value from json_each(${JSON.stringify(statuses)}))
      and not exists (select 1 from ${deliveries} ${l}
        where ${l.webhook} = ${d.webhook} and ${l.seq} = ${d.seq} and ${l.redelivery} > ${d.redelivery})`
  // Only the newest delivery of an event can be pending.
  const waiting = sql`from ${deliveries} indexed by deliveries_pending
    where ${deliveries.webhook} = ${webhook} and ${deliveries.status} = 'pending' and ${deliveries.due_at} > ${now} and ${deliveries.seq} >= ${since}
      and ${Number(statuses.includes('pending'))}`
  return [
    assertThat(sql`exists (select 1 ${ended}) or exists (select 1 ${waiting})`, 'deliveries.found'),
    sql`insert into ${deliveries} ${COLUMNS}
      select ${d.webhook}, ${d.seq}, ${d.redelivery} + 1, ${d.event_key}, 'pending', ${now}, '[]', ${now} ${ended}
      order by ${d.seq} limit ${limit}`,
    sql`update ${deliveries} set ${bare(deliveries.due_at)} = ${now} where ${deliveries.webhook} = ${webhook}
      and ${[deliveries.seq, deliveries.redelivery]} in (
        select ${deliveries.seq}, ${deliveries.redelivery} ${waiting} order by ${deliveries.due_at} limit ${limit})`,
  ]
}

const SUBSCRIBES = sql`${w.is_enabled} = 1
  and exists (select 1 from json_each(${w.event_keys}) k where k.value = ${e.body}->>'event'
    and k.value not in (${sql.raw(`'${RECORDED_ONLY.join("', '")}'`)}))
  and (${w.fiscal_entity_uuids} is null
    or exists (select 1 from json_each(${w.fiscal_entity_uuids}) f where f.value = ${e.body}->>'fiscal_entity_id'))
  and (${w.direction} is null or coalesce(${e.body}->>'direction',
    case ${e.body}->>'data_source_key' when 'sat_cfdi_issued' then 'issued' when 'sat_cfdi_received' then 'received' end, ${w.direction}) = ${w.direction})
  and (${w.cfdi_types} is null or ${e.body}->>'cfdi_type' is null
    or exists (select 1 from json_each(${w.cfdi_types}) y where y.value = ${e.body}->>'cfdi_type'))`

/** Endpoints of an organization that get their deliveries in the commit of the event. Further ones get them page by page (relay.ts). */
const ENDPOINTS_AT_ONCE = 20

/** How many events of an organization a commit appends. Their places are the last ones of its feed, without a gap. */
export type Appended = readonly [organization_id: string, events: number]

/**
 * Statements that select from the events `e` that the same commit has appended for the organizations `t`. `t.beyond` is an organization's
 * first endpoint after twenty, null when it has none.
 */
export const ofAppended = (
  appended: readonly Appended[],
  [insert, columns, rest]: readonly [insert: SQL, columns: SQL, rest: SQL],
): SQL[] =>
  jsonChunks(appended).map(
    (json) =>
      sql`insert into ${insert}
        with made as materialized (
          select value->>0 as organization_id,
            (select max(${events.seq}) from ${events} where ${events.organization_id} = value->>0) - (value->>1) as before, (
            select ${webhooks.webhook} from ${webhooks} indexed by webhooks_organization
            where ${webhooks.organization_id} = value->>0 and ${webhooks.deleted_at} is null
            order by ${webhooks.webhook} limit 1 offset ${sql.raw(String(ENDPOINTS_AT_ONCE))}) as beyond
          from json_each(${json}))
        select ${columns} from made t
        cross join ${events} ${e} on ${e.organization_id} = t.organization_id and ${e.seq} > t.before
        ${rest}`,
  )

const delivered = (now: number): SQL => sql`${w.webhook}, ${e.seq}, 0, ${e.body}->>'event', 'pending', ${now}, '[]', ${now}`

/** Creates deliveries of the events to the first twenty endpoints that are enabled and subscribe to their keys. Returns the endpoints. */
export const insertDeliveries = (appended: readonly Appended[], now: number): SQL[] =>
  ofAppended(appended, [
    sql`${deliveries} ${COLUMNS}`,
    delivered(now),
    sql`cross join ${webhooks} ${w} indexed by webhooks_organization
        on ${w.organization_id} = t.organization_id and ${w.deleted_at} is null and (t.beyond is null or ${w.webhook} < t.beyond)
      where ${SUBSCRIBES} returning ${bare(deliveries.webhook)}`,
  ])

/**
 * Creates a delivery of each of an organization's events for each of its endpoints in a range of numbers, as insertDeliveries does. Leaves
 * out existing deliveries, and endpoints that are newer than the event. Returns the endpoints.
 */
export const insertDeliveriesInRange = (
  organization_id: string,
  seqs: readonly number[],
  { from, before }: { from: number; before: number },
  now: number,
): SQL =>
  sql`insert into ${deliveries} ${COLUMNS}
      select ${delivered(now)}
      from json_each(${JSON.stringify(seqs)}) i
      cross join ${events} ${e} on ${e.organization_id} = ${organization_id} and ${e.seq} = i.value
      cross join ${webhooks} ${w} indexed by webhooks_organization
        on ${w.organization_id} = ${organization_id} and ${w.deleted_at} is null and ${w.webhook} >= ${from} and ${w.webhook} < ${before}
      where ${SUBSCRIBES} and ${w.created_at} <= ${e.seq}
      on conflict do nothing
      returning ${bare(deliveries.webhook)}`
