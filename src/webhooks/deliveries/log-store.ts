import { type Fragment, prepared, raw, sql } from '../../platform/db/fragment.ts'
import type { Position } from '../../platform/paging/cursor.ts'
import { KEPT_ENDPOINT } from '../events/relay-store.ts'
import type { deliveries } from '../tables.ts'

/** Rows that a filter was asked of: those that it does not pass only move the page on. */
export interface Scan<Row> {
  rows: (Row & { is_asked: number })[]
  /** There is nothing after them. */
  isWhole: boolean
}

/** Rows that a page looks at when its filter has no index: it may then be short, with more to follow. */
const SCAN = 500

async function scanned<Row>(query: D1PreparedStatement, limit: number): Promise<Scan<Row>> {
  const { results } = await query.all<Scan<Row>['rows'][number]>()
  return { rows: results, isWhole: results.length < limit }
}

export type DeliveryRow = Pick<
  typeof deliveries.$inferSelect,
  'webhook' | 'seq' | 'redelivery' | 'event_key' | 'status' | 'due_at' | 'created_at'
> & {
  event_id: string
  /** JSON. */
  attempts: string
}

const COLUMNS = raw('d.webhook, d.seq, d.redelivery, d.event_key, d.status, d.due_at, d.created_at, d.attempts, e.event_id')

interface DeliveryFilters {
  status?: DeliveryRow['status'] | undefined
  event_key?: string | undefined
}

/** An endpoint's deliveries, newest event first. */
export function scanDeliveries(
  d1: D1Database,
  { webhook, organization_id }: { webhook: number; organization_id: string },
  { status, event_key }: DeliveryFilters,
  after: Position | undefined,
  limit: number,
): Promise<Scan<DeliveryRow>> {
  const isIndexed = status === 'failed' || status === 'lost'
  const before: Fragment = after ? sql`and (seq, redelivery) < (${after[0]!}, ${after[1]!})` : raw('')
  const from = raw(isIndexed ? "deliveries indexed by deliveries_undelivered where status in ('failed', 'lost') and" : 'deliveries where')
  const rows = isIndexed || status !== undefined || event_key !== undefined ? Math.max(SCAN, limit) : limit
  const query = sql`
    select ${COLUMNS}, (${status ?? null} is null or d.status = ${status ?? null}) and (${event_key ?? null} is null or d.event_key = ${event_key ?? null}) as is_asked
    from (select * from ${from} webhook = ${webhook} ${before} order by seq desc, redelivery desc limit ${rows}) d
    cross join events e on e.organization_id = ${organization_id} and e.seq = d.seq
    order by d.seq desc, d.redelivery desc`
  return scanned(prepared(d1, query), rows)
}

/** The newest delivery of one event to one endpoint. */
export const findDelivery = (
  d1: D1Database,
  { webhook, organization_id }: { webhook: number; organization_id: string },
  event_id: string,
): Promise<DeliveryRow | null> =>
  prepared(
    d1,
    sql`select ${COLUMNS} from events e cross join deliveries d on d.webhook = ${webhook} and d.seq = e.seq
        where e.event_id = ${event_id} and e.organization_id = ${organization_id} order by d.redelivery desc limit 1`,
  ).first<DeliveryRow>()

/**
 * A new delivery of the same event after this one. Refuses its batch when somebody else has asked for it meanwhile, with a unique
 * violation, or the endpoint is deleted, with a guard violation.
 */
export const insertAgain = (d1: D1Database, { webhook, seq, redelivery, event_key }: DeliveryRow, now: number): D1PreparedStatement =>
  d1
    .prepare(
      `insert into deliveries (webhook, seq, redelivery, event_key, status, due_at, attempts, created_at)
       values ((${KEPT_ENDPOINT}), ?2, ?3, ?4, 'pending', ?5, '[]', ?5)`,
    )
    .bind(webhook, seq, redelivery + 1, event_key, now)

/** New deliveries of the events since an instant whose newest delivery ended with one of these statuses. */
export const insertAllAgain = (d1: D1Database, webhook: number, statuses: readonly string[], since: number, now: number, limit: number) =>
  d1
    .prepare(
      `insert into deliveries (webhook, seq, redelivery, event_key, status, due_at, attempts, created_at)
       select (${KEPT_ENDPOINT}), d.seq, d.redelivery + 1, d.event_key, 'pending', ?4, '[]', ?4
       from deliveries d indexed by deliveries_undelivered
       where d.webhook = ?1 and d.seq >= ?2 and d.status in ('failed', 'lost') and d.status in (select value from json_each(?3))
         and not exists (select 1 from deliveries l where l.webhook = d.webhook and l.seq = d.seq and l.redelivery > d.redelivery)
       order by d.seq limit ?5`,
    )
    .bind(webhook, since, JSON.stringify(statuses), now, limit)

export interface EventRow {
  seq: number
  event_id: string
  body: string
}

/** Of an RFC that is unlinked nothing is told any more. */
const LINKED = raw(`(e.fiscal_entity_id is null or exists (
  select 1 from connections c where c.organization_id = e.organization_id and c.fiscal_entity_id = e.fiscal_entity_id and c.state <> 'unlinked'))`)

/** An organization's events, oldest first. */
export const scanEvents = (
  d1: D1Database,
  organization_id: string,
  filters: { event_key?: string | undefined; fiscal_entity_id?: string | undefined },
  after: number,
  limit: number,
): Promise<Scan<EventRow>> => {
  const { event_key = null, fiscal_entity_id = null } = filters
  const rows = event_key === null && fiscal_entity_id === null ? limit : Math.max(SCAN, limit)
  const query = sql`
    select seq, event_id, case when is_asked then body end as body, is_asked from (
      select e.*, (${event_key} is null or e.key = ${event_key}) and (${fiscal_entity_id} is null or e.fiscal_entity_id = ${fiscal_entity_id})
        and ${LINKED} as is_asked
      from (select * from events where organization_id = ${organization_id} and seq > ${after} order by seq limit ${rows}) e)
    order by seq`
  return scanned(prepared(d1, query), rows)
}

export const findEvent = (d1: D1Database, organization_id: string, event_id: string): Promise<EventRow | null> =>
  prepared(
    d1,
    sql`select e.seq, e.event_id, e.body from events e where e.event_id = ${event_id} and e.organization_id = ${organization_id} and ${LINKED}`,
  ).first<EventRow>()

/** Forgets what is older than a moment, a part at a time; answers how many rows. */
export const forgetEvents = async (d1: D1Database, before: number, limit: number): Promise<number> => {
  const results = await d1.batch([
    d1
      .prepare(
        `delete from deliveries where (webhook, seq, redelivery) in (
           select d.webhook, d.seq, d.redelivery from webhooks w cross join deliveries d on d.webhook = w.webhook and d.seq < ?1 limit ?2)`,
      )
      .bind(before, limit),
    d1
      .prepare(
        `delete from events where (organization_id, seq) in (
           select e.organization_id, e.seq from organizations o cross join events e on e.organization_id = o.id and e.seq < ?1
           where not exists (
             select 1 from webhooks w cross join deliveries d on d.webhook = w.webhook and d.seq = e.seq where w.organization_id = o.id)
           limit ?2)`,
      )
      .bind(before, limit),
  ])
  return Math.max(...results.map(({ meta }) => meta.changes))
}
