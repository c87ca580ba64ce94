import { primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { instant } from '../../platform/db/columns.ts'

/** What test helpers told the sandbox: cancellations that it reports from its next download on. */
export const sandboxCancellations = sqliteTable(
  'sandbox_cancellations',
  {
    rfc: text('rfc').notNull(),
    uuid: text('uuid').notNull(),
    cancelled_at: instant('cancelled_at').notNull(),
    cancellation_reason: text('cancellation_reason'),
  },
  (table) => [primaryKey({ columns: [table.rfc, table.uuid] })],
)

/** CIEC values that the sandbox refuses, as a keyed hash of RFC and value. */
export const sandboxRefusedCiecs = sqliteTable('sandbox_refused_ciecs', { digest: text('digest').primaryKey() })
