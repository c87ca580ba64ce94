import { index, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { instant } from '../../platform/db/columns.ts'

/** The sessions of the console that have not ended. A cookie whose session is not here signs nobody in. */
export const consoleSessions = sqliteTable(
  'console_sessions',
  {
    /** Sealed in the cookie, beside the credential. */
    session_id: text().primaryKey(),
    api_key: text().notNull(),
    until: instant().notNull(),
  },
  (table) => [
    // The sessions of a credential, which end together.
    index('console_sessions_credential').on(table.api_key, table.until),
    // Pruning.
    index('console_sessions_until').on(table.until),
  ],
)
