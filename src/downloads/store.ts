import type { Rejection } from '../cfdi/package/rejections.ts'
import { isFenceViolation } from '../platform/db/guard.ts'
import { newId } from '../platform/db/id.ts'
import { coverageAfter, type EndedDownload, type MonthCoverage } from '../visibility/coverage.ts'
import type { SliceCounts } from '../visibility/slice-counts.ts'

export interface Job {
  entity: number
  source: string
  month: string
  job_id: string
  /** JSON, as in the table. */
  organizations: string
  carried: string
  as_of: number
  attempts: number
  token: string
  /** 1 when an earlier invocation has ingested a part. */
  is_continued: number
  /** Number of changes that earlier attempts have made. */
  ingested: number
  /** What is known of the month, a MonthCoverage as JSON. Only the job's own end changes it. */
  covered: string | null
  /** Whether an organization waits for a login while the job goes on for others. */
  hasWaiting?: boolean
}

const CLAIMED = `entity, source, month, job_id, organizations, carried, as_of, attempts, token, is_continued,
  created_count + updated_count + cancelled_count as ingested,
  (select c.months -> ('$."' || month || '"') from coverage c where c.entity = sync_jobs.entity and c.source = sync_jobs.source) as covered`

/**
 * Claims the entity's next job: one that is queued and due, or running under an expired lease. Newest months first. The attempt reads every
 * file that was rejected before again, so they are counted and listed anew.
 */
export const claimStatement = (ledger: D1Database, entity: number, token: string, now: number, leaseUntil: number) =>
  ledger
    .prepare(
      `update sync_jobs set status = 'running', token = ?2, lease_until = ?4, attempts = attempts + 1, started_at = coalesce(started_at, ?3),
         rejected_count = 0, rejected_files = null
       where (entity, source, month, job_id) = (
         select entity, source, month, job_id from sync_jobs indexed by sync_jobs_open
         where entity = ?1 and open = 1 and ((status = 'queued' and not_before <= ?3) or lease_until < ?3)
         order by source desc, month desc limit 1)
       returning ${CLAIMED}`,
    )
    .bind(entity, token, now, leaseUntil)

const CLAIM_HELD = 'entity = ?1 and source = ?2 and month = ?3 and job_id = ?4 and token = ?5 and open = 1'
const keysOf = ({ entity, source, month, job_id, token }: Job) => [entity, source, month, job_id, token] as const

/** What a slice changed. */
export interface Progress {
  created: number
  updated: number
  cancelled: number
  rejected: number
  /** Null for documents that are not CFDIs. */
  counts: SliceCounts | null
  /** All that the attempt has rejected so far. */
  rejected_files: readonly Rejection[]
}

/**
 * Adds what a slice changed to its job, and extends the lease. A fence refuses the whole batch when the claim is lost (`isClaimLost`), so
 * that only the claim's holder writes and each change is counted in the job whose event reports it.
 */
export const progressStatement = (
  ledger: D1Database,
  job: Job,
  { created, updated, cancelled, rejected, counts, rejected_files }: Progress,
  leaseUntil: number,
) =>
  ledger
    .prepare(
      `update sync_jobs set created_count = case when token = ?5 and open = 1 then created_count + ?6 end,
         updated_count = updated_count + ?7, cancelled_count = cancelled_count + ?8, rejected_count = rejected_count + ?9,
         lease_until = ?10, rejected_files = ?12, brought = case when ?11 is null then brought else json_insert(brought, '$[#]', json(?11)) end
       where entity = ?1 and source = ?2 and month = ?3 and job_id = ?4`,
    )
    .bind(
      ...keysOf(job),
      ...[created, updated, cancelled, rejected, leaseUntil, counts === null ? null : JSON.stringify(counts)],
      rejected_files.length === 0 ? null : JSON.stringify(rejected_files),
    )

/** Whether a batch was refused because the job's claim is lost. */
export const isClaimLost = (error: unknown): boolean => isFenceViolation(error, 'sync_jobs.created_count')

/** The SQL expression of the outbox body of a finished job; the arguments are SQL as well. */
export const eventBody = (error_class: string, completed_at: string): string =>
  `json_object('job_id', job_id, 'data_source_key', source, 'period', nullif(month, ''),
     'carried', json(carried), 'error_class', ${error_class}, 'attempts', attempts, 'completed_at', ${completed_at})`

/** The identifier of a job's event. Events of the same time are in its order, which says nothing of who asked for a job, or when. */
export const eventId = (kind: string): string => `${kind} || ':' || source || ':' || month || ':' || job_id`

/** The rejected files with the dates of those of them that are stored, by which windows hide them. */
const DATED = `(select json_group_array(json_patch(r.value, json_object('fecha', c.fecha, 'issued_at', c.issued_at)))
  from json_each(sync_jobs.rejected_files) r left join cfdi c on c.entity = sync_jobs.entity and c.uuid = r.value->>'uuid')`

/**
 * Finishes a job as succeeded, or as failed with an error class, inserts its outbox event, and notes whether its month is complete when
 * that changes. Does nothing when the claim is lost. The organizations that wait for a login get a job of their own. `until` is the instant
 * up to which it downloaded, in milliseconds; `isIncomplete` says that files could not be read.
 */
export const finishJobStatements = (
  ledger: D1Database,
  job: Job,
  error_class: string | null,
  now: number,
  { until = 0, isIncomplete = false } = {},
): D1PreparedStatement[] => [
  ...coverageStatements(ledger, job, { outcome: error_class !== null ? 'failed' : isIncomplete ? 'incomplete' : 'complete', until }),
  ledger
    .prepare(
      `insert into outbox (fact_id, kind, entity, organizations, body, created_at)
       select ${eventId('?6')}, ?6, entity, organizations, ${eventBody('?7', '?8')}, ?8
       from sync_jobs where ${CLAIM_HELD}
       on conflict do nothing`,
    )
    .bind(...keysOf(job), error_class === null ? 'sync.completed' : 'sync.failed', error_class, now),
  ledger
    .prepare(
      `update sync_jobs set status = ?6, error_class = ?7, finished_at = ?8, open = 0, lease_until = null,
         rejected_files = iif(rejected_files is null, null, ${DATED})
       where ${CLAIM_HELD}`,
    )
    .bind(...keysOf(job), error_class === null ? 'succeeded' : 'failed', error_class, now),
  ...(job.hasWaiting ? carryStatements(ledger, job, newId('job'), now) : []),
]

function coverageStatements(ledger: D1Database, job: Job, end: Pick<EndedDownload, 'outcome' | 'until'>): D1PreparedStatement[] {
  if (job.month === '') return []
  const before = JSON.parse(job.covered ?? '[]') as MonthCoverage
  const after = coverageAfter(before, job.month, { ...end, as_of: job.as_of })
  if (after === before) return []
  return [
    ledger
      .prepare(
        `insert into coverage (entity, source, months) select entity, source, json_object(month, json(?6)) from sync_jobs where ${CLAIM_HELD}
         on conflict do update set months = json_set(months, '$."' || ?3 || '"', json(?6))`,
      )
      .bind(...keysOf(job), JSON.stringify(after)),
  ]
}
const IS_WAITING = 'w.key not in (select value from json_each(sync_jobs.organizations))'

const CELL = `'$.' || ?2 || '."' || ?3 || '"'`

/**
 * Asks for the job again in the name of the organizations that wait for a login, when this claim has finished it. Documents of the job that
 * has ended are from before the new one.
 */
const carryStatements = (ledger: D1Database, job: Job, job_id: string, now: number): D1PreparedStatement[] => [
  ledger
    .prepare(
      `insert into sync_jobs (entity, source, month, job_id, run_id, organizations, carried, open, status, as_of, not_before, attempts,
         created_at, created_count, updated_count, cancelled_count, rejected_count)
       select entity, source, month, ?6, run_id, json_group_array(w.key), json_group_object(w.key, w.value), 1, 'queued', as_of, 0, 0,
         ?7, 0, 0, 0, 0
       from sync_jobs cross join json_each(carried) w
       where entity = ?1 and source = ?2 and month = ?3 and job_id = ?4 and token = ?5 and open = 0 and ${IS_WAITING}
       group by job_id`,
    )
    .bind(...keysOf(job), job_id, now + 1),
  ledger
    .prepare(
      `update extractions set jobs = json_set(jobs, ${CELL}, ?5)
       where entity = ?1 and json_extract(jobs, ${CELL}) = ?4 and organization_id in (
         select o.value from sync_jobs s cross join json_each(s.organizations) o
         where s.entity = ?1 and s.source = ?2 and s.month = ?3 and s.job_id = ?5)`,
    )
    .bind(...keysOf(job).slice(0, 4), job_id),
]

/** Lets organizations of a claimed job wait for a login, which are not told of its end, and takes others back that need not wait any more. */
export const separateStatement = (ledger: D1Database, job: Job, { absent, back }: { absent: readonly string[]; back: readonly string[] }) =>
  ledger
    .prepare(
      `update sync_jobs set
         carried = json_patch(carried, (
           select json_group_object(value, coalesce(carried->>value, job_id)) from json_each(?6))),
         organizations = (select json_group_array(value) from (
           select value from json_each(organizations) where value not in (select value from json_each(?6))
           union select value from json_each(?7)))
       where ${CLAIM_HELD}`,
    )
    .bind(...keysOf(job), JSON.stringify(absent), JSON.stringify(back))

/** Returns a job to the queue with the error class of its last attempt. It is not claimed before `notBefore`. */
export const requeueStatement = (ledger: D1Database, job: Job, error_class: string, notBefore: number) =>
  ledger
    .prepare(
      `update sync_jobs set status = 'queued', error_class = ?6, not_before = ?7, token = null, lease_until = null where ${CLAIM_HELD}`,
    )
    .bind(...keysOf(job), error_class, notBefore)

/** Returns a job to the queue, due now, as if it had not been attempted, because the login of one of its organizations was refused. */
export const retryStatement = (ledger: D1Database, job: Job) =>
  ledger
    .prepare(
      `update sync_jobs set status = 'queued', not_before = 0, started_at = iif(attempts = 1, null, started_at), attempts = attempts - 1,
         token = null, lease_until = null
       where ${CLAIM_HELD}`,
    )
    .bind(...keysOf(job))

/**
 * Returns a job to the queue, due now, because the budget of the invocation is used up. It is not another attempt when this one has ingested
 * something; one that has not counts, so that a job that makes no progress fails in the end.
 */
export const interruptStatement = (ledger: D1Database, job: Job) =>
  ledger
    .prepare(
      `update sync_jobs set status = 'queued', not_before = 0, token = null, lease_until = null, is_continued = 1,
         attempts = case when created_count + updated_count + cancelled_count > ?6 then attempts - 1 else attempts end
       where ${CLAIM_HELD}`,
    )
    .bind(...keysOf(job), job.ingested)

/**
 * Makes the open jobs that the same organizations asked for wait for an accepted CIEC, but no longer than until `notBefore`, as if they had
 * not been attempted.
 */
export const parkStatement = (ledger: D1Database, { entity, organizations }: Job, notBefore: number) =>
  ledger
    .prepare(
      `update sync_jobs set status = 'queued', error_class = 'invalid_credentials', not_before = ?2, attempts = 0, started_at = null,
         token = null, lease_until = null
       where entity = ?1 and open = 1 and organizations = ?3`,
    )
    .bind(entity, notBefore, organizations)

/** Makes the entities' jobs that wait for an accepted CIEC due now. Returns a row `{entity}` for each of them. */
export const resumeStatement = (ledger: D1Database, entities: readonly number[]) =>
  ledger
    .prepare(
      `update sync_jobs set not_before = 0, error_class = null
       where (entity, source, month, job_id) in (
         select s.entity, s.source, s.month, s.job_id
         from json_each(?1) e cross join sync_jobs s indexed by sync_jobs_open on s.entity = e.value and s.open = 1
         where status = 'queued' and error_class = 'invalid_credentials')
       returning entity`,
    )
    .bind(JSON.stringify(entities))

/** Entities with a job that should have been claimed by now: its message was lost, or its worker died. */
export const stuckStatement = (ledger: D1Database, now: number, since: number, limit: number) =>
  ledger
    .prepare(
      `select distinct entity from sync_jobs indexed by sync_jobs_open
       where open = 1 and ((status = 'queued' and not_before <= ?1 and created_at <= ?2) or lease_until < ?1) limit ?3`,
    )
    .bind(now, since, limit)
