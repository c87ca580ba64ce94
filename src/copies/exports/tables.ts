import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

export const EXPORT_KINDS = ['cfdi', 'conceptos', 'pagos', 'nominas', 'complementos', 'xml'] as const
export const EXPORT_FORMATS = ['csv', 'xlsx', 'ndjson', 'zip'] as const
/** What the ZIP of the kind `xml` has of each document. */
export const EXPORT_CONTENT = ['xml', 'pdf'] as const
/** The words for columns and for values of enumerations: the names of the API, or Spanish words. */
export const EXPORT_HEADINGS = ['api', 'es'] as const
/** `deleting` is shown to nobody: its objects are still to be removed. */
export const EXPORT_STATES = ['queued', 'running', 'ready', 'failed', 'expired', 'deleting'] as const

/** Exports with their progress. Times are milliseconds since 1970. */
export const exports_ = sqliteTable(
  'exports',
  {
    export_id: text().primaryKey(),
    organization_id: text().notNull(),
    fiscal_entity_id: text().notNull(),
    /** The api_key of the credential that began it; null of those begun before this was kept. */
    created_by: text(),
    kind: text({ enum: EXPORT_KINDS }).notNull(),
    format: text({ enum: EXPORT_FORMATS }).notNull(),
    headings: text({ enum: EXPORT_HEADINGS }).notNull().default('api'),
    /** The filters as they were asked for, as JSON. */
    filters: text().notNull(),
    /** The organization's view at the time of its request, and the meaning of the filters then, as JSON (start.ts). */
    start: text().notNull(),
    status: text({ enum: EXPORT_STATES }).notNull(),
    rows: integer().notNull(),
    documents: integer().notNull(),
    /** Documents whose XML is not known, in an export that reads XML. */
    without_xml: integer().notNull(),
    bytes: integer().notNull(),
    /** issued_at of the last document that was looked at, in seconds. */
    scanned_through: integer(),
    /** The object in FILES with the state after the last committed step; null before. */
    state: text(),
    /** The finished file in FILES, and its ETag. */
    object: text(),
    etag: text(),
    error_code: text(),
    /** The worker that has the export; null when none does. */
    token: text(),
    lease_until: integer().notNull(),
    /** Claims since the last committed step. */
    attempts: integer().notNull(),
    created_at: integer().notNull(),
    completed_at: integer(),
    expires_at: integer(),
  },
  (table) => [
    // The list of an organization, newest first.
    index('exports_organization').on(table.organization_id, table.export_id),
    // The sweep finds unfinished exports.
    index('exports_open').on(table.lease_until).where(sql`status in ('queued', 'running', 'deleting')`),
    // The daily task finds expired exports.
    index('exports_expiring').on(table.expires_at).where(sql`status = 'ready'`),
    // It forgets those that ended long ago.
    index('exports_ended').on(table.completed_at).where(sql`status in ('failed', 'expired')`),
  ],
)
