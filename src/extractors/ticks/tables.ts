import { sql } from 'drizzle-orm'
import { index, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { flag, instant } from '../../platform/db/columns.ts'

/** Pages of a tick: what is left to do of a cadence that is due on a local day of a zone. Written with the zone's advance. */
export const tickPages = sqliteTable(
  'tick_pages',
  {
    timezone: text('timezone').notNull(),
    /** The local day of the tick: with the zone its identity. */
    day: text('day').notNull(),
    cadence: text('cadence').notNull(),
    /** The last day up to the tick's on which the cadence falls: the local date of its runs. */
    due_day: text('due_day').notNull(),
    /** The tick's instant, of all its runs. */
    instant: instant('instant').notNull(),
    /** The last extractor that has been planned; empty at first. */
    after: text('after').notNull(),
    is_done: flag('is_done').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.timezone, table.day, table.cadence] }),
    // The sweep: pages that nobody finished.
    index('tick_pages_open').on(table.instant).where(sql`is_done = 0`),
  ],
)
