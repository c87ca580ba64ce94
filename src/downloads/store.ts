import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { Rejection } from '../cfdi/package/rejections.ts'
import { cfdi } from '../cfdi/tables.ts'
import { commit, type Statement } from '../platform/db/commit.ts'
import { bare, readFirst } from '../platform/db/statement.ts'
import { coverageAfter, type EndedDownload, type MonthCoverage } from '../taxpayers/visibility/coverage.ts'
import { newJobId, requestersOf } from '../taxpayers/visibility/jobs.ts'
import type { SliceCounts } from '../taxpayers/visibility/slice-counts.ts'
import { isJob, LISTED, NEW_JOB } from './jobs/key.ts'
import { coverage, extractions, syncJobs, syncWork } from './jobs/tables.ts'
import { type JobKey, jobsLease } from './lease-store.ts'

export interface Job {
  entity: number
  source: string
  month: string
  job_id: string
  /** JSON, as in the table. */
  organizations: string
  deferred: string
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
  /** The coverage of the month, a MonthCoverage as JSON. Only the job's own end changes it. */
  covered: string | null
}

const [s, c] = [alias(syncJobs, 's'), alias(cfdi, 'c')]
const KEY = [syncJobs.entity, syncJobs.source, syncJobs.month, syncJobs.job_id]
const REQUESTERS = requestersOf(syncJobs)
const isThis = ({ entity, source, month, job_id }: Pick<Job, 'entity' | 'source' | 'month' | 'job_id'>): SQL =>
  isJob(syncJobs, entity, [source, month, job_id])

/** Selects a job as the holder of a lease runs it. */
const readJob = ({ entity, token, now }: { entity: number; token: string; now: number }, [source]: JobKey): SQL =>
  sql`select ${sql.join(KEY, sql`, `)}, ${REQUESTERS} as organizations, ${syncJobs.deferred}, ${syncJobs.as_of}, ${syncJobs.created_at},
    ${syncJobs.attempts} + (${syncJobs.status} = 'queued') as attempts, coalesce(${syncJobs.started_at}, ${now}) as started_at, ${token} as token,
    ${syncJobs.is_continued}, ${syncJobs.created_count} + ${syncJobs.updated_count} + ${syncJobs.cancelled_count} as ingested,
    ${syncJobs.rejected_count},
    (select ${coverage.months} -> ('$."' || ${syncJobs.month} || '"') from ${coverage}
      where ${coverage.entity} = ${entity} and ${coverage.source} = ${source}) as covered
  from ${syncJobs}`

/** Returns a job that is still open, as the holder of a lease would end it; null when it has ended. */
export const readOpenJob = (lease: { entity: number; token: string; now: number }, key: JobKey): SQL<Job> =>
  sql<Job>`${readJob(lease, key)} where ${isJob(syncJobs, lease.entity, key)} and ${syncJobs.open} = 1`

/**
 * Returns a job of a lease that is still open and due, as it is now; null when it is not, or the lease is lost. A careful worker claims the
 * job, which counts the attempt before it begins; otherwise the end of the attempt counts it. The attempt reads every file that was
 * rejected before again, so they are counted and listed again, which takes a claim as well.
 */
export async function claimJob(
  ledger: D1Database,
  { entity, token, now, claimPerJob }: { entity: number; token: string; now: number; claimPerJob: boolean },
  key: JobKey,
): Promise<Job | null> {
  const due = sql`where ${isJob(syncJobs, entity, key)} and ${syncJobs.open} = 1 and ${syncJobs.not_before} <= ${now} and ${jobsLease.holds({ entity, token })}`
  const read = sql<Job & { rejected_count: number }>`${readJob({ entity, token, now }, key)} ${due}`
  const found = claimPerJob ? null : await readFirst(ledger, read)
  if (!claimPerJob && !found?.rejected_count) return found
  const [, claimed] = await commit<Job>(ledger, [
    sql`update ${syncJobs} set ${bare(syncJobs.is_claimed)} = 1, ${bare(syncJobs.attempts)} = ${syncJobs.attempts} + 1,
            ${bare(syncJobs.started_at)} = coalesce(${syncJobs.started_at}, ${now}), ${bare(syncJobs.rejected_count)} = 0,
            ${bare(syncJobs.rejected_files)} = null
          ${due}`,
    read,
  ])
  return claimed!.results[0] ?? null
}

/** Commits statements about a job, unless its lease is lost (`jobsLease.isLost`). */
export const commitJob = (ledger: D1Database, job: Job, statements: readonly Statement[]) =>
  commit(ledger, [jobsLease.assertLeased(job), ...statements])

/** The changes of a slice. */
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

export const NO_PROGRESS: Progress = { created: 0, updated: 0, cancelled: 0, rejected: 0, counts: null, rejected_files: [] }

/**
 * Adds the changes of a slice to its job, with the guard that only the holder of the lease writes, so that each change is counted in the
 * job whose event reports it.
 */
export const progressStatements = (job: Job, { created, updated, cancelled, rejected, counts, rejected_files }: Progress): Statement[] => {
  const slice = counts === null ? null : JSON.stringify(counts)
  return [
    jobsLease.assertLeased(job),
    sql`update ${syncJobs} set ${bare(syncJobs.created_count)} = ${syncJobs.created_count} + ${created},
            ${bare(syncJobs.updated_count)} = ${syncJobs.updated_count} + ${updated},
            ${bare(syncJobs.cancelled_count)} = ${syncJobs.cancelled_count} + ${cancelled},
            ${bare(syncJobs.rejected_count)} = ${syncJobs.rejected_count} + ${rejected},
            ${bare(syncJobs.rejected_files)} = ${rejected_files.length === 0 ? null : JSON.stringify(rejected_files)},
            ${bare(syncJobs.brought)} = ${slice === null ? syncJobs.brought : sql`json_insert(${syncJobs.brought}, '$[#]', json(${slice}))`}
          where ${isThis(job)}`,
  ]
}

/** The rejected files, those of stored documents with their dates, by which windows hide them. */
const DATED = sql`(select json_group_array(json_patch(r.value, json_object('fecha', ${c.fecha}, 'issued_at', ${c.issued_at})))
  from json_each(${syncJobs.rejected_files}) r left join ${cfdi} ${c} on ${c.entity} = ${syncJobs.entity} and ${c.uuid} = r.value->>'uuid')`

/**
 * Finishes a job as succeeded, or as failed with an error class, and notes whether its month is complete when that changes. The finished row
 * is the outbox event of its end (ended-jobs.ts). The organizations that wait for a login get a job of their own. `until` is the instant up
 * to which it downloaded, in milliseconds; `isIncomplete` says that files could not be read.
 */
export const finishJobStatements = (
  job: Job,
  error_class: string | null,
  now: number,
  { until = 0, joined = 0, isIncomplete = false } = {},
): SQL[] => [
  ...coverageStatements(job, {
    outcome: error_class !== null ? 'failed' : isIncomplete ? 'incomplete' : 'complete',
    until,
    joined,
  }),
  sql`update ${syncJobs} set ${bare(syncJobs.error_class)} = ${error_class}, ${bare(syncJobs.finished_after)} = ${now} - ${syncJobs.created_at},
          ${bare(syncJobs.open)} = 0, ${bare(syncJobs.not_before)} = 0, ${bare(syncJobs.attempts)} = ${job.attempts},
          ${bare(syncJobs.started_at)} = ${job.started_at},
          ${bare(syncJobs.rejected_files)} = iif(${syncJobs.rejected_files} is null, null, ${DATED})
        where ${isThis(job)}`,
  ...(job.deferred === '{}' ? [] : carryStatements(job, now)),
]

function coverageStatements(job: Job, end: Omit<EndedDownload, 'as_of'>): SQL[] {
  if (job.month === '') return []
  const before = JSON.parse(job.covered ?? '[]') as MonthCoverage
  const after = coverageAfter(before, job.month, { ...end, as_of: job.as_of })
  if (after === before) return []
  const month = JSON.stringify(after)
  return [
    sql`insert into ${coverage} ${[coverage.entity, coverage.source, coverage.months].map(bare)}
          values (${job.entity}, ${job.source}, json_object(${job.month}, json(${month})))
          on conflict do update set ${bare(coverage.months)} = json_set(${coverage.months}, '$."' || ${job.month} || '"', json(${month}))`,
  ]
}

/**
 * Asks for a job that has finished again, in the name of the organizations that wait for a login, if there are any. Documents of the job that
 * has ended are from before the new one.
 */
function carryStatements(job: Job, now: number): SQL[] {
  const fresh = newJobId()
  const job_id = fresh > job.job_id ? fresh : `${job.job_id}0`
  return [
    sql`insert into ${syncJobs} ${[...NEW_JOB, bare(syncJobs.deferred)]}
          select ${syncJobs.entity}, ${syncJobs.source}, ${syncJobs.month}, ${job_id}, json_group_array(w.key), 1, ${syncJobs.as_of}, 0, 0,
            ${now + 1} - ${syncJobs.as_of}, 0, 0, 0, 0, json_group_object(w.key, w.value)
          from ${syncJobs} cross join json_each(${syncJobs.deferred}) w
          where ${isThis(job)} and w.key not in (select value from json_each(${REQUESTERS}))
          group by ${syncJobs.job_id}`,
    sql`update ${syncWork} set ${bare(syncWork.jobs)} = json_insert(${syncWork.jobs}, '$[#]', json_array(${job.source}, ${job.month}, ${job_id}))
          where ${syncWork.entity} = ${job.entity} and exists (select 1 from ${syncJobs} where ${isThis({ ...job, job_id })})`,
    sql`update ${extractions} set ${bare(extractions.jobs)} = (
            select jsonb_group_object(id, jsonb(sources)) from (
              select id, json_group_object(source, json(months)) as sources from (
                select iif(j.key = ${job.job_id} and x.key = ${job.source} and m.value = ${job.month}, ${job_id}, j.key) as id, x.key as source,
                  json_group_array(m.value) as months
                from json_each(${extractions.jobs}) j, json_each(j.value) x, json_each(x.value) m group by 1, 2)
              group by id))
          where ${extractions.entity} = ${job.entity}
            and exists (select 1 from json_each(${extractions.jobs} -> ${job.job_id} -> ${job.source}) where value = ${job.month})
            and ${extractions.organization_id} in (
              select o.value from ${syncJobs} ${s} cross join json_each(${requestersOf(s)}) o
              where ${isJob(s, job.entity, [job.source, job.month, job_id])})`,
  ]
}

/** Lets organizations of a job wait for a login without notice of its end, and takes back others that need not wait any more. */
export const continueWithoutStatement = (job: Job, { absent, back }: { absent: readonly string[]; back: readonly string[] }) => {
  const waiting = JSON.stringify(absent)
  return sql`update ${syncJobs} set
          ${bare(syncJobs.deferred)} = json_patch(${syncJobs.deferred}, (
            select json_group_object(value, coalesce(${syncJobs.deferred}->>value, ${syncJobs.job_id})) from json_each(${waiting}))),
          ${bare(syncJobs.organizations)} = (select json_group_array(value) from (
            select value from json_each(${REQUESTERS}) where value not in (select value from json_each(${waiting}))
            union select value from json_each(${JSON.stringify(back)})))
        where ${isThis(job)} returning ${syncJobs.deferred}`
}

/** Returns a job to the queue with the error class of its last attempt. It is not run before `notBefore`. */
export const requeueStatement = (job: Job, error_class: string, notBefore: number) =>
  sql`update ${syncJobs} set ${bare(syncJobs.is_claimed)} = 0, ${bare(syncJobs.attempts)} = ${job.attempts},
          ${bare(syncJobs.started_at)} = ${job.started_at}, ${bare(syncJobs.error_class)} = ${error_class},
          ${bare(syncJobs.not_before)} = ${notBefore}, ${bare(syncJobs.wait_until)} = ${notBefore}
        where ${isThis(job)}`

/** Makes a job unclaimed, as if its last attempt had not happened. */
const unattempted = ({ attempts }: Job): SQL => sql`${bare(syncJobs.is_claimed)} = 0, ${bare(syncJobs.attempts)} = ${attempts - 1},
  ${bare(syncJobs.started_at)} = ${attempts === 1 ? null : syncJobs.started_at}`

/** Returns a job to the queue, due now, as if it had not been attempted, because the login of one of its organizations was refused. */
export const retryStatement = (job: Job) =>
  sql`update ${syncJobs} set ${unattempted(job)}, ${bare(syncJobs.not_before)} = 0 where ${isThis(job)}`

/**
 * Returns a job to the queue until the authority is to be asked again, as if it had not been attempted. It is one row, because the
 * authority keeps many jobs waiting for days. `lists`: the lists of documents in the part of the month that was taken in.
 */
export const sleepStatement = (job: Job, until: number, lists?: number) =>
  sql`update ${syncJobs} set ${unattempted(job)}, ${bare(syncJobs.error_class)} = null, ${bare(syncJobs.not_before)} = ${until},
          ${bare(syncJobs.wait_until)} = ${until},
          ${bare(syncJobs.is_continued)} = max(${syncJobs.is_continued}, ${lists === undefined ? 0 : 1 + lists})
        where ${isThis(job)}`

/**
 * Returns a job to the queue, due now, because the budget of the invocation is used up. It is not another attempt when this one has ingested
 * something; one that has not counts, so that a job that makes no progress fails in the end.
 */
export const interruptStatement = (job: Job) =>
  sql`update ${syncJobs} set ${bare(syncJobs.is_claimed)} = 0, ${bare(syncJobs.started_at)} = ${job.started_at}, ${bare(syncJobs.not_before)} = 0,
          ${bare(syncJobs.is_continued)} = 1, ${bare(syncJobs.attempts)} = ${job.attempts}
            - (${syncJobs.created_count} + ${syncJobs.updated_count} + ${syncJobs.cancelled_count} > ${job.ingested})
        where ${isThis(job)}`

const w = alias(syncWork, 'w')

/** The condition that a job is among those that are left for these entities. */
const isLeft = (entities: readonly number[]): SQL => sql`${KEY} in (
  select ${w.entity}, ${sql.join([...LISTED], sql`, `)}
  from json_each(${JSON.stringify(entities)}) e cross join ${syncWork} ${w} on ${w.entity} = e.value cross join json_each(${w.jobs}) j)`

/**
 * Makes the open jobs that the same organizations asked for wait for an accepted CIEC, but no longer than until `notBefore`, as if they had
 * not been attempted.
 */
export const parkStatement = ({ entity, organizations }: Job, notBefore: number) =>
  sql`update ${syncJobs} set ${bare(syncJobs.is_claimed)} = 0, ${bare(syncJobs.error_class)} = 'invalid_credentials',
          ${bare(syncJobs.not_before)} = ${notBefore}, ${bare(syncJobs.attempts)} = 0, ${bare(syncJobs.started_at)} = null
        where ${isLeft([entity])} and ${syncJobs.open} = 1 and ${REQUESTERS} = ${organizations}`

/** Makes the entities' jobs that wait for an accepted CIEC due now. The first result has a row `{entity}` for each of them, the second one `{entity, runs}` for each RFC. */
export const resumeStatements = (entities: readonly number[]): SQL[] => [
  sql`update ${syncJobs} set ${bare(syncJobs.not_before)} = 0, ${bare(syncJobs.error_class)} = null
        where ${isLeft(entities)} and ${syncJobs.open} = 1 and ${syncJobs.status} = 'queued' and ${syncJobs.error_class} = 'invalid_credentials'
        returning ${syncJobs.entity}`,
  sql`update ${syncWork} set ${bare(syncWork.due_at)} = 0, ${bare(syncWork.is_interactive)} = 1
        where ${syncWork.entity} in (select value from json_each(${JSON.stringify(entities)})) and ${syncWork.due_at} > 0
        returning ${syncWork.entity}, ${syncWork.runs}`,
]
