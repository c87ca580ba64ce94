import { type Fragment, prepared, raw, sql } from '../../platform/db/fragment.ts'
import type { Position } from '../../platform/paging/cursor.ts'
import { SCAN_ROWS, type Scan, scan } from '../events/scan.ts'
import type { deliveries } from './tables.ts'

export type DeliveryRow = Pick<
  typeof deliveries.$inferSelect,
  'webhook' | 'seq' | 'redelivery' | 'event_key' | 'status' | 'due_at' | 'created_at'
> & {
  /** JSON. */
  attempts: string
}

const COLUMNS = raw('webhook, seq, redelivery, event_key, status, due_at, created_at, attempts')

interface DeliveryFilters {
  status?: DeliveryRow['status'] | null | undefined
  event_key?: string | null | undefined
}

/** Reads an endpoint's deliveries after a position, newest event first. */
export function scanDeliveries(
  d1: D1Database,
  webhook: number,
  { status = null, event_key = null }: DeliveryFilters,
  after: Position | undefined,
  limit: number,
): Promise<Scan<DeliveryRow>> {
  const isIndexed = status === 'failed' || status === 'lost'
  const before: Fragment = after ? sql`and (seq, redelivery) < (${after[0]!}, ${after[1]!})` : raw('')
  const from = raw(isIndexed ? "deliveries indexed by deliveries_undelivered where status in ('failed', 'lost') and" : 'deliveries where')
  const rows = isIndexed || status !== null || event_key !== null ? Math.max(SCAN_ROWS, limit) : limit
  const query = sql`
    select ${COLUMNS}, (${status} is null or status = ${status}) and (${event_key} is null or event_key = ${event_key}) as is_match
    from ${from} webhook = ${webhook} ${before} order by seq desc, redelivery desc limit ${rows}`
  return scan(prepared(d1, query), rows)
}

/** Finds the newest delivery of an event to an endpoint. */
export const findDelivery = (d1: D1Database, webhook: number, seq: number): Promise<DeliveryRow | null> =>
  prepared(
    d1,
    sql`select ${COLUMNS} from deliveries where webhook = ${webhook} and seq = ${seq} order by redelivery desc limit 1`,
  ).first<DeliveryRow>()
