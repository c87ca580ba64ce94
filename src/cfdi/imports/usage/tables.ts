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
})

/** The usage of one import. The row is made before that of the import, and is deleted when the import is. */
export const importUsage = sqliteTable(
  'import_usage',
  {
    import_id: text().primaryKey(),
    organization_id: text().notNull(),
    shard: integer().notNull(),
    bytes: integer().notNull(),
    documents: integer().notNull(),
    /** How many of `documents` import_totals contains. They differ only inside a commit. */
    counted: integer().notNull(),
    /** 1 until the import is completed. */
    is_open: flag().notNull(),
    /** Milliseconds since 1970, of the real clock. */
    created_at: integer().notNull(),
  },
  // The daily sweep: uploads that a crash left without an import.
  (table) => [index('import_usage_open').on(table.created_at).where(sql`is_open = 1`)],
)
