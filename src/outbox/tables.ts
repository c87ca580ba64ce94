import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/**
 * The transactional outbox. A change writes its events here in its own commit, in whichever database that is, and the relay takes them
 * from here. The key is derived from the change, so that recording the same change twice leaves one row.
 */
export const outbox = sqliteTable('outbox', {
  outbox_event_id: text('fact_id').primaryKey(),
  /** A key of the event catalog (service.md, Events). */
  kind: text('kind').notNull(),
  /** The number under which the RFC's ledger keeps the authority's documents. */
  entity: integer('entity').notNull(),
  /** The organizations to notify, as a JSON list; null for every organization whose window shows the document. */
  organizations: text('organizations'),
  /** What the payloads are made from, the same for every organization, as JSON. */
  body: text('body').notNull(),
  /** Milliseconds since 1970. */
  created_at: integer('created_at').notNull(),
})
