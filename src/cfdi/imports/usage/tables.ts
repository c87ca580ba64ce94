import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { flag } from '../../../platform/db/columns.ts'

/** The usage of an organization's imports, in all and today: the sums of import_usage. */
export const importTotals = sqliteTable('import_totals', {
  organization_id: text().primaryKey(),
  bytes: integer().notNull(),
  documents: integer().notNull(),
  /** The local day, `YYYY-MM-DD`, to which the next two belong. Deleting an import does not change them. */
  day: text().notNull(),
  day_bytes: integer().notNull(),
  day_documents: integer().notNull(),
  /** When work on an import of the organization began last, in milliseconds since 1970. */
  last_turn: integer().notNull(),
})

/** The usage of one import. The row is made before that of the import, and is deleted when the import is. */
export const importUsage = sqliteTable(
  'import_usage',
  {
    import_id: text().primaryKey(),
    organization_id: text().notNull(),
    shard: integer().notNull(),
    /** What is stored because of it: at least its upload, until it is completed. */
    bytes: integer().notNull(),
    documents: integer().notNull(),
    /** How much of `bytes` and `documents` import_totals contains. They differ only inside a commit. */
    counted_bytes: integer().notNull(),
    counted: integer().notNull(),
    /** 1 until the import is completed, and while it is being deleted. */
    is_open: flag().notNull(),
    /** Nobody else works on it until then. Milliseconds since 1970, like the next one. */
    turn_until: integer().notNull(),
    created_at: integer().notNull(),
  },
  (table) => [
    // The daily sweep: uploads that a crash left without an import.
    index('import_usage_open').on(table.created_at).where(sql`is_open = 1`),
    // Whose turn it is.
    index('import_usage_turns').on(table.organization_id, table.created_at).where(sql`is_open = 1`),
  ],
)
