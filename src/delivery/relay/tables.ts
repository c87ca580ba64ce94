import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** Events of organizations with many endpoints, which have no delivery yet to the endpoints from this one on. */
export const fanOuts = sqliteTable(
  'fan_outs',
  {
    organization_id: text().notNull(),
    /** The number of the next endpoint. */
    webhook: integer().notNull(),
    /** The event's position in the feed of the organization. */
    seq: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.organization_id, table.webhook, table.seq] })],
)

/**
 * An events shard's record of each outbox: its events that lie in the shard already although their outbox events are not crossed off. A
 * commit replaces it together with the events that it appends, and is refused when another relay has replaced it since.
 */
export const relays = sqliteTable('relays', {
  outbox: text().primaryKey(),
  version: integer().notNull(),
  /** JSON: when each event was appended, in milliseconds since 1970, by its `factOf` (feed-events.ts). */
  known: text().notNull(),
})
