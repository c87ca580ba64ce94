import { sql } from 'drizzle-orm'
import { integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'

/**
 * The feed of each organization. Queries use an event's key and body, and the approximate time of its insertion in its identifier, so that
 * almost every event is one row without an index.
 */
export const events = sqliteTable(
  'events',
  {
    organization_id: text().notNull(),
    /** The event's position in the feed. It grows with every event, and is at least the time of the insertion in milliseconds since 1970. */
    seq: integer().notNull(),
    /** The payload, as stored-body.ts keeps it. Every attempt of every delivery sends the same bytes. */
    body: text().notNull(),
    /**
     * Set for a cancellation, which several outbox events can report, and for an event whose place is not near the time in its identifier.
     */
    event_id: text(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.seq] }),
    // Refuses a cancellation that is reported twice; finds late events.
    uniqueIndex('events_id').on(table.event_id).where(sql`event_id is not null`),
  ],
)
