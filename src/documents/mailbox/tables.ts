import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { NOTIFICATION_KINDS } from '../../authority/port/mailbox.ts'

/** Notifications of the authority to an RFC. Times are milliseconds since 1970. */
export const mailboxNotifications = sqliteTable(
  'mailbox_notifications',
  {
    entity: integer().notNull(),
    sent_at: integer().notNull(),
    /** The authority's identifier. */
    notification: text().notNull(),
    kind: text({ enum: NOTIFICATION_KINDS }).notNull(),
    title: text().notNull(),
    authority: text().notNull(),
    document_number: text(),
    document_kind: text(),
    /** When it was opened, by whomever: this is the same for every organization. */
    opened_at: integer(),
    /** 1 while the authority's mailbox shows it. */
    is_listed: integer().notNull(),
    /** The document once it is fetched. */
    name: text(),
    content_type: text(),
    size: integer(),
    sha256: text(),
    fetched_at: integer(),
    /** When each organization got it with a run of its own, which listed it or joined the job: `{organization: milliseconds}`. */
    organizations: text().notNull(),
  },
  (table) => [primaryKey({ columns: [table.entity, table.sent_at, table.notification] })],
)

/** The organizations whose own runs have listed a mailbox. The first such run notifies them only of what is still to be done. */
export const mailboxReaders = sqliteTable(
  'mailbox_readers',
  { entity: integer().notNull(), organization_id: text().notNull() },
  (table) => [primaryKey({ columns: [table.entity, table.organization_id] })],
)
