import { sql } from 'drizzle-orm'
import { blob, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** As the row has it. */
const STORED_STATUSES = ['queued', 'running', 'succeeded', 'failed'] as const

/** As an organization sees it: a job that waits is kept apart. */
export const JOB_STATUSES = ['queued', 'running', 'waiting', 'succeeded', 'failed'] as const
export type JobStatus = (typeof JOB_STATUSES)[number]

/** One download of a source and month of an RFC, shared by every organization whose run created or joined it. Times are milliseconds since 1970. */
export const syncJobs = sqliteTable(
  'sync_jobs',
  {
    entity: integer('entity').notNull(),
    source: text('source').notNull(),
    /** `YYYY-MM`; empty for document sources. */
    month: text('month').notNull(),
    /** The jobs that one run requests for an RFC have the same identifier. The newest job of a source and month has the greatest. */
    job_id: text('job_id').notNull(),
    /**
     * The organizations whose runs created it, joined it, or found it recently finished, as a JSON array; null when it is only the one that
     * asked first for jobs of the RFC (taxpayers/visibility/jobs.ts).
     */
    organizations: text('organizations'),
    /** The ones among them that found it finished, as a JSON array; null without any. */
    late: text('late'),
    /**
     * `{organization_id: job_id}`: the organizations that have waited for a login while the job continued for others, and the job under
     * whose identifier each knows this one. The ones that `organizations` does not name still wait.
     */
    deferred: text('deferred').notNull().default('{}'),
    /** 1 until it has ended. Only the newest job of a source and month can be open. */
    open: integer('open').notNull(),
    /** 1 while a worker that claimed it alone runs it. */
    is_claimed: integer('is_claimed').notNull().default(0),
    /** Not stored. An open job is `running` only while it is claimed; otherwise the lease of `sync_work` says what runs. */
    status: text('status', { enum: STORED_STATUSES })
      .notNull()
      .generatedAlwaysAs(
        sql`(case when open = 0 then iif(error_class is null, 'succeeded', 'failed') else iif(is_claimed, 'running', 'queued') end)`,
      ),
    /** The instant of the run that created it. It downloads at least what the authority had then. */
    as_of: integer('as_of').notNull(),
    /** The job is not run before this time: its slot in the spread, or the wait between attempts. */
    not_before: integer('not_before').notNull(),
    /**
     * The end of the wait after its last failed attempt, or for the authority, as it is shown to those who asked for it then. One who joins it does
     * not wait for it.
     */
    wait_until: integer('wait_until'),
    /** Attempts that have ended, and the one of a job that is `running`. */
    attempts: integer('attempts').notNull(),
    /**
     * How long after `as_of` it was created, and how long after that it ended, because most rows are shorter so. The times are not stored.
     */
    created_after: integer('created_after').notNull(),
    created_at: integer('created_at').notNull().generatedAlwaysAs(sql`(as_of + created_after)`),
    started_at: integer('started_at'),
    finished_after: integer('finished_after'),
    finished_at: integer('finished_at').generatedAlwaysAs(sql`(as_of + created_after + finished_after)`),
    error_class: text('error_class'),
    created_count: integer('created_count').notNull(),
    updated_count: integer('updated_count').notNull(),
    cancelled_count: integer('cancelled_count').notNull(),
    rejected_count: integer('rejected_count').notNull(),
    /**
     * The first files and rows of metadata that were not kept, as a JSON array of Rejection (rejections.ts); null when there are none.
     * When the job ends, rejections of stored documents get `fecha` and `issued_at`. A month is not complete while its last job has any.
     */
    rejected_files: text('rejected_files'),
    /**
     * The changes of each slice, as a JSON array of SliceCounts (slice-counts.ts), from which the counts for each organization are
     * computed.
     */
    brought: text('brought').notNull().default('[]'),
    /**
     * 1 after an invocation whose budget ended before the job did; more after one that took in a part of the month, by the lists of documents in
     * it.
     */
    is_continued: integer('is_continued').notNull().default(0),
  },
  (table) => [primaryKey({ columns: [table.entity, table.source, table.month, table.job_id] })],
)

/**
 * The work that is left for an RFC, and the lease of the worker that does it. There is a row while jobs are open, or have ended and are not
 * handed to the relay.
 */
export const syncWork = sqliteTable('sync_work', {
  entity: integer('entity').primaryKey(),
  /** These jobs, as a JSON array of `[source, month, job_id]`. */
  jobs: text('jobs').notNull(),
  /** The extractions that wait for any of them, as a JSON array of `[organization_id, run_id]`: their ends are reported. */
  runs: text('runs').notNull().default('[]'),
  /** When the first of them is due, unless a worker has the lease. */
  due_at: integer('due_at').notNull(),
  /** The worker that has the lease, since when, and until when; null when none has. Only its holder changes the jobs' progress and ends them. */
  token: text('token'),
  leased_at: integer('leased_at'),
  lease_until: integer('lease_until'),
  /** 1 when a run of no cadence requested a job, so that somebody may wait for it: it is announced before spread work. */
  is_interactive: integer('is_interactive').notNull().default(0),
  /** 1 after a lease ran out: each job is claimed separately, so that the one that kills its worker is found. */
  claim_per_job: integer('claim_per_job').notNull().default(0),
})

/** How the downloads of the months of a source ended. It is kept when the rows of the jobs are deleted. */
export const coverage = sqliteTable(
  'coverage',
  {
    entity: integer('entity').notNull(),
    source: text('source').notNull(),
    /** A Coverage (taxpayers/visibility/coverage.ts) as JSON. */
    months: text('months').notNull(),
  },
  (table) => [primaryKey({ columns: [table.entity, table.source] })],
)

/** The request of one run for one connection: the jobs that it created, joined or found finished. */
export const extractions = sqliteTable(
  'extractions',
  {
    organization_id: text('organization_id').notNull(),
    entity: integer('entity').notNull(),
    run_id: text('run_id').notNull(),
    /** Number of the organization's extractions of the entity up to this one. */
    n: integer('n').notNull().default(0),
    /** The run's instant, milliseconds. */
    instant: integer('instant').notNull(),
    /** `{job_id: {source: [month, …]}}` as JSONB, SQLite's binary JSON; the month is empty for document sources. */
    jobs: blob('jobs').notNull(),
    /** 1 when the run created at least one of the jobs of its range. */
    dispatched: integer('dispatched').notNull(),
    /** Number of the jobs for months before its range, which the connection missed while it was not active. */
    gap_jobs: integer('gap_jobs').notNull().default(0),
    /** When the run requested the jobs, milliseconds. No time of a job from before is shown to the organization. */
    requested_at: integer('requested_at').notNull(),
    /** `{source:month: attempts}`: the attempts that had ended before, of the jobs that had any. They are not shown to the organization. */
    attempts_before: text('attempts_before').notNull(),
    /** 1 for a range that was asked for: the extractions of extractors do not continue from its end. */
    is_range: integer('is_range').notNull().default(0),
    /** 1 when the run was cancelled: it wants nothing any more, and others of its organization need not spare its jobs. */
    is_cancelled: integer('is_cancelled').notNull().default(0),
  },
  (table) => [primaryKey({ columns: [table.organization_id, table.entity, table.run_id] })],
)

/**
 * Cancellations as they were found, for organizations whose connections were not active then: they are reported when theirs is active again. Kept
 * for 90 days.
 */
export const cancellations = sqliteTable(
  'cancellations',
  {
    entity: integer('entity').notNull(),
    /** Milliseconds since 1970. */
    found_at: integer('found_at').notNull(),
    uuid: text('uuid').notNull(),
    /** The body of its outbox event. */
    body: text('body').notNull(),
  },
  (table) => [primaryKey({ columns: [table.entity, table.found_at, table.uuid] })],
)
