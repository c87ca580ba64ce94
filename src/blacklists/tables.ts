import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { instant } from '../platform/db/columns.ts'
import { SITUACIONES } from './catalog.ts'

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
    /** The name that an organization gave its own list. */
    label: text(),
    /** SHA-256 of the loaded file, in hexadecimal. */
    digest: text(),
    /** The day up to which the list states that it is current, `YYYY-MM-DD`. */
    list_date: text(),
    fetched_at: instant(),
    row_count: integer().notNull(),
    refused_digest: text(),
    refused_code: text(),
    refused_detail: text(),
    refused_at: instant(),
  },
  (table) => [primaryKey({ columns: [table.organization_id, table.source] })],
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
