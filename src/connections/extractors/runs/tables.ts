import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import type { DataSourceKey } from '../../../authority/port/authority.ts'
import { instant } from '../../../platform/db/columns.ts'

export const RUN_TRIGGERS = ['manual', 'connection_created', 'connection_reactivated', 'schedule', 'extraction'] as const

export const RUN_STATES = ['planned', 'dispatched', 'no_connections', 'cancelled'] as const

/** A download of an RFC at once: its sources, and its first and last day. */
export interface AskedRange {
  data_source_keys: DataSourceKey[]
  from: string
  to: string
}

/** One dispatch of an extractor, or of what is asked for of one RFC. Inserted before its work begins, so that a crash leaves a row to finish. */
export const runs = sqliteTable(
  'runs',
  {
    run_id: text('run_id').primaryKey(),
    organization_id: text('organization_id').notNull(),
    /** Empty for a run of no extractor. */
    extractor_id: text('extractor_id').notNull(),
    trigger: text('trigger', { enum: RUN_TRIGGERS }).notNull(),
    /** The local day of a scheduled run; null for other triggers. */
    local_date: text('local_date'),
    /** The only fiscal entity that the run covers; null when it covers all of the organization's. */
    fiscal_entity_id: text('fiscal_entity_id'),
    /** Determines ranges and windows, and which finished jobs are recent enough to be joined. */
    instant: instant('instant').notNull(),
    status: text('status', { enum: RUN_STATES }).notNull(),
    connections: integer('connections').notNull(),
    dispatched: integer('dispatched').notNull(),
    gap_jobs: integer('gap_jobs').notNull().default(0),
    /** The last connection that has been dispatched; empty before the first. The counts are those up to it. */
    after: text('after').notNull().default(''),
    created_at: instant('created_at').notNull(),
    /** When it was planned, or `after` last moved; for a run that waits for the verification of a CIEC, the time of that; when it was cancelled. */
    moved_at: instant('moved_at').notNull().default(sql`0`),
    /** Of a run of no extractor: what was asked for. */
    asked: text('asked', { mode: 'json' }).$type<AskedRange>(),
  },
  (table) => [
    // The sweep: runs that a crash left unfinished.
    index('runs_planned').on(table.moved_at).where(sql`status = 'planned'`),
    // GET /extractors/{id}/runs, newest first.
    index('runs_extractor').on(table.extractor_id, table.run_id),
    // One run per extractor and local date.
    uniqueIndex('runs_local_date').on(table.extractor_id, table.local_date).where(sql`local_date is not null`),
  ],
)
