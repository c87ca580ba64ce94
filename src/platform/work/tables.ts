import { sql } from 'drizzle-orm'
import { index, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { instant } from '../db/columns.ts'

/** Messages that no consumer could handle and outbox events that could not be relayed, with the reason. */
export const deadLetters = sqliteTable(
  'dead_letters',
  {
    /** Queue and message id, so that the same message is recorded once. */
    dead_letter_id: text().primaryKey(),
    queue: text().notNull(),
    body: text().notNull(),
    reason: text().notNull(),
    created_at: instant().notNull(),
    /** The operator's decision (`npm run dead-letters`); null for none. */
    wanted: text({ enum: ['retry', 'drop'] }),
  },
  // The sweep: letters that an operator has decided on.
  (table) => [index('dead_letters_wanted').on(table.dead_letter_id).where(sql`wanted is not null`)],
)
