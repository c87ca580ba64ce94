import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { instant } from '../../platform/db/columns.ts'

export const RUN_TRIGGERS = ['manual', 'connection_created', 'connection_reactivated', 'schedule'] as const

/** One dispatch of an extractor. Written before anything of it is done, so that a crash leaves something to finish. */
export const runs = sqliteTable(
  'runs',
  {
    run_id: text('run_id').primaryKey(),
    organization_id: text('organization_id').notNull(),
    extractor_id: text('extractor_id').notNull(),
    trigger: text('trigger', { enum: RUN_TRIGGERS }).notNull(),
    /** Of a scheduled run: the local day that it is for. */
    local_date: text('local_date'),
    /** The one connection that it is about; null for all of the organization's. */
    fiscal_entity_id: text('fiscal_entity_id'),
    /** Decides ranges, windows and what counts as fetched already. */
    instant: instant('instant').notNull(),
    status: text('status', { enum: ['planned', 'dispatched', 'no_connections'] }).notNull(),
    connections: integer('connections').notNull(),
    dispatched: integer('dispatched').notNull(),
    created_at: instant('created_at').notNull(),
  },
  (table) => [
    // The sweep: runs that a crash left unfinished.
    index('runs_planned').on(table.created_at).where(sql`status = 'planned'`),
    // GET /extractors/{id}/runs, newest first.
    index('runs_extractor').on(table.extractor_id, table.run_id),
    // One run for each extractor and local date.
    uniqueIndex('runs_local_date').on(table.extractor_id, table.local_date).where(sql`local_date is not null`),
  ],
)
