import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { flag, instant } from '../platform/db/columns.ts'

/** Destinations to which an organization's documents are mirrored. They lie in the organization's events shard. */
export const storageConnectors = sqliteTable(
  'storage_connectors',
  {
    /** The number by which mirrors refer to the connector. */
    connector: integer().primaryKey({ autoIncrement: true }),
    connector_id: text().notNull(),
    organization_id: text().notNull(),
    name: text().notNull(),
    provider: text({ enum: ['s3', 'azure_blob', 'google_drive', 'onedrive'] }).notNull(),
    /** JSON, as the contract has it. */
    config: text().notNull(),
    /** JSON, as the contract has it. */
    scope: text().notNull(),
    /** The encrypted credentials, `version:base64` (credentials.ts). */
    credentials: text().notNull(),
    /** 1 for the first credentials, and one more whenever they are replaced. */
    credentials_version: integer().notNull(),
    connector_status: text({ enum: ['active', 'paused', 'error'] }).notNull(),
    /** Whether each connection that existed at its creation has a mirror: from then on, events make work (trigger `events_mirrored`). */
    is_planned: flag().notNull(),
    /** Failures in a row, and the time before which nothing is sent after the last of them, in milliseconds since 1970. */
    failures: integer().notNull(),
    retry_at: integer().notNull(),
    /** JSON `{code, message, at}`; null when the last copy succeeded. */
    last_error: text(),
    last_copied_at: instant(),
    copied_count: integer().notNull(),
    failed_count: integer().notNull(),
    /** JSON `{status, total, copied, …}`; null without a backfill. */
    backfill: text(),
    /** Number of the last part of the manifests: each batch leaves one (mirror/manifest.ts). */
    parts: integer().notNull().default(0),
    /** JSON `{day, numbers, parts, due}`: the last manifest, and the day for which another one is due (mirror/manifest.ts); null before. */
    manifest: text(),
    /** Who copies, and until when; null when nobody does. */
    token: text(),
    lease_until: integer().notNull(),
    created_at: instant().notNull(),
    updated_at: instant().notNull(),
    deleted_at: instant(),
  },
  (table) => [
    // Requests that name a connector.
    uniqueIndex('storage_connectors_id').on(table.connector_id),
    // GET /storage-connectors; the active connectors of an organization.
    index('storage_connectors_organization').on(table.organization_id, table.connector).where(sql`deleted_at is null`),
    // The sweep: connectors that are to be planned or cleaned up, whose backfill is not completed, or whose manifest is due.
    index('storage_connectors_unfinished')
      .on(table.connector)
      .where(sql`not is_planned or deleted_at is not null or backfill->>'status' <> 'completed' or manifest->>'due' is not null`),
  ],
)

/** How far a connector has copied what its organization may read of one RFC. */
export const storageMirrors = sqliteTable(
  'storage_mirrors',
  {
    connector: integer().notNull(),
    /** The connection's fiscal entity, as a UUID: events name it so. */
    fiscal_entity: text().notNull(),
    /** 1: something may have come. 2: a round is under way, and nothing has been reported since it began. 0: there is nothing to copy. */
    due: integer().$type<0 | 1 | 2>().notNull(),
    /** The last commit of the authority's partition, and of the imports' partition, that has been dealt with. */
    sequence: integer().notNull().default(0),
    import_sequence: integer().notNull().default(0),
    /** JSON: the windows whose visible documents have all been dealt with; null for none. */
    windows: text(),
    /** The commit up to which all documents have been dealt with, whatever the windows, because there were no extractors. */
    all_until: integer().notNull().default(0),
    /** Documents that are not CFDIs are copied when the organization got them after this instant, in milliseconds since 1970. */
    documents_since: integer().notNull().default(0),
    /** JSON: the round under way, and how far it is; null between two rounds. */
    round: text(),
  },
  (table) => [
    primaryKey({ columns: [table.connector, table.fiscal_entity] }),
    // The sweep, and the next mirror to work on.
    index('storage_mirrors_due').on(table.connector, table.fiscal_entity).where(sql`due`),
  ],
)

/** The documents that are not CFDIs and that a connector has copied. */
export const storageCopied = sqliteTable(
  'storage_copied',
  {
    connector: integer().notNull(),
    document_id: text().notNull(),
  },
  (table) => [primaryKey({ columns: [table.connector, table.document_id] })],
)

/** Documents that a destination did not store although it stored others. Each is tried again with the daily review. */
export const storageRefused = sqliteTable(
  'storage_refused',
  {
    connector: integer().notNull(),
    /** As in storage_mirrors. */
    fiscal_entity: text().notNull(),
    /** The UUID of a CFDI, or the id of another document. */
    document: text().notNull(),
    path: text().notNull(),
    code: text().notNull(),
    message: text().notNull(),
    /** ISO 8601, when it was refused last. */
    at: text().notNull(),
    /** Whether the next round of the mirror tries it again. */
    due: flag().notNull(),
  },
  (table) => [primaryKey({ columns: [table.connector, table.fiscal_entity, table.document] })],
)
