import { sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { instant } from '../db/columns.ts'

/** Messages that no consumer could handle, with the reason. */
export const deadLetters = sqliteTable('dead_letters', {
  /** Queue and message id, so that the same message is recorded once. */
  dead_letter_id: text('dead_letter_id').primaryKey(),
  queue: text('queue').notNull(),
  body: text('body').notNull(),
  reason: text('reason').notNull(),
  created_at: instant('created_at').notNull(),
})
