import { primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { instant } from '../../platform/db/columns.ts'

/** Cancellations that test helpers added to the sandbox. It reports them from the next download on. */
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

/** CIECs that the sandbox refuses, as keyed digests of RFC and CIEC. */
export const sandboxRefusedCiecs = sqliteTable('sandbox_refused_ciecs', { digest: text('digest').primaryKey() })
