import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/**
 * Documents about whose status something is left to do in the background, in the ledger that holds them. There is a row only while there is a
 * recheck.
 */
export const statusRechecks = sqliteTable(
  'status_rechecks',
  {
    /** The partition of the document. */
    entity: integer('entity').notNull(),
    uuid: text('uuid').notNull(),
    /** Milliseconds since 1970. */
    due_at: integer('due_at').notNull(),
    /**
     * `found`: the status service called it cancelled, which is to be committed and reported. `asked`: an organization asked, and the answer leaves
     * a recheck. `unproven`: metadata lists a received document as valid, and the package of valid ones did not hold it.
     */
    recheck: text('recheck', { enum: ['asked', 'unproven', 'found'] }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.entity, table.uuid] }), index('status_rechecks_due').on(table.due_at)],
)
