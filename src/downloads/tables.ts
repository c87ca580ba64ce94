import { sql } from 'drizzle-orm'
import { integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'

export const SYNC_STATUSES = ['queued', 'running', 'succeeded', 'failed'] as const

/** One fetch of a source and month of an RFC, shared by everybody whose run created or joined it. Times are milliseconds since 1970. */
export const syncJobs = sqliteTable(
  'sync_jobs',
  {
    entity: integer('entity').notNull(),
    source: text('source').notNull(),
    /** `YYYY-MM`; empty for document sources. */
    month: text('month').notNull(),
    job_id: text('job_id').notNull(),
    /** The run that created it. */
    run_id: text('run_id').notNull(),
    /** Whose runs created it, joined it, or found it done in time, as a JSON list. */
    organizations: text('organizations').notNull(),
    /** 1 while queued or running. */
    open: integer('open').notNull(),
    status: text('status', { enum: SYNC_STATUSES }).notNull(),
    /** The instant of the run that created it: it fetches at least what was there then. */
    as_of: integer('as_of').notNull(),
    /** Not to be claimed earlier: a wait between attempts. */
    not_before: integer('not_before').notNull(),
    /** Who has claimed it, and until when. */
    token: text('token'),
    lease_until: integer('lease_until'),
    attempts: integer('attempts').notNull(),
    created_at: integer('created_at').notNull(),
    started_at: integer('started_at'),
    finished_at: integer('finished_at'),
    error_class: text('error_class'),
    created_count: integer('created_count').notNull(),
    updated_count: integer('updated_count').notNull(),
    cancelled_count: integer('cancelled_count').notNull(),
    rejected_count: integer('rejected_count').notNull(),
    /** Of what it brought or changed, seconds since 1970. */
    first_issued_at: integer('first_issued_at'),
    last_issued_at: integer('last_issued_at'),
    /** The same by day, as a JSON list of what each slice brought (tally.ts): what of it a window admits. */
    brought: text('brought').notNull().default('[]'),
  },
  (table) => [
    primaryKey({ columns: [table.entity, table.source, table.month, table.job_id] }),
    // One open job for each source and month; the next one to claim; what the sweep looks at.
    uniqueIndex('sync_jobs_open').on(table.entity, table.source, table.month).where(sql`open = 1`),
  ],
)

/** What one run asked for one connection: ranges and the jobs that it created, joined or found done, by source and month. */
export const extractions = sqliteTable(
  'extractions',
  {
    organization_id: text('organization_id').notNull(),
    entity: integer('entity').notNull(),
    run_id: text('run_id').notNull(),
    /** The run's instant, milliseconds. */
    instant: integer('instant').notNull(),
    /** `{source: {month: job_id}}`, the month empty for document sources. */
    jobs: text('jobs').notNull(),
    /** 1 when the run queued a job here that was not there before. */
    dispatched: integer('dispatched').notNull(),
  },
  (table) => [primaryKey({ columns: [table.organization_id, table.entity, table.run_id] })],
)
