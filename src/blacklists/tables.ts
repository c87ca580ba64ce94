import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { instant } from '../platform/db/columns.ts'
import { SITUACIONES } from './catalog.ts'

/** The lists that are held, and the last file that was not taken in the place of one. */
export const blacklistLists = sqliteTable(
  'blacklist_lists',
  {
    /** Whose list it is; empty for one that everybody is told of. */
    organization_id: text('organization_id').notNull(),
    /** A key of the catalog, or `custom:<slug>`. */
    source: text('source').notNull(),
    /** Counts loads: a load is made on the version that it was judged against. 0 while none is held. */
    version: integer('version').notNull(),
    /** The name that an organization gave its list. */
    label: text('label'),
    /** SHA-256 of the file that is held, in hex. */
    digest: text('digest'),
    /** The day up to which the list says that it is, `YYYY-MM-DD`. */
    list_date: text('list_date'),
    fetched_at: instant('fetched_at'),
    row_count: integer('row_count').notNull(),
    refused_digest: text('refused_digest'),
    refused_code: text('refused_code'),
    refused_detail: text('refused_detail'),
    refused_at: instant('refused_at'),
  },
  (table) => [primaryKey({ columns: [table.organization_id, table.source] })],
)

/** A row of `blacklist_lists` as D1 returns it: instants are milliseconds. */
export type ListState = Omit<typeof blacklistLists.$inferSelect, 'fetched_at' | 'refused_at'> & {
  fetched_at: number | null
  refused_at: number | null
}

/** An RFC on a list. The key serves look-ups, which go through the lists that the asker may see, and loads, which go through one. */
export const blacklistEntries = sqliteTable(
  'blacklist_entries',
  {
    organization_id: text('organization_id').notNull(),
    source: text('source').notNull(),
    rfc: text('rfc').notNull(),
    name: text('name').notNull(),
    /** Where it stands now; null on a list without situations. */
    situacion: text('situacion', { enum: SITUACIONES }),
    /** JSON, `[situacion, sat_at, dof_at, oficio]` of each step, the last one current. */
    history: text('history').notNull(),
    /** The date of the list in which a step without a legible date was first seen; null when there is none. */
    seen_on: text('seen_on'),
  },
  (table) => [primaryKey({ columns: [table.organization_id, table.source, table.rfc] })],
)
