import { jsonChunks } from '../../platform/db/commit.ts'
import type { DeliveryRow } from './log-store.ts'

const COLUMNS = 'webhook, seq, redelivery, event_key, status, due_at, attempts, created_at'

/** Creates a delivery of one event to one endpoint, whether or not the endpoint subscribes to its key. */
export const insertDelivery = (d1: D1Database, webhook: number, event_id: string, now: number): D1PreparedStatement =>
  d1
    .prepare(
      `insert into deliveries (${COLUMNS})
       select ?1, seq, 0, key, 'pending', ?3, '[]', ?3 from events where event_id = ?2`,
    )
    .bind(webhook, event_id, now)

/** Creates the delivery of the same event that follows this one. Refuses the batch with a unique violation if it exists already. */
export const insertRedelivery = (d1: D1Database, { webhook, seq, redelivery, event_key }: DeliveryRow, now: number): D1PreparedStatement =>
  d1
    .prepare(
      `insert into deliveries (${COLUMNS})
       values (?1, ?2, ?3, ?4, 'pending', ?5, '[]', ?5)`,
    )
    .bind(webhook, seq, redelivery + 1, event_key, now)

/** Creates a delivery of each event since an instant whose newest delivery to the endpoint ended with one of these statuses. */
export const insertRedeliveries = (
  d1: D1Database,
  webhook: number,
  statuses: readonly string[],
  since: number,
  now: number,
  limit: number,
): D1PreparedStatement =>
  d1
    .prepare(
      `insert into deliveries (${COLUMNS})
       select ?1, d.seq, d.redelivery + 1, d.event_key, 'pending', ?4, '[]', ?4
       from deliveries d indexed by deliveries_undelivered
       where d.webhook = ?1 and d.seq >= ?2 and d.status in ('failed', 'lost') and d.status in (select value from json_each(?3))
         and not exists (select 1 from deliveries l where l.webhook = d.webhook and l.seq = d.seq and l.redelivery > d.redelivery)
       order by d.seq limit ?5`,
    )
    .bind(webhook, since, JSON.stringify(statuses), now, limit)

const SUBSCRIBES = 'w.is_enabled = 1 and exists (select 1 from json_each(w.event_keys) k where k.value = e.key)'

/** Creates a delivery of each of these events for each enabled endpoint before a number that subscribes to its key. Returns the endpoints. */
export const insertDeliveries = (
  d1: D1Database,
  events: readonly { event_id: string; before: number }[],
  now: number,
): D1PreparedStatement[] =>
  jsonChunks(events.map(({ event_id, before }) => [event_id, before])).map((json) =>
    d1
      .prepare(
        `insert into deliveries (${COLUMNS})
         select w.webhook, e.seq, 0, e.key, 'pending', ?2, '[]', ?2
         from json_each(?1) i
         cross join events e on e.event_id = i.value->>0
         cross join webhooks w indexed by webhooks_organization
           on w.organization_id = e.organization_id and w.deleted_at is null and w.webhook < i.value->>1
         where ${SUBSCRIBES}
         returning webhook`,
      )
      .bind(json, now),
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
       select w.webhook, e.seq, 0, e.key, 'pending', ?5, '[]', ?5
       from json_each(?2) i
       cross join events e on e.organization_id = ?1 and e.seq = i.value
       cross join webhooks w indexed by webhooks_organization
         on w.organization_id = ?1 and w.deleted_at is null and w.webhook >= ?3 and w.webhook < ?4
       where ${SUBSCRIBES} and w.created_at <= e.seq
       on conflict do nothing
       returning webhook`,
    )
    .bind(organization_id, JSON.stringify(seqs), from, before, now)
