import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { prepared } from '../../platform/db/statement.ts'
import type { Position } from '../../platform/paging/cursor.ts'
import { type Scan, scan } from '../events/scan.ts'
import { events } from '../events/tables.ts'
import { deliveries } from './tables.ts'

export type DeliveryRow = Pick<
  typeof deliveries.$inferSelect,
  'webhook' | 'seq' | 'redelivery' | 'event_key' | 'status' | 'due_at' | 'created_at'
> & {
  event_id: string
  /** What the event is about, as its payload says it. */
  about: string | null
  period: string | null
  /** JSON. */
  attempts: string
}

const [d, e] = [alias(deliveries, 'd'), alias(events, 'e')]
const COLUMNS = sql`${d.webhook}, ${d.seq}, ${d.redelivery}, ${d.event_key}, ${d.status}, ${d.due_at}, ${d.created_at}, ${d.attempts},
  ${e.body}->>'event_id' as event_id, ${e.body}->>'fiscal_entity_id' as about, ${e.body}->>'period' as period`
const withEvent = (organization_id: string): SQL =>
  sql`cross join ${events} ${e} on ${e.organization_id} = ${organization_id} and ${e.seq} = ${d.seq}`

interface DeliveryFilters {
  status?: DeliveryRow['status'] | null | undefined
  event_key?: string | null | undefined
}

/** Reads an endpoint's deliveries after a position, newest event first. */
export function scanDeliveries(
  d1: D1Database,
  { webhook, organization_id }: { webhook: number; organization_id: string },
  { status = null, event_key = null }: DeliveryFilters,
  after: Position | undefined,
  rows: number,
): Promise<Scan<DeliveryRow>> {
  const isIndexed = status === 'failed' || status === 'lost'
  const { seq, redelivery } = deliveries
  const before = after && sql`and ${[seq, redelivery]} < (${after[0]!}, ${after[1]!})`
  const indexed = sql`indexed by deliveries_undelivered where ${deliveries.status} in ('failed', 'lost') and`
  const query = sql`
    select ${COLUMNS},
      (${status} is null or ${d.status} = ${status}) and (${event_key} is null or ${d.event_key} = ${event_key}) as is_match
    from (select * from ${deliveries} ${isIndexed ? indexed : sql`where`} ${deliveries.webhook} = ${webhook} ${before}
      order by ${seq} desc, ${redelivery} desc limit ${rows}) d
    ${withEvent(organization_id)}
    order by ${d.seq} desc, ${d.redelivery} desc`
  return scan(prepared(d1, query), rows)
}

/** Finds the newest delivery of an event, named by its place in the feed, to an endpoint. */
export const findDelivery = (
  d1: D1Database,
  { webhook, organization_id }: { webhook: number; organization_id: string },
  seq: number,
): Promise<DeliveryRow | null> =>
  prepared(
    d1,
    sql`select ${COLUMNS} from ${deliveries} ${d} ${withEvent(organization_id)}
      where ${d.webhook} = ${webhook} and ${d.seq} = ${seq} order by ${d.redelivery} desc limit 1`,
  ).first<DeliveryRow>()
