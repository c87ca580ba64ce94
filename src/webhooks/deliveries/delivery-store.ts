import type { AttemptRecord, DeliveryStatus } from './tables.ts'

/** An endpoint with what its deliveries need. */
export interface EndpointRow {
  webhook: number
  webhook_id: string
  organization_id: string
  name: string
  url: string
  is_enabled: number
  deleted_at: number | null
  secret_version: number
  /** JSON. */
  digests: string
  header_name: string | null
  header_value: string | null
  undelivered: number
  /** Number of due deliveries that nobody has claimed, up to a limit. */
  due: number
}

const DUE = `webhook = ?1 and status = 'pending' and due_at <= ?2`
/** Due, and not claimed under a lease that still runs. */
const CLAIMABLE = `${DUE} and (lease_until is null or lease_until <= ?2)`

/** Finds an endpoint and counts its claimable deliveries, up to a limit. */
export const findEndpoint = (d1: D1Database, webhook: number, now: number, limit: number): Promise<EndpointRow | null> =>
  d1
    .prepare(
      `select webhook, webhook_id, organization_id, name, url, is_enabled, deleted_at, secret_version, digests, header_name, header_value,
         undelivered,
         (select count(*) from (select 1 from deliveries indexed by deliveries_pending where ${CLAIMABLE} limit ?3)) as due
       from webhooks where webhook = ?1`,
    )
    .bind(webhook, now, limit)
    .first<EndpointRow>()

/** A claimed delivery with the event that it sends. */
export interface ClaimedDelivery {
  seq: number
  redelivery: number
  /** Number of attempts on record. */
  attempt_count: number
  event_id: string
  event_key: string
  /** As it is stored (stored-body.ts). */
  body: string
}

/** Claims at most `limit` deliveries of an endpoint under a lease. The second statement returns them as ClaimedDelivery rows. */
export const claimStatements = (
  d1: D1Database,
  { webhook, organization_id }: Pick<EndpointRow, 'webhook' | 'organization_id'>,
  { token, now, leaseUntil, limit }: { token: string; now: number; leaseUntil: number; limit: number },
): D1PreparedStatement[] => [
  d1
    .prepare(
      `update deliveries set token = ?3, lease_until = ?4 where (webhook, seq, redelivery) in (
         select webhook, seq, redelivery from deliveries indexed by deliveries_pending
         where ${CLAIMABLE} order by due_at limit ?5)`,
    )
    .bind(webhook, now, token, leaseUntil, limit),
  d1
    .prepare(
      `select d.seq, d.redelivery, json_array_length(d.attempts) as attempt_count, e.body->>'event_id' as event_id, d.event_key, e.body
       from deliveries d indexed by deliveries_pending
       cross join events e on e.organization_id = ?4 and e.seq = d.seq
       where d.webhook = ?1 and d.status = 'pending' and d.due_at <= ?2 and d.token = ?3 order by d.due_at limit ?5`,
    )
    .bind(webhook, now, token, organization_id, limit),
]

/** Names a claim on a delivery: only the holder of the token may record an attempt. */
export interface Claim {
  webhook: number
  seq: number
  redelivery: number
  token: string
}

/** Records an attempt and the state in which it leaves the delivery. Does nothing once the claim is lost. */
export const recordAttemptStatement = (
  d1: D1Database,
  { webhook, seq, redelivery, token }: Claim,
  attempt: AttemptRecord,
  { status, due_at }: { status: DeliveryStatus; due_at: number },
): D1PreparedStatement =>
  d1
    .prepare(
      `update deliveries set status = ?5, due_at = ?6, token = null, lease_until = null, attempts = json_insert(attempts, '$[#]', json(?7))
       where webhook = ?1 and seq = ?2 and redelivery = ?3 and token = ?4 and status = 'pending'`,
    )
    .bind(webhook, seq, redelivery, token, status, due_at, JSON.stringify(attempt))

/**
 * Counts the deliveries in a row that ended undelivered; one that was delivered sets the count to 0. Does nothing once the claim is lost,
 * and therefore precedes the statement that records the attempt, which ends the claim.
 */
export const countUndeliveredStatement = (
  d1: D1Database,
  { webhook, seq, redelivery, token }: Claim,
  isDelivered: boolean,
): D1PreparedStatement =>
  d1
    .prepare(
      `update webhooks set undelivered = case when ?5 then 0 else undelivered + 1 end
       where webhook = ?1 and exists (
         select 1 from deliveries where webhook = ?1 and seq = ?2 and redelivery = ?3 and token = ?4 and status = 'pending')`,
    )
    .bind(webhook, seq, redelivery, token, isDelivered ? 1 : 0)

/** Returns endpoints after a number with a claimable delivery. Costs one seek for each endpoint that has anything pending. */
export const findStuckEndpoints = async (d1: D1Database, now: number, after: number, limit: number): Promise<number[]> =>
  (
    await d1
      .prepare(
        `with recursive waiting(webhook) as (
           select min(webhook) from deliveries indexed by deliveries_pending where status = 'pending' and webhook > ?3
           union all
           select (select min(webhook) from deliveries indexed by deliveries_pending where status = 'pending' and webhook > waiting.webhook)
           from waiting where waiting.webhook is not null)
         select w.webhook from waiting cross join webhooks w on w.webhook = waiting.webhook
         where w.is_enabled = 1 and w.deleted_at is null and exists (
           select 1 from deliveries d indexed by deliveries_pending
           where d.webhook = w.webhook and d.status = 'pending' and d.due_at <= ?1 and (d.lease_until is null or d.lease_until <= ?1))
         limit ?2`,
      )
      .bind(now, limit, after)
      .all<{ webhook: number }>()
  ).results.map(({ webhook }) => webhook)

/** Returns deleted endpoints, whose delivery logs are to be cleared. */
export const findDeletedEndpoints = async (d1: D1Database, limit: number): Promise<number[]> =>
  (
    await d1
      .prepare('select webhook from webhooks indexed by webhooks_deleted where deleted_at is not null limit ?')
      .bind(limit)
      .all<{ webhook: number }>()
  ).results.map(({ webhook }) => webhook)

/** Deletes at most `limit` deliveries of a deleted endpoint, and the endpoint itself once none is left. */
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
