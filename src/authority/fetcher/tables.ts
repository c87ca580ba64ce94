import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'

/**
 * The task or result of an external fetcher for a job whose login is a CIEC. A row is deleted when its job needs it no longer. Times are
 * milliseconds since 1970.
 */
export const fetches = sqliteTable(
  'fetches',
  {
    fetch: integer('fetch').primaryKey({ autoIncrement: true }),
    entity: integer('entity').notNull(),
    source: text('source').notNull(),
    /** `YYYY-MM`; empty for document sources. */
    month: text('month').notNull(),
    /** When its job was asked for. */
    asked_at: integer('asked_at').notNull(),
    state: text('state', { enum: ['offered', 'leased', 'complete', 'failed'] }).notNull(),
    /** When it can be leased: at once, or when its lease runs out. Null when it is over. */
    due_at: integer('due_at'),
    /** The last lease, and when it was taken, which is the instant of its uploads. */
    token: text('token'),
    leased_at: integer('leased_at'),
    /** The login that was leased: the version of the RFC's CIECs, and a keyed hash. */
    version: integer('version'),
    login: text('login'),
    /** The uploads under the lease: `{"metadata-0": {key, size, sha256}}` as JSON. */
    files: text('files').notNull().default('{}'),
    /** 0 when the fetcher knows that it could not bring everything. */
    is_whole: integer('is_whole').notNull().default(1),
    error_class: text('error_class'),
  },
  (table) => [
    uniqueIndex('fetches_job').on(table.entity, table.source, table.month),
    // Leases.
    index('fetches_due').on(table.due_at).where(sql`due_at is not null`),
    // The sweep.
    index('fetches_over').on(table.entity).where(sql`state in ('complete', 'failed')`),
  ],
)
