import { sql } from 'drizzle-orm'
import { jsonChunks } from '../../platform/db/commit.ts'
import { assertThat } from '../../platform/db/guard.ts'
import { prepared } from '../../platform/db/statement.ts'
import { RECORDED_ONLY } from '../catalog/recorded-only.ts'
import type { DeliveryRow } from './log-store.ts'

const COLUMNS = 'webhook, seq, redelivery, event_key, status, due_at, attempts, created_at'

/** Creates a delivery of the newest event of an organization to one endpoint, whether or not it subscribes to its key. Returns its place. */
export const insertDelivery = (
  d1: D1Database,
  { webhook, organization_id }: { webhook: number; organization_id: string },
  now: number,
): D1PreparedStatement =>
  d1
    .prepare(
      `insert into deliveries (${COLUMNS})
       select ?1, seq, 0, coalesce(body->>'sample_of', body->>'event'), 'pending', ?3, '[]', ?3
       from events where organization_id = ?2 order by seq desc limit 1
       returning seq`,
    )
    .bind(webhook, organization_id, now)

/** Makes the pending delivery of an event due now. Refuses the batch as `deliveries.pending` when none is pending. */
export const hasten = (d1: D1Database, { webhook, seq, redelivery }: DeliveryRow, now: number): D1PreparedStatement[] => [
  assertThat(
    d1,
    sql`exists (select 1 from deliveries where webhook = ${webhook} and seq = ${seq} and redelivery = ${redelivery} and status = 'pending')`,
    'deliveries.pending',
  ),
  prepared(
    d1,
    sql`update deliveries set due_at = min(due_at, ${now}) where webhook = ${webhook} and seq = ${seq} and redelivery = ${redelivery}`,
  ),
]

/** Creates the delivery of the same event that follows this one. Refuses the batch with a unique violation if it exists already. */
export const insertRedelivery = (d1: D1Database, { webhook, seq, redelivery, event_key }: DeliveryRow, now: number): D1PreparedStatement =>
  d1
    .prepare(
      `insert into deliveries (${COLUMNS})
       values (?1, ?2, ?3, ?4, 'pending', ?5, '[]', ?5)`,
    )
    .bind(webhook, seq, redelivery + 1, event_key, now)

/**
 * Of the events since an instant whose newest delivery to the endpoint has one of these statuses: creates a delivery of those that ended, and
 * makes those that wait due now, at most `limit` of both. Refuses the batch as `deliveries.found` when there is none.
 */
export const sendAgain = (
  d1: D1Database,
  webhook: number,
  statuses: readonly string[],
  since: number,
  now: number,
  limit: number,
): D1PreparedStatement[] => {
  const ended = sql`from deliveries d indexed by deliveries_undelivered
    where d.webhook = ${webhook} and d.seq >= ${since} and d.status in ('failed', 'lost')
      and d.status in (select value from json_each(${JSON.stringify(statuses)}))
      and not exists (select 1 from deliveries l where l.webhook = d.webhook and l.seq = d.seq and l.redelivery > d.redelivery)`
  // Only the newest delivery of an event can be pending.
  const waiting = sql`from deliveries indexed by deliveries_pending
    where webhook = ${webhook} and status = 'pending' and due_at > ${now} and seq >= ${since} and ${Number(statuses.includes('pending'))}`
  return [
    assertThat(d1, sql`exists (select 1 ${ended}) or exists (select 1 ${waiting})`, 'deliveries.found'),
    prepared(
      d1,
      sql`insert into deliveries (${sql.raw(COLUMNS)})
        select d.webhook, d.seq, d.redelivery + 1, d.event_key, 'pending', ${now}, '[]', ${now} ${ended} order by d.seq limit ${limit}`,
    ),
    prepared(
      d1,
      sql`update deliveries set due_at = ${now} where webhook = ${webhook}
        and (seq, redelivery) in (select seq, redelivery ${waiting} order by due_at limit ${limit})`,
    ),
  ]
}

const SUBSCRIBES =
  "w.is_enabled = 1 and exists (select 1 from json_each(w.event_keys) k where k.value = e.body->>'event'" +
  ` and k.value not in ('${RECORDED_ONLY.join("', '")}'))` +
  " and (w.fiscal_entity_uuids is null or exists (select 1 from json_each(w.fiscal_entity_uuids) f where f.value = e.body->>'fiscal_entity_id'))"

/** Endpoints of an organization that get their deliveries in the commit of the event. Further ones get them page by page (relay/fan-out.ts). */
const ENDPOINTS_AT_ONCE = 20

/** How many events of an organization a commit appends. Their places are the last ones of its feed, without a gap. */
export type Appended = readonly [organization_id: string, events: number]

/**
 * Statements that select from the events `e` that the same commit has appended for the organizations `t`. `t.beyond` is an organization's
 * first endpoint after twenty, null when it has none.
 */
export const ofAppended = (
  d1: D1Database,
  appended: readonly Appended[],
  [insert, columns, rest]: readonly [insert: string, columns: string, rest: string],
  ...values: number[]
): D1PreparedStatement[] =>
  jsonChunks(appended).map((json) =>
    d1
      .prepare(
        `insert into ${insert}
         with told as materialized (
           select value->>0 as organization_id,
             (select max(seq) from events where organization_id = value->>0) - (value->>1) as before, (
             select webhook from webhooks indexed by webhooks_organization
             where organization_id = value->>0 and deleted_at is null order by webhook limit 1 offset ${ENDPOINTS_AT_ONCE}) as beyond
           from json_each(?1))
         select ${columns} from told t
         cross join events e on e.organization_id = t.organization_id and e.seq > t.before
         ${rest}`,
      )
      .bind(json, ...values),
  )

/** Creates deliveries of the events to the first twenty endpoints that are enabled and subscribe to their keys. Returns the endpoints. */
export const insertDeliveries = (d1: D1Database, appended: readonly Appended[], now: number): D1PreparedStatement[] =>
  ofAppended(
    d1,
    appended,
    [
      `deliveries (${COLUMNS})`,
      "w.webhook, e.seq, 0, e.body->>'event', 'pending', ?2, '[]', ?2",
      `cross join webhooks w indexed by webhooks_organization
         on w.organization_id = t.organization_id and w.deleted_at is null and (t.beyond is null or w.webhook < t.beyond)
       where ${SUBSCRIBES} returning webhook`,
    ],
    now,
  )

/**
 * Creates a delivery of each of an organization's events for each of its endpoints in a range of numbers, as insertDeliveries does. Leaves
 * out what exists, and endpoints that are newer than the event. Returns the endpoints.
 */
export const insertDeliveriesInRange = (
  d1: D1Database,
  organization_id: string,
  seqs: readonly number[],
  { from, before }: { from: number; before: number },
  now: number,
): D1PreparedStatement =>
  d1
    .prepare(
      `insert into deliveries (${COLUMNS})
       select w.webhook, e.seq, 0, e.body->>'event', 'pending', ?5, '[]', ?5
       from json_each(?2) i
       cross join events e on e.organization_id = ?1 and e.seq = i.value
       cross join webhooks w indexed by webhooks_organization
         on w.organization_id = ?1 and w.deleted_at is null and w.webhook >= ?3 and w.webhook < ?4
       where ${SUBSCRIBES} and w.created_at <= e.seq
       on conflict do nothing
       returning webhook`,
    )
    .bind(organization_id, JSON.stringify(seqs), from, before, now)
