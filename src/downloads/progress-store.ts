import type { JobStatus, syncJobs } from './tables.ts'

/** A job with the first run of the organization that covers it, and what its row says of the time before that. */
export type JobRow = Pick<
  typeof syncJobs.$inferSelect,
  | 'source'
  | 'month'
  | 'job_id'
  | 'open'
  | 'attempts'
  | 'rejected_count'
  | 'rejected_files'
  | 'error_class'
  | 'not_before'
  | 'wait_until'
  | 'started_at'
  | 'finished_at'
> & {
  status: JobStatus
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

/** Attempts of the job `s` since the organization asked for it, the one that goes on included. */
export const OWN_ATTEMPTS = `max(0, s.attempts + (s.status = 'queued' and ${IS_LEASED}) - j.attempts_before)`

/** The error class of the last attempt that the organization may know of. */
export const OWN_ERROR = `iif(${OWN_ATTEMPTS} > 0 or j.attempts_before = 0 or s.error_class = 'invalid_credentials', s.error_class, null)`

/** The job waits for the authority until later than ?3. */
export const IS_ASLEEP = 's.error_class is null and s.not_before = s.wait_until and s.wait_until > ?3'

/**
 * What the organization is told of the state of a job. A job waits after a failed attempt, for the authority, and for an organization whose
 * connection is not active: it runs for others only.
 */
export const stateOf = (isActive: string): string =>
  `case when s.open = 0 then s.status when not ${isActive} then 'waiting' when ${IS_LEASED} then 'running'
     when ${OWN_ERROR} is not null or (${IS_ASLEEP}) then 'waiting' else 'queued' end`

const STATUS = stateOf('?4')

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
