import { integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'

/** The feed of each organization. `body` is the payload that every attempt of every delivery sends, byte for byte. */
export const events = sqliteTable(
  'events',
  {
    organization_id: text().notNull(),
    /** The event's place in the feed. It grows with every event, and is at least the time of the insertion in milliseconds since 1970. */
    seq: integer().notNull(),
    event_id: text().notNull(),
    key: text().notNull(),
    fiscal_entity_id: text(),
    body: text().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.seq] }),
    // GET /events/{id}; refuses an event that is relayed twice.
    uniqueIndex('events_id').on(table.event_id),
  ],
)
