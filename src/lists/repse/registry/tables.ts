import { sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** Records that test helpers gave the sandbox registry. */
export const sandboxRepseRecords = sqliteTable('sandbox_repse_records', {
  rfc: text().primaryKey(),
  /** A RegistryRecord as JSON. */
  record: text().notNull(),
})
