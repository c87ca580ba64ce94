import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { instant } from '../db/columns.ts'

export const organizations = sqliteTable('organizations', {
  id: text('id').primaryKey(),
  name: text('name').notNull(),
  contact_email: text('contact_email'),
  logo_url: text('logo_url'),
  timezone: text('timezone').notNull(),
  plan: text('plan').notNull(),
  /** Seats, where they differ from the plan's. */
  rfc_allowance: integer('rfc_allowance'),
  trial_ends_at: instant('trial_ends_at'),
  /** Kept by every insert and delete of an extractor, in its commit: the limit and the window ask for it on every request. */
  extractor_count: integer('extractor_count').notNull(),
  created_at: instant('created_at').notNull(),
})
