import { primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { instant } from '../db/columns.ts'

/** Changes of an events shard that were committed under an Idempotency-Key, each written in the commit of its change. */
export const receipts = sqliteTable(
  'receipts',
  {
    organization_id: text().notNull(),
    key: text().notNull(),
    /** The made or changed resource. */
    resource_id: text().notNull(),
    created_at: instant().notNull(),
  },
  (table) => [primaryKey({ columns: [table.organization_id, table.key] })],
)
