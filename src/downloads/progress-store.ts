import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { authorityConversations } from '../authority/sat/conversation/tables.ts'
import { jsonChunks } from '../platform/db/commit.ts'
import { bare, readRows } from '../platform/db/statement.ts'
import { clock } from '../platform/time/clock.ts'
import type { CancellationBody } from './cancellation-events.ts'
import { askedJobs, extractionsOf } from './counts/counts-store.ts'
import { isJob } from './jobs/key.ts'
import { cancellations, extractions, type JobStatus, syncJobs, syncWork } from './jobs/tables.ts'
import { JOBS_OF_WORK } from './lease-store.ts'
import type { Job } from './store.ts'

const [s, w, e] = [alias(syncJobs, 's'), alias(syncWork, 'w'), alias(extractions, 'e')]

/** A cancellation as it was found; `body` is a CancellationBody as JSON. */
export interface FoundCancellation {
  found_at: number
  uuid: string
  body: string
}

/**
 * Makes the JSON object of the instants at which organizations first requested a job: `{organization_id: milliseconds}`. Their earlier runs
 * were served by earlier jobs of the source and month; this one is the first to show them documents that only the later runs reached.
 */
export const requestsOf = (job: Job): SQL => sql`(
  select json_group_object(organization_id, instant) from (
    select ${e.organization_id}, min(${e.instant}) as instant from ${extractionsOf(job)} group by ${e.organization_id}))`

/**
 * Reads since which run, in milliseconds, each organization has waited for downloads that end with this one: for the job itself, or if it did
 * not ask for that, for others that are open.
 */
export async function waitingSince(
  ledger: D1Database,
  { entity, source, month, job_id }: Pick<Job, 'entity' | 'source' | 'month' | 'job_id'>,
): Promise<Map<string, number>> {
  const isThis = sql`${s.source} = ${source} and ${s.month} = ${month} and ${s.job_id} = ${job_id}`
  const statement = sql`select ${e.organization_id}, coalesce(min(iif(${isThis}, ${e.instant}, null)), min(${e.instant})) as since
      from ${syncWork} cross join ${JOBS_OF_WORK} ${askedJobs} where ${syncWork.entity} = ${entity} and ${s.open} = 1 group by 1`
  const rows = await readRows<{ organization_id: string; since: number }>(ledger, statement)
  return new Map(rows.map(({ organization_id, since }) => [organization_id, since]))
}

/** Keeps cancellations, for the commit of the change. `found_at` in milliseconds; `body` makes the stored body of the one in `value`. */
export const insertCancellations = (
  entity: number,
  bodies: readonly Omit<CancellationBody, 'requested'>[],
  found_at: number,
  body: SQL,
): SQL[] =>
  jsonChunks(bodies).map(
    (json) =>
      sql`insert into ${cancellations} ${[cancellations.entity, cancellations.found_at, cancellations.uuid, cancellations.body].map(bare)}
          select ${entity}, ${found_at}, value->>'cfdi_uuid', ${body} from json_each(${json}) where true on conflict do nothing`,
  )

/** A page of an RFC's cancellations behind a position, oldest first. */
export const findCancellations = (
  entity: number,
  after: readonly [found_at: number, uuid: string],
  limit: number,
): SQL<FoundCancellation> => {
  const { found_at, uuid } = cancellations
  return sql<FoundCancellation>`select ${found_at}, ${uuid}, ${cancellations.body} from ${cancellations}
        where ${cancellations.entity} = ${entity} and ${[found_at, uuid]} > ${[...after]} order by ${found_at}, ${uuid} limit ${limit}`
}

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

/** The position of a job in the list: the organization's first run that covers it, its source and its month. */
export type JobPosition = readonly [first_run: string, source: string, month: string]

/** The conversation with the authority. */
export const conversation = alias(authorityConversations, 'c')

/** Attempts of a job of an extraction `e` that had ended before it, by the levels `x` and `m` of its jobs. */
export const ENDED_BEFORE = sql`coalesce(${e.attempts_before} ->> (x.key || ':' || m.value), 0)`

/** The row of a job `j`. */
export const isRowOf = (entity: number | SQL): SQL => isJob(s, entity, [sql`j.source`, sql`j.month`, sql`j.job_id`])

/**
 * Joins the lease on an RFC's jobs if somebody has it now, and the conversation with the authority, which continues earlier than the jobs
 * that wait for it.
 */
export const leaseAndConversation = (entity: number | SQL, now: number): SQL =>
  sql`left join ${syncWork} ${w} on ${w.entity} = ${entity} and ${w.lease_until} > ${now}
      left join ${authorityConversations} ${conversation} on ${conversation.entity} = ${entity}`

/** The lease is on the job when it was due as the lease began. */
const IS_LEASED = sql`${s.open} = 1 and coalesce(${s.not_before} <= ${w.leased_at}, 0)`

/** Attempts of the job, including the current one, and when the first of them began. */
export const ATTEMPTS = sql`${s.attempts} + (${s.status} = 'queued' and ${IS_LEASED})`
export const STARTED_AT = sql`coalesce(${s.started_at}, iif(${IS_LEASED}, ${w.leased_at}, null))`

/** Attempts of the job `s` since the organization asked for it. */
export const OWN_ATTEMPTS = sql`max(0, ${ATTEMPTS} - j.attempts_before)`

/** The error class of the last attempt that the organization may know of. */
export const OWN_ERROR = sql`iif(
  ${OWN_ATTEMPTS} > 0 or j.attempts_before = 0 or ${s.error_class} = 'invalid_credentials', ${s.error_class}, null)`

/** The job waits for the authority until later than now. */
export const isAsleep = (now: number): SQL =>
  sql`${s.error_class} is null and ${s.not_before} = ${s.wait_until} and ${s.wait_until} > ${now}`

/** When the authority is asked again about a job that waits for it. */
export const askedAgainAt = (now: number): SQL => sql`coalesce(min(${s.wait_until}, max(${conversation.due_at}, ${now})), ${s.wait_until})`

/**
 * The state of a job as the organization learns it. A job waits after a failed attempt, for the authority, and for an organization whose
 * connection is not active: it runs for others only.
 */
export const stateOf = (isActive: number | SQL, now: number): SQL =>
  sql`case when ${s.open} = 0 then ${s.status} when not ${isActive} then 'waiting' when ${IS_LEASED} then 'running'
     when ${OWN_ERROR} is not null or (${isAsleep(now)}) then 'waiting' else 'queued' end`

/** A page of the organization's jobs, those of its newest run first. */
export const jobsOfOrganization = (
  organization_id: string,
  entity: number,
  { after, status, isActive, limit }: { after: JobPosition | null; status: string | null; isActive: boolean; limit: number },
): SQL<JobRow> => {
  const now = clock.now()
  const [run, source, month] = after ?? [null, null, null]
  const state = stateOf(Number(isActive), now)
  return sql<JobRow>`with jobs as (
          select x.key as source, m.value as month, j.key as job_id, min(${e.run_id}) as first_run, max(${e.run_id}) as last_run,
            min(${e.requested_at}) as requested_at, min(${ENDED_BEFORE}) as attempts_before
          from ${extractions} ${e}, json_each(${e.jobs}) j, json_each(j.value) x, json_each(x.value) m
          where ${e.organization_id} = ${organization_id} and ${e.entity} = ${entity}
          group by x.key, m.value, j.key)
        select ${s.source}, ${s.month}, ${s.job_id}, coalesce(${s.deferred}->>${organization_id}, ${s.job_id}) as known_as, ${s.open},
          ${state} as status, ${ATTEMPTS} as attempts, ${s.rejected_count}, ${s.rejected_files}, ${s.error_class}, ${s.not_before},
          ${s.wait_until}, ${askedAgainAt(now)} as asked_again_at, ${STARTED_AT} as started_at, ${s.finished_at}, j.first_run, j.requested_at,
          j.attempts_before
        from jobs j cross join ${syncJobs} ${s} on ${isRowOf(entity)} ${leaseAndConversation(entity, now)}
        where (${run} is null or j.first_run < ${run} or (
            j.first_run = ${run} and (j.source > ${source} or (j.source = ${source} and j.month < ${month}))))
          and (${status} is null or ${state} = ${status})
        order by j.first_run desc, j.source, j.month desc limit ${limit}`
}
