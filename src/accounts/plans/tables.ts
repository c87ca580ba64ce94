import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { Quota } from './quotas.ts'

/**
 * Quotas of which an organization had used 80 %. A row is written in the commit that reserved the unit, in any database, and copied to the
 * organization's events shard, which reports it.
 */
export const quotaWarnings = sqliteTable(
  'quota_warnings',
  {
    organization_id: text().notNull(),
    quota: text().$type<Quota>().notNull(),
    /** The local day of a daily quota, and the local month of any other. There is one warning for each limit in it. */
    period: text().notNull(),
    used: integer().notNull(),
    most: integer().notNull(),
    /** Milliseconds since 1970. */
    marked_at: integer().notNull(),
    /** 1 once it is reported; in the control plane, once the events shard has it. */
    notified: integer().notNull().default(0),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.quota] }),
    // Warnings to report.
    index('quota_warnings_unnotified').on(table.organization_id, table.quota).where(sql`notified = 0`),
  ],
)
