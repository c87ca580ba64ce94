import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

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

/** How far `cfdi.new` has told an organization of the documents of an RFC. There is a row once an endpoint has wanted it. */
export const newDocuments = sqliteTable(
  'new_documents',
  {
    organization_id: text().notNull(),
    /** The fiscal entity in UUID form, as events name it. */
    fiscal_entity: text().notNull(),
    /** One more with each change: a commit that was computed before another one is refused. */
    version: integer().notNull(),
    /** 1 while documents may be left to tell of. */
    is_due: integer().notNull(),
    /** The last run that ended. */
    run_id: text().notNull(),
    /** JSON: a Progress (new-documents.ts). */
    progress: text().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.fiscal_entity] }),
    // The sweep.
    index('new_documents_due').on(table.organization_id, table.fiscal_entity).where(sql`is_due = 1`),
  ],
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
