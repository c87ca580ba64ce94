import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { DOCUMENT_KINDS } from '../authority/port/authority.ts'
import { NOTIFICATION_KINDS } from '../authority/port/mailbox.ts'

/** Whether a document has fields: it has none, they are to be read from its PDF, they are read, or they cannot be read. */
export const FIELDS_STATUSES = ['none', 'pending', 'read', 'unreadable'] as const

/** Documents that are not CFDIs. The same source, name, date and content is one row, however often it is downloaded. */
export const documents = sqliteTable(
  'documents',
  {
    entity: integer().notNull(),
    document_id: text().notNull(),
    source: text().notNull(),
    kind: text({ enum: DOCUMENT_KINDS }).notNull(),
    /** Documents of a source with the same series are versions of each other. */
    series: text().notNull(),
    name: text().notNull(),
    title: text().notNull(),
    content_type: text().notNull(),
    size: integer().notNull(),
    sha256: text().notNull(),
    document_date: text().notNull(),
    period_end: text(),
    /** JSON, flat. */
    attributes: text().notNull(),
    /** When each organization got it with a run of its own, which fetched it or joined its job: `{organization: milliseconds}`. */
    organizations: text().notNull(),
    /** Milliseconds since 1970. */
    created_at: integer().notNull(),
    /** 1 while it is among the documents of the last delivery with anything new. A run that finds its job finished gets these. */
    is_current: integer().notNull().default(1),
    /** Whether it has fields, and its DocumentFields as JSON once they are read: all of them, or those that differ from `fields_base`. */
    fields_status: text({ enum: FIELDS_STATUSES }).notNull(),
    fields: text(),
    /** The document of the same series that has all of its own fields (changes.ts). */
    fields_base: text(),
    /** Why its fields cannot be read, in a sentence. */
    fields_reason: text(),
    /** Number of times that the sweep tried to read a pending PDF. */
    read_attempts: integer().notNull().default(0),
  },
  (table) => [
    primaryKey({ columns: [table.entity, table.document_id] }),
    // The sweep that reads what could not be read when it was downloaded.
    index('documents_pending').on(table.read_attempts, table.created_at).where(sql`fields_status = 'pending'`),
  ],
)

/** The texts that say when obligations are due, from all documents of an RFC, for the notices before the due days. */
export const obligationRules = sqliteTable(
  'obligation_rules',
  {
    due_rule: text().notNull(),
    entity: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.due_rule, table.entity] })],
)

/** Certificates (CSD and e.firma) that any list of the authority has named, for the alerts before they expire. */
export const certificates = sqliteTable(
  'certificates',
  {
    entity: integer().notNull(),
    serial: text().notNull(),
    /** The last day on which it is valid. */
    valid_to: text().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.entity, table.serial] }),
    index('certificates_expiring').on(table.valid_to, table.entity, table.serial),
  ],
)

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
