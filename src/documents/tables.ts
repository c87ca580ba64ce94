import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** Documents that are not CFDIs. The same source, name and content is one row, however often it is downloaded. */
export const documents = sqliteTable(
  'documents',
  {
    entity: integer('entity').notNull(),
    document_id: text('document_id').notNull(),
    source: text('source').notNull(),
    name: text('name').notNull(),
    title: text('title').notNull(),
    content_type: text('content_type').notNull(),
    size: integer('size').notNull(),
    sha256: text('sha256').notNull(),
    document_date: text('document_date').notNull(),
    period_end: text('period_end'),
    /** JSON, flat. */
    attributes: text('attributes').notNull(),
    /** When each organization got it with a run of its own, which fetched it or joined its job: `{organization: milliseconds}`. */
    organizations: text('organizations').notNull(),
    /** Milliseconds since 1970. */
    created_at: integer('created_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.entity, table.document_id] })],
)
