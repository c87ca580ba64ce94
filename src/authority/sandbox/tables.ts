import { primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { instant } from '../../platform/db/columns.ts'

/** How a request for cancellation can end that a test helper arranges, or that an answer ends. */
export const SANDBOX_OUTCOMES = ['accepted', 'rejected', 'expired', 'cancelled'] as const

/** Cancellations that test helpers added to the sandbox. It reports them from the next download on. */
export const sandboxCancellations = sqliteTable(
  'sandbox_cancellations',
  {
    rfc: text().notNull(),
    uuid: text().notNull(),
    cancelled_at: instant().notNull(),
    cancellation_reason: text(),
    /** How the request ended; null when the sandbox draws it. A rejected one leaves the document valid. */
    outcome: text({ enum: SANDBOX_OUTCOMES }),
  },
  (table) => [primaryKey({ columns: [table.rfc, table.uuid] })],
)

/** Logins that the sandbox refuses, as keyed digests of RFC and CIEC or certificate. */
export const sandboxRefusedLogins = sqliteTable('sandbox_refused_logins', { digest: text().primaryKey() })

/** Additions to the tax mailboxes that the sandbox invents: notifications that a test helper sent, and when one was opened. */
export const sandboxNotifications = sqliteTable(
  'sandbox_notifications',
  {
    rfc: text().notNull(),
    notification: text().notNull(),
    /** A MailboxNotification as JSON; null for one that the sandbox invents. */
    sent: text(),
    opened_at: instant(),
  },
  (table) => [primaryKey({ columns: [table.rfc, table.notification] })],
)
