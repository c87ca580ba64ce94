import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

const columns = {
  /** The number under which the RFC's ledger keeps the authority's documents. */
  entity: integer().notNull(),
  outbox_event_id: text().notNull(),
  /** A key of the event catalog. */
  kind: text().notNull(),
  /** The organizations to notify, as a JSON list; null for every organization whose window shows the document. */
  organizations: text(),
  /** The source of the payloads, the same for every organization, as JSON. */
  body: text().notNull(),
  /** Milliseconds since 1970. */
  created_at: integer().notNull(),
}

/**
 * The transactional outbox. A change writes its events here in its own commit, in whichever database that is, and the relay takes them
 * from here. The identifier is derived from the change, so that recording the same change twice leaves one row. The key begins with the
 * entity, so that the relay can take turns between RFCs.
 */
export const outbox = sqliteTable(
  'outbox',
  {
    ...columns,
    /**
     * How far the event is relayed: the number of the last connection to the RFC that has been considered, or, when organizations are
     * named, how many of them; 0 at the beginning.
     */
    progress: integer().notNull().default(0),
    /** Number of times that the event could not be committed, and until when it waits after the last time. */
    attempts: integer().notNull().default(0),
    retry_at: integer().notNull().default(0),
  },
  (table) => [primaryKey({ columns: [table.entity, table.outbox_event_id] })],
)

/** Events that cannot be relayed. The control plane has a dead letter with the reason for each. */
export const outboxQuarantined = sqliteTable('outbox_quarantined', { ...columns, progress: integer().notNull() }, (table) => [
  primaryKey({ columns: [table.entity, table.outbox_event_id] }),
])
