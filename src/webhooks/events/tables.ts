import { sql } from 'drizzle-orm'
import { integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'

/**
 * The feed of each organization. What is asked of an event follows from its key and its body, so that almost every event is one row without
 * an index.
 */
export const events = sqliteTable(
  'events',
  {
    organization_id: text().notNull(),
    /** The event's place in the feed. It grows with every event, and is at least the time of the insertion in milliseconds since 1970. */
    seq: integer().notNull(),
    /** The payload without its event_id (event-id.ts). What every attempt of every delivery sends is made of both, byte for byte. */
    body: text().notNull(),
    /** Derived from the change and the organization where several outbox events can report the change: of a cancellation. */
    unique_id: text(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.seq] }),
    // Refuses a cancellation that is told twice.
    uniqueIndex('events_unique').on(table.unique_id).where(sql`unique_id is not null`),
  ],
)
