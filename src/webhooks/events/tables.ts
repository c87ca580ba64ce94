import { integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'

/** The feed of each organization. `body` is the payload that every attempt of every delivery sends, byte for byte. */
export const events = sqliteTable(
  'events',
  {
    organization_id: text('organization_id').notNull(),
    /** The event's place in the feed. It grows with every event, and is at least the time of the insertion in milliseconds since 1970. */
    seq: integer('seq').notNull(),
    event_id: text('event_id').notNull(),
    key: text('key').notNull(),
    fiscal_entity_id: text('fiscal_entity_id'),
    body: text('body').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.seq] }),
    // GET /events/{id}; refuses an event that is relayed twice.
    uniqueIndex('events_id').on(table.event_id),
  ],
)
