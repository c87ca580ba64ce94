import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

export const IMPORT_STATUSES = ['queued', 'running', 'completed'] as const
export const IMPORT_FILE_STATUSES = ['created', 'updated', 'unchanged', 'rejected'] as const

/** One upload. Its bytes lie in FILES under its id until it is completed. */
export const imports = sqliteTable(
  'imports',
  {
    import_id: text('import_id').primaryKey(),
    organization_id: text('organization_id').notNull(),
    fiscal_entity_id: text('fiscal_entity_id').notNull(),
    /** The organization's own book for this RFC. */
    book: integer('book').notNull(),
    /** The authority's book of this RFC. */
    entity: integer('entity').notNull(),
    rfc: text('rfc').notNull(),
    status: text('status', { enum: IMPORT_STATUSES }).notNull(),
    token: text('token'),
    lease_until: integer('lease_until').notNull(),
    attempts: integer('attempts').notNull(),
    created_at: integer('created_at').notNull(),
    completed_at: integer('completed_at'),
  },
  // The sweep: uploads that nobody has finished.
  (table) => [index('imports_open').on(table.lease_until).where(sql`status <> 'completed'`)],
)

export const importFiles = sqliteTable(
  'import_files',
  {
    import_id: text('import_id').notNull(),
    n: integer('n').notNull(),
    name: text('name').notNull(),
    status: text('status', { enum: IMPORT_FILE_STATUSES }).notNull(),
    uuid: text('uuid'),
    code: text('code'),
    detail: text('detail'),
  },
  (table) => [primaryKey({ columns: [table.import_id, table.n] })],
)
