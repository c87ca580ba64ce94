import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** Documents that are not CFDIs. The same source, name and content is one row, however often it is downloaded. */
export const documents = sqliteTable(
  'documents',
  {
    entity: integer().notNull(),
    document_id: text().notNull(),
    source: text().notNull(),
    name: text().notNull(),
    title: text().notNull(),
    content_type: text().notNull(),
    size: integer().notNull(),
    sha256: text().notNull(),
    document_date: text().notNull(),
    period_end: text(),
    /** JSON, flat. */
    attributes: text().notNull(),
    /** When each organization got it with a run of its own, which fetched it or joined its job: `{organization: milliseconds}`. */
    organizations: text().notNull(),
    /** Milliseconds since 1970. */
    created_at: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.entity, table.document_id] })],
)
