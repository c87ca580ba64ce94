import type { Rejection } from '../cfdi/package/rejections.ts'
import { askersOf } from '../visibility/askers.ts'
import { coverageAfter, type EndedDownload, type MonthCoverage } from '../visibility/coverage.ts'
import { newJobId } from '../visibility/job-id.ts'
import type { SliceCounts } from '../visibility/slice-counts.ts'
import { assertLease, type JobKey } from './lease-store.ts'

export interface Job {
  entity: number
  source: string
  month: string
  job_id: string
  /** JSON, as in the table. */
  organizations: string
  carried: string
  as_of: number
  /** When it was created. */
  created_at: number
  /** The number of this attempt, and when it began. */
  attempts: number
  started_at: number
  /** The lease under which it is run. */
  token: string
  /** 1 when an earlier invocation has ingested a part. */
  is_continued: number
  /** Number of changes that earlier attempts have made. */
  ingested: number
  /** What is known of the month, a MonthCoverage as JSON. Only the job's own end changes it. */
  covered: string | null
}

const ASKERS = askersOf('sync_jobs')
const KEY = 'entity = ?1 and source = ?2 and month = ?3 and job_id = ?4'
const keysOf = ({ entity, source, month, job_id }: Job) => [entity, source, month, job_id] as const

const READ_JOB = `select entity, source, month, job_id, ${ASKERS} as organizations, carried, as_of, created_at,
    attempts + (status = 'queued') as attempts, coalesce(started_at, ?6) as started_at, ?5 as token, is_continued,
    created_count + updated_count + cancelled_count as ingested, rejected_count,
    (select c.months -> ('$."' || month || '"') from coverage c where c.entity = ?1 and c.source = ?2) as covered
  from sync_jobs`

/** Returns a job that is still open, as the holder of a lease would end it; null when it has ended. */
export const readOpenJob = (
  ledger: D1Database,
  { entity, token, now }: { entity: number; token: string; now: number },
  [source, month, job_id]: JobKey,
): Promise<Job | null> =>
  ledger.prepare(`${READ_JOB} where ${KEY} and open = 1`).bind(entity, source, month, job_id, token, now).first<Job>()

/**
 * Returns a job of a lease that is still open and due, as it is now; null when it is not, or the lease is lost. A careful worker claims the
 * job, which counts the attempt before it begins; otherwise the end of the attempt counts it. The attempt reads every file that was rejected
 * before again, so they are counted and listed anew, which takes a claim as well.
 */
export async function claimJob(
  ledger: D1Database,
  { entity, token, now, isCareful }: { entity: number; token: string; now: number; isCareful: boolean },
  [source, month, job_id]: JobKey,
): Promise<Job | null> {
  const due = `${KEY} and open = 1 and not_before <= ?6 and exists (select 1 from sync_work where entity = ?1 and token = ?5)`
  const prepare = (sql: string) => ledger.prepare(`${sql} where ${due}`).bind(entity, source, month, job_id, token, now)
  const read = () => prepare(READ_JOB)
  const found = isCareful ? null : await read().first<Job & { rejected_count: number }>()
  if (!isCareful && !found?.rejected_count) return found
  const [, claimed] = await ledger.batch<Job>([
    prepare(
      `update sync_jobs set is_claimed = 1, attempts = attempts + 1, started_at = coalesce(started_at, ?6), rejected_count = 0,
         rejected_files = null`,
    ),
    read(),
  ])
  return claimed!.results[0] ?? null
}

/** Commits statements about a job, unless its lease is lost (`isLeaseLost`). */
export const commitJob = (ledger: D1Database, { entity, token }: Job, statements: readonly D1PreparedStatement[]) =>
  ledger.batch([assertLease(ledger, entity, token), ...statements])

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
 * Adds what a slice changed to its job. With it goes the guard that only the holder of the lease writes, so that each change is counted in
 * the job whose event reports it.
 */
export const progressStatements = (
  ledger: D1Database,
  job: Job,
  { created, updated, cancelled, rejected, counts, rejected_files }: Progress,
): D1PreparedStatement[] => [
  assertLease(ledger, job.entity, job.token),
  ledger
    .prepare(
      `update sync_jobs set created_count = created_count + ?5, updated_count = updated_count + ?6, cancelled_count = cancelled_count + ?7,
         rejected_count = rejected_count + ?8, rejected_files = ?10,
         brought = case when ?9 is null then brought else json_insert(brought, '$[#]', json(?9)) end
       where ${KEY}`,
    )
    .bind(
      ...keysOf(job),
      ...[created, updated, cancelled, rejected, counts === null ? null : JSON.stringify(counts)],
      rejected_files.length === 0 ? null : JSON.stringify(rejected_files),
    ),
]

/** The rejected files with the dates of those of them that are stored, by which windows hide them. */
const DATED = `(select json_group_array(json_patch(r.value, json_object('fecha', c.fecha, 'issued_at', c.issued_at)))
  from json_each(sync_jobs.rejected_files) r left join cfdi c on c.entity = sync_jobs.entity and c.uuid = r.value->>'uuid')`

/**
 * Finishes a job as succeeded, or as failed with an error class, and notes whether its month is complete when that changes. The finished row
 * is the outbox event of its end (ended-jobs.ts). The organizations that wait for a login get a job of their own. `until` is the instant up
 * to which it downloaded, in milliseconds; `isIncomplete` says that files could not be read.
 */
export const finishJobStatements = (
  ledger: D1Database,
  job: Job,
  error_class: string | null,
  now: number,
  { until = 0, joined = 0, isIncomplete = false } = {},
): D1PreparedStatement[] => [
  ...coverageStatements(ledger, job, {
    outcome: error_class !== null ? 'failed' : isIncomplete ? 'incomplete' : 'complete',
    until,
    joined,
  }),
  ledger
    .prepare(
      `update sync_jobs set error_class = ?5, finished_after = ?6 - created_at, open = 0, not_before = 0, attempts = ?7, started_at = ?8,
         rejected_files = iif(rejected_files is null, null, ${DATED})
       where ${KEY}`,
    )
    .bind(...keysOf(job), error_class, now, job.attempts, job.started_at),
  ...(job.carried === '{}' ? [] : carryStatements(ledger, job, now)),
]

function coverageStatements(ledger: D1Database, job: Job, end: Omit<EndedDownload, 'as_of'>): D1PreparedStatement[] {
  if (job.month === '') return []
  const before = JSON.parse(job.covered ?? '[]') as MonthCoverage
  const after = coverageAfter(before, job.month, { ...end, as_of: job.as_of })
  if (after === before) return []
  return [
    ledger
      .prepare(
        `insert into coverage (entity, source, months) values (?1, ?2, json_object(?3, json(?4)))
         on conflict do update set months = json_set(months, '$."' || ?3 || '"', json(?4))`,
      )
      .bind(job.entity, job.source, job.month, JSON.stringify(after)),
  ]
}

/**
 * Asks for a job that has finished again, in the name of the organizations that wait for a login, if there are any. Documents of the job that
 * has ended are from before the new one.
 */
function carryStatements(ledger: D1Database, job: Job, now: number): D1PreparedStatement[] {
  const fresh = newJobId()
  const job_id = fresh > job.job_id ? fresh : `${job.job_id}0`
  return [
    ledger
      .prepare(
        `insert into sync_jobs (entity, source, month, job_id, organizations, carried, open, as_of, not_before, attempts, created_after,
           created_count, updated_count, cancelled_count, rejected_count)
         select entity, source, month, ?5, json_group_array(w.key), json_group_object(w.key, w.value), 1, as_of, 0, 0, ?6 - as_of, 0, 0, 0, 0
         from sync_jobs cross join json_each(carried) w
         where ${KEY} and w.key not in (select value from json_each(${ASKERS}))
         group by job_id`,
      )
      .bind(...keysOf(job), job_id, now + 1),
    ledger
      .prepare(
        `update sync_work set jobs = json_insert(jobs, '$[#]', json_array(?2, ?3, ?4))
         where entity = ?1 and exists (select 1 from sync_jobs where ${KEY})`,
      )
      .bind(...keysOf({ ...job, job_id })),
    ledger
      .prepare(
        `update extractions set jobs = (
           select jsonb_group_object(id, jsonb(sources)) from (
             select id, json_group_object(source, json(months)) as sources from (
               select iif(j.key = ?4 and x.key = ?2 and m.value = ?3, ?5, j.key) as id, x.key as source, json_group_array(m.value) as months
               from json_each(extractions.jobs) j, json_each(j.value) x, json_each(x.value) m group by 1, 2)
             group by id))
         where entity = ?1 and exists (select 1 from json_each(jobs -> ?4 -> ?2) where value = ?3) and organization_id in (
           select o.value from sync_jobs s cross join json_each(${askersOf('s')}) o
           where s.entity = ?1 and s.source = ?2 and s.month = ?3 and s.job_id = ?5)`,
      )
      .bind(...keysOf(job), job_id),
  ]
}

/** Lets organizations of a job wait for a login, which are not told of its end, and takes others back that need not wait any more. */
export const separateStatement = (ledger: D1Database, job: Job, { absent, back }: { absent: readonly string[]; back: readonly string[] }) =>
  ledger
    .prepare(
      `update sync_jobs set
         carried = json_patch(carried, (
           select json_group_object(value, coalesce(carried->>value, job_id)) from json_each(?5))),
         organizations = (select json_group_array(value) from (
           select value from json_each(${ASKERS}) where value not in (select value from json_each(?5))
           union select value from json_each(?6)))
       where ${KEY} returning carried`,
    )
    .bind(...keysOf(job), JSON.stringify(absent), JSON.stringify(back))

/** Returns a job to the queue with the error class of its last attempt. It is not run before `notBefore`. */
export const requeueStatement = (ledger: D1Database, job: Job, error_class: string, notBefore: number) =>
  ledger
    .prepare(
      `update sync_jobs set is_claimed = 0, attempts = ?5, started_at = ?6, error_class = ?7, not_before = ?8, wait_until = ?8 where ${KEY}`,
    )
    .bind(...keysOf(job), job.attempts, job.started_at, error_class, notBefore)

/** Returns a job to the queue, due now, as if it had not been attempted, because the login of one of its organizations was refused. */
export const retryStatement = (ledger: D1Database, job: Job) =>
  ledger
    .prepare(`update sync_jobs set is_claimed = 0, attempts = ?5, started_at = iif(?5 = 0, null, started_at), not_before = 0 where ${KEY}`)
    .bind(...keysOf(job), job.attempts - 1)

/**
 * Returns a job to the queue until the authority is to be asked again, as if it had not been attempted. It is one row, because the authority
 * keeps many jobs waiting for days. `isPart`: what there is meanwhile has been taken in.
 */
export const sleepStatement = (ledger: D1Database, job: Job, until: number, lists?: number) =>
  ledger
    .prepare(
      `update sync_jobs set is_claimed = 0, attempts = ?5, started_at = iif(?5 = 0, null, started_at), error_class = null, not_before = ?6,
         wait_until = ?6, is_continued = max(is_continued, ?7)
       where ${KEY}`,
    )
    .bind(...keysOf(job), job.attempts - 1, until, lists === undefined ? 0 : 1 + lists)

/**
 * Returns a job to the queue, due now, because the budget of the invocation is used up. It is not another attempt when this one has ingested
 * something; one that has not counts, so that a job that makes no progress fails in the end.
 */
export const interruptStatement = (ledger: D1Database, job: Job) =>
  ledger
    .prepare(
      `update sync_jobs set is_claimed = 0, started_at = ?6, not_before = 0, is_continued = 1,
         attempts = ?5 - (created_count + updated_count + cancelled_count > ?7)
       where ${KEY}`,
    )
    .bind(...keysOf(job), job.attempts, job.started_at, job.ingested)

/** Selects the keys of the jobs that are left for the entities of the JSON list ?1. */
const LEFT = `select w.entity, j.value->>0, j.value->>1, j.value->>2
  from json_each(?1) e cross join sync_work w on w.entity = e.value cross join json_each(w.jobs) j`

/**
 * Makes the open jobs that the same organizations asked for wait for an accepted CIEC, but no longer than until `notBefore`, as if they had
 * not been attempted.
 */
export const parkStatement = (ledger: D1Database, { entity, organizations }: Job, notBefore: number) =>
  ledger
    .prepare(
      `update sync_jobs set is_claimed = 0, error_class = 'invalid_credentials', not_before = ?2, attempts = 0, started_at = null
       where (entity, source, month, job_id) in (${LEFT}) and open = 1 and ${ASKERS} = ?3`,
    )
    .bind(JSON.stringify([entity]), notBefore, organizations)

/** Makes the entities' jobs that wait for an accepted CIEC due now. The first result has a row `{entity}` for each of them. */
export const resumeStatements = (ledger: D1Database, entities: readonly number[]): D1PreparedStatement[] => {
  const json = JSON.stringify(entities)
  return [
    ledger
      .prepare(
        `update sync_jobs set not_before = 0, error_class = null
         where (entity, source, month, job_id) in (${LEFT}) and open = 1 and status = 'queued' and error_class = 'invalid_credentials'
         returning entity`,
      )
      .bind(json),
    ledger
      .prepare('update sync_work set due_at = 0, is_awaited = 1 where entity in (select value from json_each(?1)) and due_at > 0')
      .bind(json),
  ]
}
