import { sql } from 'drizzle-orm'
import { index, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { flag, instant } from '../../../platform/db/columns.ts'

/** The planning progress of one cadence that is due on a local day of a zone. Inserted in the commit that advances the zone. */
export const tickPages = sqliteTable(
  'tick_pages',
  {
    timezone: text().notNull(),
    /** The local day of the tick. */
    day: text().notNull(),
    cadence: text().notNull(),
    /** The last day up to `day` on which the cadence is due: the local date of its runs. */
    due_day: text().notNull(),
    /** The tick's instant, which all its runs share. */
    instant: instant().notNull(),
    /** The last extractor that has been planned; empty before the first. */
    after: text().notNull(),
    is_done: flag().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.timezone, table.day, table.cadence] }),
    // The sweep: unfinished pages.
    index('tick_pages_open').on(table.instant).where(sql`is_done = 0`),
  ],
)
