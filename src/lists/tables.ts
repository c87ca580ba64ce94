import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { instant } from '../platform/db/columns.ts'
import { LIST_CHANGES, SITUACIONES } from './catalog.ts'

/** The loaded lists, each with the last file that was refused since it was loaded. */
export const blacklistLists = sqliteTable(
  'blacklist_lists',
  {
    /** The owner; empty for a public list. */
    organization_id: text().notNull(),
    /** A key of the catalog, or `custom:<slug>`. */
    source: text().notNull(),
    /** The number of loads; 0 while no list is loaded. A load is committed on the version that it was checked against. */
    version: integer().notNull(),
    /** The version up to which counterparties are marked, and changes reported (delivery/list-notifications/notify.ts). */
    notified_version: integer().notNull().default(0),
    /** The name that an organization gave its own list. */
    label: text(),
    /** SHA-256 of the loaded file, in hexadecimal. */
    digest: text(),
    /** The day up to which the list states that it is current, `YYYY-MM-DD`. */
    list_date: text(),
    fetched_at: instant(),
    row_count: integer().notNull(),
    /** The digest of a file that is being loaded in parts, some of which may be in the entries already. */
    loading: text(),
    refused_digest: text(),
    refused_code: text(),
    refused_detail: text(),
    refused_at: instant(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.source] }),
    // The task that reports changes.
    index('blacklist_lists_unnotified').on(table.organization_id).where(sql`notified_version < version`),
  ],
)

/** A row of `blacklist_lists` as D1 returns it: instants are milliseconds. */
export type ListState = Omit<typeof blacklistLists.$inferSelect, 'fetched_at' | 'refused_at'> & {
  fetched_at: number | null
  refused_at: number | null
}

/** An RFC on a list. The key serves look-ups, which visit the lists that the organization can see, and loads, which visit one list. */
export const blacklistEntries = sqliteTable(
  'blacklist_entries',
  {
    organization_id: text().notNull(),
    source: text().notNull(),
    rfc: text().notNull(),
    name: text().notNull(),
    /** The current situation; null on a list without situations. */
    situacion: text({ enum: SITUACIONES }),
    /** JSON array of the steps `[situacion, sat_at, dof_at, oficio]`, the current one last. */
    history: text().notNull(),
    /** The date of the list in which a step without a readable date was first seen; null when every step has one. */
    seen_on: text(),
  },
  (table) => [primaryKey({ columns: [table.organization_id, table.source, table.rfc] })],
)

/**
 * Changes of a list by its loads, except the first, which tells nothing new: RFCs that came onto it, left it, or got another situation.
 * Kept for 90 days, up to the list's next load.
 */
export const blacklistChanges = sqliteTable(
  'blacklist_changes',
  {
    organization_id: text().notNull(),
    source: text().notNull(),
    rfc: text().notNull(),
    /** The version of the list with which it changed. */
    version: integer().notNull(),
    name: text().notNull(),
    change: text({ enum: LIST_CHANGES }).notNull(),
    situacion_before: text({ enum: SITUACIONES }),
    /** The situation since; null when it left the list, and on a list without situations. */
    situacion: text({ enum: SITUACIONES }),
    changed_at: instant().notNull(),
  },
  (table) => [primaryKey({ columns: [table.organization_id, table.source, table.rfc, table.version] })],
)
