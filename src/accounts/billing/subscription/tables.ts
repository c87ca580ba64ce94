import { sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { instant } from '../../../platform/db/columns.ts'

/** The trials that were used: one for each e-mail address, from the commit that connects the organization's first RFC in it. */
export const trials = sqliteTable('trials', {
  /** The address of the sign-up in its normal form. */
  email: text().primaryKey(),
  organization_id: text().notNull(),
  started_at: instant().notNull(),
})
