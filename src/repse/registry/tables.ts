import { sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** What a test helper told the sandbox registry to answer. */
export const sandboxRepseRecords = sqliteTable('sandbox_repse_records', {
  rfc: text('rfc').primaryKey(),
  /** A RegistryRecord. */
  record: text('record').notNull(),
})
