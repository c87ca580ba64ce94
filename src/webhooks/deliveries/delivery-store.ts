import type { AttemptRecord, DeliveryStatus } from '../tables.ts'

/** An endpoint as its deliveries need it. */
export interface EndpointRow {
  webhook: number
  webhook_id: string
  organization_id: string
  name: string
  url: string
  is_enabled: number
  deleted_at: number | null
  secret_version: number
  digests: string
  undelivered: number
  due: number
}

const DUE = `webhook = ?1 and status = 'pending' and due_at <= ?2`
/** Due, and nobody's or left by somebody whose lease ran out. */
const FREE = `${DUE} and (lease_until is null or lease_until <= ?2)`

/** An endpoint, and how many deliveries it has due that nobody attempts, up to a limit. */
export const findEndpoint = (d1: D1Database, webhook: number, now: number, limit: number): Promise<EndpointRow | null> =>
  d1
    .prepare(
      `select webhook, webhook_id, organization_id, name, url, is_enabled, deleted_at, secret_version, digests, undelivered,
         (select count(*) from (select 1 from deliveries indexed by deliveries_pending where ${FREE} limit ?3)) as due
       from webhooks where webhook = ?1`,
    )
    .bind(webhook, now, limit)
    .first<EndpointRow>()

/** A claimed delivery, with what is sent. */
export interface Claimed {
  seq: number
  redelivery: number
  /** How many attempts have been made. */
  made: number
  event_id: string
  key: string
  body: string
  /** 1 when the RFC that it is about is no longer linked. */
  is_unlinked: number
}

/** Claims an endpoint's next deliveries, at most so many; the second result lists them. */
export const claimStatements = (
  d1: D1Database,
  { webhook, organization_id }: Pick<EndpointRow, 'webhook' | 'organization_id'>,
  { token, now, leaseUntil, limit }: { token: string; now: number; leaseUntil: number; limit: number },
): D1PreparedStatement[] => [
  d1
    .prepare(
      `update deliveries set token = ?3, lease_until = ?4 where (webhook, seq, redelivery) in (
         select webhook, seq, redelivery from deliveries indexed by deliveries_pending
         where ${FREE} order by due_at limit ?5)`,
    )
    .bind(webhook, now, token, leaseUntil, limit),
  d1
    .prepare(
      `select d.seq, d.redelivery, json_array_length(d.attempts) as made, e.event_id, e.key, e.body,
         e.fiscal_entity_id is not null and not exists (
           select 1 from connections c where c.organization_id = ?4 and c.fiscal_entity_id = e.fiscal_entity_id and c.state <> 'unlinked'
         ) as is_unlinked
       from deliveries d indexed by deliveries_pending
       cross join events e on e.organization_id = ?4 and e.seq = d.seq
       where d.webhook = ?1 and d.status = 'pending' and d.due_at <= ?2 and d.token = ?3 order by d.due_at limit ?5`,
    )
    .bind(webhook, now, token, organization_id, limit),
]

export interface Settlement {
  status: DeliveryStatus
  /** When the next attempt is due; when it was over for one that is settled. */
  due_at: number
}

/** Records an attempt and what becomes of its delivery: only for the one who holds the claim. */
export const recordAttempt = (
  d1: D1Database,
  webhook: number,
  { seq, redelivery }: Pick<Claimed, 'seq' | 'redelivery'>,
  token: string,
  attempt: AttemptRecord | null,
  { status, due_at }: Settlement,
): D1PreparedStatement =>
  d1
    .prepare(
      `update deliveries set status = ?5, due_at = ?6, token = null, lease_until = null,
         attempts = case when ?7 is null then attempts else json_insert(attempts, '$[#]', json(?7)) end
       where webhook = ?1 and seq = ?2 and redelivery = ?3 and token = ?4 and status = 'pending'`,
    )
    .bind(webhook, seq, redelivery, token, status, due_at, attempt === null ? null : JSON.stringify(attempt))

/** Counts deliveries in a row that were not received. Goes before the settlement: a claim that is lost counts nothing. */
export const countUndelivered = (
  d1: D1Database,
  webhook: number,
  { seq, redelivery }: Pick<Claimed, 'seq' | 'redelivery'>,
  token: string,
  isReceived: boolean,
): D1PreparedStatement =>
  d1
    .prepare(
      `update webhooks set undelivered = case when ?5 then 0 else undelivered + 1 end
       where webhook = ?1 and exists (
         select 1 from deliveries where webhook = ?1 and seq = ?2 and redelivery = ?3 and token = ?4 and status = 'pending')`,
    )
    .bind(webhook, seq, redelivery, token, isReceived ? 1 : 0)

/** Endpoints with a delivery that should have been attempted by now: one seek for each endpoint that has something pending. */
export const stuckEndpoints = async (d1: D1Database, now: number, limit: number): Promise<number[]> =>
  (
    await d1
      .prepare(
        `with recursive waiting(webhook) as (
           select min(webhook) from deliveries indexed by deliveries_pending where status = 'pending'
           union all
           select (select min(webhook) from deliveries indexed by deliveries_pending where status = 'pending' and webhook > waiting.webhook)
           from waiting where waiting.webhook is not null)
         select w.webhook from waiting cross join webhooks w on w.webhook = waiting.webhook
         where w.is_enabled = 1 and w.deleted_at is null and exists (
           select 1 from deliveries d indexed by deliveries_pending
           where d.webhook = w.webhook and d.status = 'pending' and d.due_at <= ?1 and (d.lease_until is null or d.lease_until <= ?1))
         limit ?2`,
      )
      .bind(now, limit)
      .all<{ webhook: number }>()
  ).results.map(({ webhook }) => webhook)

export const deletedEndpoints = async (d1: D1Database, limit: number): Promise<number[]> =>
  (
    await d1
      .prepare('select webhook from webhooks indexed by webhooks_deleted where deleted_at is not null limit ?')
      .bind(limit)
      .all<{ webhook: number }>()
  ).results.map(({ webhook }) => webhook)

/** Clears part of a deleted endpoint's log; the endpoint itself goes with the last part. */
export const clearStatements = (d1: D1Database, webhook: number, limit: number): D1PreparedStatement[] => [
  d1
    .prepare(
      `delete from deliveries where (webhook, seq, redelivery) in (
         select webhook, seq, redelivery from deliveries where webhook = ?1 limit ?2)`,
    )
    .bind(webhook, limit),
  d1
    .prepare(
      'delete from webhooks where webhook = ?1 and deleted_at is not null and not exists (select 1 from deliveries where webhook = ?1)',
    )
    .bind(webhook),
]
