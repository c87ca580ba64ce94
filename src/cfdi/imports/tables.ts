import { sql } from 'drizzle-orm'
import { customType, index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

export const IMPORT_STATUSES = ['queued', 'running', 'completed', 'deleting'] as const
export const IMPORT_FILE_STATUSES = ['created', 'updated', 'unchanged', 'rejected'] as const

/** Uploads. */
export const imports = sqliteTable(
  'imports',
  {
    import_id: text('import_id').primaryKey(),
    organization_id: text('organization_id').notNull(),
    fiscal_entity_id: text('fiscal_entity_id').notNull(),
    /** The partition of the organization's own imports for the RFC. */
    import_partition: integer().notNull(),
    /** The partition of what the authority delivers for the RFC. */
    entity: integer('entity').notNull(),
    rfc: text('rfc').notNull(),
    /** Its bytes in FILES, until it is completed. */
    object: text('object').notNull(),
    /** Size of the upload. */
    bytes: integer('bytes').notNull(),
    /** How many documents count through this import: those that no earlier one holds. */
    documents: integer('documents').notNull(),
    /** What is stored because of it, in bytes: its XML, rows, and what they are found by. */
    stored_bytes: integer('stored_bytes').notNull(),
    status: text('status', { enum: IMPORT_STATUSES }).notNull(),
    /** The consumer that holds the import; null when none does. */
    token: text('token'),
    /** Milliseconds since 1970, like the other times. */
    lease_until: integer('lease_until').notNull(),
    attempts: integer('attempts').notNull(),
    /** The progress, as JSON, of the metadata file that was under way when the budget of an invocation ended. */
    checkpoint: text('checkpoint'),
    /** Its parts, as JSON. */
    parts: text('parts').notNull().default('[]'),
    created_at: integer('created_at').notNull(),
    completed_at: integer('completed_at'),
  },
  (table) => [
    // The sweep finds uploads that are not completed.
    index('imports_open').on(table.lease_until).where(sql`status <> 'completed'`),
    // The list of a fiscal entity, newest first.
    index('imports_import_partition').on(table.import_partition, table.import_id),
  ],
)

/** A BLOB that crosses as hexadecimal text (platform/db/packed.ts). */
const packed = customType<{ data: string; driverData: string }>({ dataType: () => 'blob' })

/** The results of files of an upload: those that were committed together, at most 1,000 in a row. */
export const importResults = sqliteTable(
  'import_results',
  {
    import_id: text('import_id').notNull(),
    /** Its place among the rows of the import, from 0. */
    part: integer('part').notNull(),
    /** The least and the greatest place of its files in the upload, from 0; -1 is the result of the upload as a whole. */
    first_n: integer('first_n').notNull(),
    last_n: integer('last_n').notNull(),
    /** How many files have each status. */
    created: integer('created').notNull(),
    updated: integer('updated').notNull(),
    unchanged: integer('unchanged').notNull(),
    rejected: integer('rejected').notNull(),
    /** The places of its files, as JSON `[[from, to], …]`. */
    ranges: text('ranges').notNull(),
    /** The results, as JSON (results.ts). */
    data: packed('data').notNull(),
  },
  (table) => [primaryKey({ columns: [table.import_id, table.part] })],
)

/**
 * The import sources of documents (cfdi/ingest/row.ts), those of a commit together, so that deleting one import leaves the others. The
 * `stored` column of a document names the parts in which it is.
 */
export const importSources = sqliteTable(
  'import_sources',
  {
    import_partition: integer().notNull(),
    /** Numbered after the commit. */
    part: integer('part').notNull(),
    import_id: text('import_id').notNull(),
    /** As JSON (store.ts). */
    data: packed('data').notNull(),
  },
  (table) => [primaryKey({ columns: [table.import_partition, table.part] })],
)
