import { index, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { instant } from '../db/columns.ts'

/** The mails of a service on somebody's own machine, which no other service sends. They are kept for seven days. */
export const keptMails = sqliteTable(
  'kept_mails',
  {
    mail_id: text().primaryKey(),
    to: text().notNull(),
    subject: text().notNull(),
    text: text().notNull(),
    created_at: instant().notNull(),
  },
  // The page of the newest ones, and pruning.
  (table) => [index('kept_mails_created').on(table.created_at)],
)
