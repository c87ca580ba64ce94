import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** Events of organizations with many endpoints, which have no delivery yet to the endpoints from this one on. */
export const fanOuts = sqliteTable(
  'fan_outs',
  {
    organization_id: text().notNull(),
    /** The number of the next endpoint. */
    webhook: integer().notNull(),
    /** The event's place in the feed of the organization. */
    seq: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.organization_id, table.webhook, table.seq] })],
)
