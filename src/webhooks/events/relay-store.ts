import { jsonChunks } from '../../platform/db/commit.ts'
import type { StoredOutboxEvent } from './payloads.ts'

/** An event that is not in its organization's feed yet. */
export interface NewEvent {
  event_id: string
  organization_id: string
  key: string
  fiscal_entity_id: string | null
  body: string
}

export const readOutbox = async (outbox: D1Database, after: string, limit: number): Promise<StoredOutboxEvent[]> =>
  (
    await outbox
      .prepare('select fact_id, kind, entity, organizations, body, created_at from outbox where fact_id > ? order by fact_id limit ?')
      .bind(after, limit)
      .all<StoredOutboxEvent>()
  ).results

export const hasOutboxEvents = async (outbox: D1Database): Promise<boolean> =>
  (await outbox.prepare('select 1 from outbox limit 1').first()) !== null

export const deleteOutboxEvents = (outbox: D1Database, fact_ids: readonly string[]): D1PreparedStatement =>
  outbox.prepare('delete from outbox where fact_id in (select value from json_each(?))').bind(JSON.stringify(fact_ids))

export interface ListenerRow {
  entity: number
  organization_id: string
  fiscal_entity_id: string
  rfc: string
  state: string
  /** Milliseconds: at the latest when it got into its state. */
  updated_at: number
  visible_from: string | null
  visible_to: number | null
  extractor_count: number
  /** 1 while a run of the organization has not been carried out: its window may be about to widen. */
  is_running: number
}

/** Everybody who has these entities linked. */
export const listenersOf = async (d1: D1Database, entities: readonly number[]): Promise<ListenerRow[]> =>
  (
    await d1
      .prepare(
        `with running as materialized (select distinct organization_id from runs indexed by runs_planned where status = 'planned')
         select c.entity, c.organization_id, c.fiscal_entity_id, c.rfc, c.state, c.updated_at, c.visible_from, c.visible_to, o.extractor_count,
           c.organization_id in running as is_running
         from json_each(?) e
         cross join connections c indexed by connections_entity on c.entity = e.value and c.state <> 'unlinked'
         cross join organizations o on o.id = c.organization_id`,
      )
      .bind(JSON.stringify(entities))
      .all<ListenerRow>()
  ).results

export const knownEvents = async (d1: D1Database, event_ids: readonly string[]): Promise<Set<string>> => {
  const asked = jsonChunks(event_ids).map((json) =>
    d1.prepare('select event_id from json_each(?) i cross join events on event_id = i.value').bind(json),
  )
  const results = await d1.batch<{ event_id: string }>(asked)
  return new Set(results.flatMap((one) => one.results).map(({ event_id }) => event_id))
}

/** Puts events at the end of their organizations' feeds. Fails as a whole when one of them is known already. */
export const insertEvents = (d1: D1Database, events: readonly NewEvent[], now: number): D1PreparedStatement[] =>
  jsonChunks(events.map((it) => [it.event_id, it.organization_id, it.key, it.fiscal_entity_id, it.body])).map((json) =>
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

/** The endpoint ?1; null, which a delivery's may not be, once it is deleted: its log is cleared, and nothing is added to it. */
export const KEPT_ENDPOINT = 'select webhook from webhooks where webhook = ?1 and deleted_at is null'

/** One delivery of each of these new events for each endpoint that is told of its key; answers the endpoints. */
export const insertDeliveries = (d1: D1Database, event_ids: readonly string[], now: number): D1PreparedStatement[] =>
  jsonChunks(event_ids).map((json) =>
    d1
      .prepare(
        `insert into deliveries (webhook, seq, redelivery, event_key, status, due_at, attempts, created_at)
         select w.webhook, e.seq, 0, e.key, 'pending', ?2, '[]', ?2
         from json_each(?1) i
         cross join events e on e.event_id = i.value
         cross join webhooks w indexed by webhooks_organization on w.organization_id = e.organization_id and w.deleted_at is null
         where w.is_enabled = 1 and exists (select 1 from json_each(w.event_keys) k where k.value = e.key)
         returning webhook`,
      )
      .bind(json, now),
  )

/** One delivery of one event to one endpoint, whatever it is told of. Refuses its batch with a guard violation when that is deleted. */
export const insertDelivery = (d1: D1Database, webhook: number, event_id: string, now: number): D1PreparedStatement =>
  d1
    .prepare(
      `insert into deliveries (webhook, seq, redelivery, event_key, status, due_at, attempts, created_at)
       select (${KEPT_ENDPOINT}), seq, 0, key, 'pending', ?3, '[]', ?3 from events where event_id = ?2`,
    )
    .bind(webhook, event_id, now)
