import type { syncJobs } from './tables.ts'

/** A job with the first run of the organization that covers it, and what its row says of the time before that. */
export type JobRow = Pick<
  typeof syncJobs.$inferSelect,
  | 'source'
  | 'month'
  | 'job_id'
  | 'open'
  | 'status'
  | 'attempts'
  | 'rejected_count'
  | 'rejected_files'
  | 'error_class'
  | 'not_before'
  | 'wait_until'
  | 'started_at'
  | 'finished_at'
> & {
  /** The job under whose identifier the organization knows it. */
  known_as: string
  first_run: string
  /** When that run requested the job, in milliseconds. */
  requested_at: number
  /** Attempts that had ended before. */
  attempts_before: number
  /** When the authority is asked again about a job that waits for it. */
  asked_again_at: number | null
}

/** The place of a job in the list: the organization's first run that covers it, its source and its month. */
export type JobPlace = readonly [first_run: string, source: string, month: string]

/** The jobs of the organization's extractions of an entity. */
const JOBS = `with jobs as (
  select x.key as source, m.value as month, j.key as job_id, min(e.run_id) as first_run, max(e.run_id) as last_run,
    min(e.requested_at) as requested_at, min(coalesce(e.attempts_before ->> (x.key || ':' || m.value), 0)) as attempts_before
  from extractions e, json_each(e.jobs) j, json_each(j.value) x, json_each(x.value) m
  where e.organization_id = ?1 and e.entity = ?2
  group by x.key, m.value, j.key)`

/** The row of a job, and the lease on the RFC's jobs if somebody has it now, ?3. */
const ITS_ROW = `sync_jobs s on s.entity = ?2 and s.source = j.source and s.month = j.month and s.job_id = j.job_id
  left join sync_work w on w.entity = ?2 and w.lease_until > ?3`

/** The conversation with the authority goes on earlier than the jobs that wait for it. */
const CONVERSATION = 'left join authority_conversations c on c.entity = ?2'

/** The lease is on the job when it was due as the lease began. */
export const IS_LEASED = 's.open = 1 and coalesce(s.not_before <= w.leased_at, 0)'

/** A job that runs for others only waits for an organization whose connection is not active, ?4. */
const STATUS = `iif(s.open = 1, iif(?4 and ${IS_LEASED}, 'running', 'queued'), s.status)`

/** Counts the latest job of each source and month by status. `last` is the latest end that the organization may know, in milliseconds. */
export const jobCounts = async (ledger: D1Database, organization_id: string, entity: number, isActive: boolean) =>
  (
    await ledger
      .prepare(
        `${JOBS} select ${STATUS} as status, count(*) as n, max(max(s.finished_at, j.requested_at)) as last
         from (select source, month, job_id, requested_at, max(last_run) from jobs group by source, month) j
         cross join ${ITS_ROW}
         group by 1`,
      )
      .bind(organization_id, entity, Date.now(), Number(isActive))
      .all<{ status: string; n: number; last: number | null }>()
  ).results

/** A page of the organization's jobs, those of its newest run first. */
export const jobsOfOrganization = async (
  ledger: D1Database,
  organization_id: string,
  entity: number,
  { after, status, isActive, limit }: { after: JobPlace | null; status: string | null; isActive: boolean; limit: number },
) =>
  (
    await ledger
      .prepare(
        `${JOBS} select s.source, s.month, s.job_id, coalesce(s.carried->>?1, s.job_id) as known_as, s.open, ${STATUS} as status,
           s.attempts + (s.status = 'queued' and ${IS_LEASED}) as attempts, s.rejected_count, s.rejected_files, s.error_class, s.not_before,
           s.wait_until, coalesce(min(s.wait_until, max(c.due_at, ?3)), s.wait_until) as asked_again_at,
           coalesce(s.started_at, iif(${IS_LEASED}, w.leased_at, null)) as started_at, s.finished_at, j.first_run, j.requested_at,
           j.attempts_before
         from jobs j cross join ${ITS_ROW} ${CONVERSATION}
         where (?5 is null or j.first_run < ?5 or (j.first_run = ?5 and (j.source > ?6 or (j.source = ?6 and j.month < ?7))))
           and (?8 is null or ${STATUS} = ?8)
         order by j.first_run desc, j.source, j.month desc limit ?9`,
      )
      .bind(organization_id, entity, Date.now(), Number(isActive), ...(after ?? [null, null, null]), status, limit)
      .all<JobRow>()
  ).results
