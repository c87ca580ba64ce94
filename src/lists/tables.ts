import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { flag, instant } from '../platform/db/columns.ts'
import { LIST_CHANGES, SITUACIONES } from './catalog.ts'
import type { RegistryRecord } from './repse/registry/registry.ts'

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

/** The registry's last answer about an RFC, which all organizations share, and the state of its next look-up. */
export const repseRecords = sqliteTable(
  'repse_records',
  {
    rfc: text().primaryKey(),
    /** The name on the tax authority's documents, by which the registry is searched; null when unknown. */
    name: text(),
    /** When the registry last answered. While it is null, the columns of the answer mean nothing. */
    checked_at: instant(),
    is_registered: flag(),
    folio: text(),
    razon_social: text(),
    entidad: text(),
    municipio: text(),
    num_aviso: text(),
    /** Days, `YYYY-MM-DD`. */
    fecha_aviso: text(),
    vigencia_hasta: text(),
    actividades: text({ mode: 'json' }).$type<RegistryRecord['actividades']>(),
    /** When the requested look-up may begin, or when the lease of the one that is running ends; null when none is requested. */
    due_at: instant(),
    token: text(),
    /** How often the registry has not answered since the look-up was requested. */
    attempts: integer().notNull(),
    /** The day of the last round that claimed the RFC. A round looks each RFC up once. */
    asked_day: text(),
  },
  // The sweep: requested look-ups, the longest waiting first.
  (table) => [index('repse_records_due').on(table.due_at).where(sql`due_at is not null`)],
)

/** The daily round over the RFCs with an active connection. */
export const repseRounds = sqliteTable('repse_rounds', {
  /** `YYYY-MM-DD` in UTC. */
  day: text().primaryKey(),
  /** The instant from which the age of answers and the day of alerts are computed. */
  instant: instant().notNull(),
  /** The last entity that the round has finished. */
  after: integer().notNull(),
  is_done: flag().notNull(),
  moved_at: instant().notNull(),
})

/** Records that test helpers gave the sandbox registry. */
export const sandboxRepseRecords = sqliteTable('sandbox_repse_records', {
  rfc: text().primaryKey(),
  /** A RegistryRecord as JSON. */
  record: text().notNull(),
})
