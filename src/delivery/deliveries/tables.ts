import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed', 'lost'] as const
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

/** One attempt of a delivery. Its number is its position in the list, from 1. */
export interface AttemptRecord {
  /** When the attempt began, in milliseconds since 1970. */
  at: number
  duration_ms: number
  status_code: number | null
  error: string | null
  response_body: string | null
}

/** Deliveries: an event to be sent to an endpoint, with its attempts. */
export const deliveries = sqliteTable(
  'deliveries',
  {
    webhook: integer().notNull(),
    seq: integer().notNull(),
    /** 0 for the first delivery of the event to the endpoint, and one more for each redelivery. */
    redelivery: integer().notNull(),
    event_key: text().notNull(),
    status: text({ enum: DELIVERY_STATUSES }).notNull(),
    /** When the next attempt is due, or when the delivery ended, in milliseconds since 1970. */
    due_at: integer().notNull(),
    /** The consumer that claimed the delivery, and until when no other may. */
    token: text(),
    lease_until: integer(),
    attempts: text({ mode: 'json' }).$type<AttemptRecord[]>().notNull(),
    created_at: integer().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.webhook, table.seq, table.redelivery] }),
    // The deliveries to attempt next; the sweep.
    index('deliveries_pending').on(table.webhook, table.due_at).where(sql`status = 'pending'`),
    // The delivery log by status failed or lost; redelivery.
    index('deliveries_undelivered').on(table.webhook, table.seq).where(sql`status in ('failed', 'lost')`),
  ],
)
