import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** Documents of notifications that an organization waits for, until they are fetched. Times are milliseconds since 1970. */
export const mailboxRequests = sqliteTable(
  'mailbox_requests',
  {
    organization_id: text().notNull(),
    entity: integer().notNull(),
    sent_at: integer().notNull(),
    notification: text().notNull(),
    /** The number of the RFC's ledger. */
    shard: integer().notNull(),
    /** The organization's identifier of the notification. */
    notification_id: text().notNull(),
    /** Who acknowledged that it is opened: the api_key of a credential; empty when the connection has been left since. Null if it opens nothing. */
    acknowledged_by: text(),
    attempts: integer().notNull(),
    /** It is not worked on before this time. */
    not_before: integer().notNull(),
    /** Who works on it, and until when; null when nobody does. */
    token: text(),
    lease_until: integer().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.entity, table.sent_at, table.notification] }),
    // The sweep.
    index('mailbox_requests_due').on(table.not_before),
  ],
)
