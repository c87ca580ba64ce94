import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { Statement } from '../../platform/db/commit.ts'
import { assertThat } from '../../platform/db/guard.ts'
import { bare, readRows } from '../../platform/db/statement.ts'
import { RowLease } from '../../platform/work/lease.ts'
import type { WebhookRow } from '../endpoints/store.ts'
import { type AttemptRecord, type DeliveryStatus, deliveries, events, webhooks } from '../tables.ts'

const [d, e, w] = [alias(deliveries, 'd'), alias(events, 'e'), alias(webhooks, 'w')]

/** Returns the first organizations after one that have events, in order. Costs one seek for each. */
export const organizationsAfter = (after: string, limit: number): SQL<string> => {
  const first = sql`select min(${events.organization_id}) from ${events} where ${events.organization_id}`
  return sql<string>`with recursive found (id) as (
        ${first} > ${after}
        union all
        select (${first} > found.id) from found where id is not null limit ${limit})
      select id from found where id is not null`
}

/** Instants in milliseconds: events up to `all` are forgotten, and later ones up to `unchanged` if they reported no change. */
export interface Ages {
  all: number
  unchanged: number
  /** How far back events without a change are looked for. */
  since: number
}

/** An event to forget. */
export type Forgotten = readonly [organization_id: string, seq: number, isOld: number]

/** As stored-body.ts keeps it. */
const REPORTS_NO_CHANGE = sql`(${e.body}->>'event' = 'sync.completed' and ${e.body}->>'created_count' is null
  or ${e.body}->>'event' = 'extraction.completed' and ${e.body}->>'readable_count' + ${e.body}->>'document_count'
    + ${e.body}->>'updated_count' + ${e.body}->>'cancelled_count' = 0)`
const DELIVERIES = sql`${webhooks} ${w} indexed by webhooks_organization
  cross join ${deliveries} ${d} on ${d.webhook} = ${w.webhook} and ${d.seq} = ${e.seq}
  where ${w.organization_id} = ${e.organization_id} and ${w.deleted_at} is null`

const ofOrganizations = (organizations: readonly string[]): SQL =>
  sql`from json_each(${JSON.stringify(organizations)}) o cross join ${events} ${e} on ${e.organization_id} = o.value`

/** Finds events of organizations that are to be forgotten. One that reported no change stays while a delivery of it is not delivered. */
export const findForgotten = async (
  d1: D1Database,
  organizations: readonly string[],
  { all, unchanged, since }: Ages,
  limit: number,
): Promise<Forgotten[]> =>
  (
    await readRows(
      d1,
      sql<{
        organization_id: string
        seq: number
        is_old: number
      }>`select ${e.organization_id}, ${e.seq}, 1 as is_old ${ofOrganizations(organizations)} and ${e.seq} < ${all}
        union all
        select ${e.organization_id}, ${e.seq}, 0 ${ofOrganizations(organizations)} and ${e.seq} >= ${since} and ${e.seq} < ${unchanged}
        where ${REPORTS_NO_CHANGE} and not exists (select 1 from ${DELIVERIES} and ${d.status} <> 'delivered')
        limit ${limit}`,
    )
  ).map(({ organization_id, seq, is_old }) => [organization_id, seq, is_old])

/** Deletes events with their deliveries. Events that somebody asked to deliver again in the meantime stay. */
export const forgetStatements = (forgotten: readonly Forgotten[]): SQL[] =>
  [
    sql`delete from ${deliveries} where ${[deliveries.webhook, deliveries.seq, deliveries.redelivery]} in (
      select ${d.webhook}, ${d.seq}, ${d.redelivery} from (
        select value->>0 as organization_id, value->>1 as seq, value->>2 as is_old from json_each(${JSON.stringify(forgotten)}) limit -1) e
      cross join ${DELIVERIES} and (e.is_old or ${d.status} = 'delivered'))`,
    sql`delete from ${events} as ${e} where ${[e.organization_id, e.seq]} in (
        select value->>0, value->>1 from json_each(${JSON.stringify(forgotten)}))
      and not exists (select 1 from ${DELIVERIES})`,
  ].map((statement) => statement)

/** An endpoint as its deliveries need it. */
export interface EndpointRow
  extends Pick<
    WebhookRow,
    | 'webhook'
    | 'webhook_id'
    | 'organization_id'
    | 'name'
    | 'url'
    | 'secret_version'
    | 'header_name'
    | 'header_value'
    | 'undelivered'
    | 'max_per_minute'
    | 'paced_until'
  > {
  /** JSON. */
  fiscal_entity_uuids: string | null
  is_enabled: number
  deleted_at: number | null
  /** JSON. */
  digests: string
  /** Number of due deliveries that nobody has claimed, up to a limit. */
  due: number
}

const KEY = [deliveries.webhook, deliveries.seq, deliveries.redelivery]

/** The lease of a consumer on a delivery: longer than an attempt takes, its recording included. */
export const deliveryLease = new RowLease<Omit<Claim, 'token'>>(deliveries, ['webhook', 'seq', 'redelivery'], { milliseconds: 20_000 })

/** Due, and not claimed under a lease that still runs. */
const isClaimable = (webhook: number, now: number): SQL =>
  sql`${deliveries.webhook} = ${webhook} and ${deliveries.status} = 'pending' and ${deliveries.due_at} <= ${now}
    and ${deliveryLease.isFree(now)}`

/** Finds an endpoint and counts its claimable deliveries, up to a limit. */
export const findEndpoint = (webhook: number, now: number, limit: number): SQL<EndpointRow> =>
  sql<EndpointRow>`select ${w.webhook}, ${w.webhook_id}, ${w.organization_id}, ${w.name}, ${w.url}, ${w.is_enabled}, ${w.deleted_at}, ${w.secret_version},
        ${w.digests}, ${w.header_name}, ${w.header_value}, ${w.undelivered}, ${w.max_per_minute}, ${w.paced_until}, ${w.fiscal_entity_uuids}, (select count(*) from (
          select 1 from ${deliveries} indexed by deliveries_pending where ${isClaimable(webhook, now)} limit ${limit})) as due
      from ${webhooks} ${w} where ${w.webhook} = ${webhook}`

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
  { webhook, organization_id }: Pick<EndpointRow, 'webhook' | 'organization_id'>,
  { token, now, limit }: { token: string; now: number; limit: number },
): Statement[] => [
  deliveryLease.claimStatement(
    token,
    sql`${KEY} in (
      select ${sql.join(KEY, sql`, `)} from ${deliveries} indexed by deliveries_pending
      where ${isClaimable(webhook, now)} order by ${deliveries.due_at} limit ${limit})`,
  ),
  sql`select ${d.seq}, ${d.redelivery}, json_array_length(${d.attempts}) as attempt_count, ${e.body}->>'event_id' as event_id, ${d.event_key}, ${e.body}
    from ${deliveries} ${d} indexed by deliveries_pending
    cross join ${events} ${e} on ${e.organization_id} = ${organization_id} and ${e.seq} = ${d.seq}
    where ${d.webhook} = ${webhook} and ${d.status} = 'pending' and ${d.due_at} <= ${now} and ${d.token} = ${token}
    order by ${d.due_at} limit ${limit}`,
]

/** Moves on how far deliveries use up the pace of an endpoint. Refuses the batch as `webhook.pace` when another consumer has. */
export const paceStatements = ({ webhook, paced_until }: EndpointRow, until: number): Statement[] => [
  assertThat(
    sql`exists (select 1 from ${webhooks} where ${webhooks.webhook} = ${webhook} and ${webhooks.paced_until} = ${paced_until})`,
    'webhook.pace',
  ),
  sql`update ${webhooks} set ${bare(webhooks.paced_until)} = ${until} where ${webhooks.webhook} = ${webhook}`,
]

/** Names a claim on a delivery: only the holder of the token may record an attempt. */
export interface Claim {
  webhook: number
  seq: number
  redelivery: number
  token: string
}

const isClaimed = (claim: Claim): SQL => sql`${deliveryLease.isLeased(claim)} and ${deliveries.status} = 'pending'`

/** Records an attempt and the state in which it leaves the delivery. Does nothing once the claim is lost. */
export const recordAttemptStatement = (
  claim: Claim,
  attempt: AttemptRecord,
  { status, due_at }: { status: DeliveryStatus; due_at: number },
): SQL =>
  sql`update ${deliveries} set ${bare(deliveries.status)} = ${status}, ${bare(deliveries.due_at)} = ${due_at},
        ${bare(deliveries.token)} = null, ${bare(deliveries.lease_until)} = null,
        ${bare(deliveries.attempts)} = json_insert(${deliveries.attempts}, '$[#]', json(${JSON.stringify(attempt)}))
      where ${isClaimed(claim)}`

/**
 * Counts the deliveries in a row that ended undelivered; one that was delivered sets the count to 0. Does nothing once the claim is lost,
 * and therefore precedes the statement that records the attempt, which ends the claim.
 */
export const countUndeliveredStatement = (claim: Claim, isDelivered: boolean): SQL =>
  sql`update ${webhooks} set ${bare(webhooks.undelivered)} = case when ${isDelivered ? 1 : 0} then 0 else ${webhooks.undelivered} + 1 end
      where ${webhooks.webhook} = ${claim.webhook} and exists (select 1 from ${deliveries} where ${isClaimed(claim)})`

/** Returns endpoints after a number with a claimable delivery. Costs one seek for each endpoint that has anything pending. */
export const findStuckEndpoints = (now: number, after: number, limit: number): SQL<number> => {
  const first = sql`select min(${deliveries.webhook}) from ${deliveries} indexed by deliveries_pending
    where ${deliveries.status} = 'pending' and ${deliveries.webhook}`
  return sql<number>`with recursive waiting(webhook) as (
        ${first} > ${after}
        union all
        select (${first} > waiting.webhook) from waiting where waiting.webhook is not null)
      select ${w.webhook} from waiting cross join ${webhooks} ${w} on ${w.webhook} = waiting.webhook
      where ${w.is_enabled} = 1 and ${w.deleted_at} is null and exists (
        select 1 from ${deliveries} ${d} indexed by deliveries_pending
        where ${d.webhook} = ${w.webhook} and ${d.status} = 'pending' and ${d.due_at} <= ${now}
          and (${d.lease_until} is null or ${d.lease_until} <= ${now}))
      limit ${limit}`
}

/** Returns deleted endpoints, whose delivery logs are to be cleared. */
export const findDeletedEndpoints = (limit: number): SQL<number> =>
  sql<number>`select ${webhooks.webhook} from ${webhooks} indexed by webhooks_deleted
    where ${webhooks.deleted_at} is not null limit ${limit}`

/** Deletes at most `limit` deliveries of a deleted endpoint, and the endpoint itself once none is left. */
export const clearStatements = (webhook: number, limit: number): SQL[] => {
  const own = sql`from ${deliveries} where ${deliveries.webhook} = ${webhook}`
  return [
    sql`delete from ${deliveries} where ${KEY} in (select ${sql.join(KEY, sql`, `)} ${own} limit ${limit})`,
    sql`delete from ${webhooks} where ${webhooks.webhook} = ${webhook} and ${webhooks.deleted_at} is not null
      and not exists (select 1 ${own})`,
  ]
}
