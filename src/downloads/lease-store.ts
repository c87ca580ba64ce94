import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { commit } from '../platform/db/commit.ts'
import { bare, changesOf, rendered } from '../platform/db/statement.ts'
import { INTO_OUTBOX } from '../platform/outbox/outbox.ts'
import { outbox } from '../platform/outbox/tables.ts'
import { RowLease } from '../platform/work/lease.ts'
import { isJob, LISTED } from './jobs/key.ts'
import { extractions, syncJobs, syncWork } from './jobs/tables.ts'

/** The kind of the outbox events that list jobs of an RFC which have ended. The relay makes an event of each (ended-jobs.ts). */
export const ENDED_JOBS = 'jobs'

/** The source of the entries in these lists that name an extraction in the place of a job. It sorts behind every source. */
export const RUN_ENTRY = '~run'

/** A job within its RFC. In a list of ended jobs also an extraction: RUN_ENTRY, its organization and its run. */
export type JobKey = readonly [source: string, month: string, job_id: string]

const [s, e] = [alias(syncJobs, 's'), alias(extractions, 'e')]

/** The jobs `s` of a row of `sync_work`. */
export const JOBS_OF_WORK = sql`json_each(${syncWork.jobs}) j cross join ${syncJobs} ${s} on ${isJob(s, syncWork.entity, LISTED)}`

/** Adds entries to a list that a column stores as JSON, each once. */
export const united = (table: SQLWrapper, list: SQLWrapper): SQL => sql`(
  select json_group_array(json(value)) from (select value from json_each(${table}.${list}) union select value from json_each(excluded.${list})))`

/** The extractions `r` of a row of `sync_work` that wait for none of its open jobs. */
const IS_ENDED = sql`not exists (
  select 1 from ${JOBS_OF_WORK} where ${s.open} = 1 and exists (
    select 1 from ${extractions} ${e} cross join json_each(${e.jobs} -> ${s.job_id} -> ${s.source}) m
    where ${e.organization_id} = r.value->>0 and ${e.entity} = ${syncWork.entity} and ${e.run_id} = r.value->>1 and m.value = ${s.month}))`
export const OPEN_RUNS = rendered(sql`select json_group_array(json(r.value)) from json_each(${syncWork.runs}) r where not (${IS_ENDED})`)
const RUN = sql`json_array(${RUN_ENTRY}, r.value->>0, r.value->>1)`
/** The same as entries of a list of ended jobs. */
export const ENDED_RUNS = rendered(sql`select json_group_array(json(${RUN})) from json_each(${syncWork.runs}) r where ${IS_ENDED}`)
const ENDED = rendered(sql`select json_group_array(json(entry)) from (
  select j.value as entry from ${JOBS_OF_WORK} where ${s.open} = 0
  union all select ${RUN} from json_each(${syncWork.runs}) r where ${IS_ENDED})`)

/** The organizations of the runs that wait for the jobs of an RFC, as a row of `sync_work` names them. */
export const organizationsIn = (runs: string): string[] => [
  ...new Set((JSON.parse(runs) as [organization_id: string, run_id: string][]).map(([organization_id]) => organization_id)),
]

const OPEN = rendered(sql`select json_group_array(json(j.value)) from ${JOBS_OF_WORK} where ${s.open} = 1`)

/** The lease of a worker on the jobs of an RFC. It is short, because the worker extends it. */
export const jobsLease = new RowLease<Pick<typeof syncWork.$inferSelect, 'entity'>>(syncWork, ['entity'], { milliseconds: 30_000 })
/** The jobs of an RFC that a worker holds. */
export interface LeasedJobs {
  entity: number
  token: string
}

/**
 * Takes the lease on an RFC's jobs when one is due and nobody has it, and returns the jobs that are due, newest months first. Null when there
 * is nothing to take. A lease that ran out makes its next holder careful.
 */
export async function takeLease(
  ledger: D1Database,
  held: LeasedJobs,
  now: number,
  limit: number,
): Promise<{ jobs: JobKey[]; claimPerJob: boolean; isInteractive: boolean; organizations: string[] } | null> {
  const [taken, due] = await commit<{
    claim_per_job?: number
    is_interactive?: number
    runs?: string
    source?: string
    month?: string
    job_id?: string
  }>(ledger, [
    jobsLease.claimStatement(held.token, sql`${syncWork.entity} = ${held.entity} and ${syncWork.due_at} <= ${now}`, {
      set: sql`${bare(syncWork.claim_per_job)} = max(${syncWork.claim_per_job}, ${syncWork.token} is not null), ${bare(syncWork.leased_at)} = ${now}`,
      returning: sql`${syncWork.claim_per_job}, ${syncWork.is_interactive}, ${syncWork.runs}`,
    }),
    sql`select ${s.source}, ${s.month}, ${s.job_id} from ${syncWork} cross join ${JOBS_OF_WORK}
          where ${jobsLease.isLeased(held)} and ${s.open} = 1 and ${s.not_before} <= ${now} order by ${s.source} desc, ${s.month} desc limit ${limit}`,
  ])
  const [lease] = taken!.results
  if (!lease) return null
  const [claimPerJob, isInteractive] = [lease.claim_per_job === 1, lease.is_interactive === 1]
  const organizations = organizationsIn(lease.runs ?? '[]')
  return { claimPerJob, isInteractive, organizations, jobs: due!.results.map(({ source, month, job_id }) => [source!, month!, job_id!]) }
}

/** Takes the lease when nobody has it, whether a job is due or not. Returns whether there are jobs and it was taken. */
export const takeOver = async (ledger: D1Database, { entity, token }: LeasedJobs, now: number): Promise<boolean> => {
  const set = sql`${bare(syncWork.leased_at)} = ${now}`
  return (await changesOf(ledger, jobsLease.claimStatement(token, sql`${syncWork.entity} = ${entity}`, { set }))) > 0
}

/** Hands the jobs and extractions of a lease that have ended to the relay. Returns a row when there are any. */
const handOver = (held: LeasedJobs, now: number): SQL =>
  sql`${INTO_OUTBOX}
        with held as materialized (select ${syncWork.entity}, (${ENDED}) as ended from ${syncWork} where ${jobsLease.isLeased(held)})
        select entity, ${ENDED_JOBS}, ${ENDED_JOBS}, null, ended, ${now} from held where ended <> '[]'
        on conflict do update set ${bare(outbox.body)} = ${united(outbox, bare(outbox.body))} returning ${outbox.entity}`

/** Hands the jobs that have ended to the relay, in the commit of the end of one of them. */
export const handOverStatements = (held: LeasedJobs, now: number): SQL[] => [
  handOver(held, now),
  sql`update ${syncWork} set ${bare(syncWork.jobs)} = (${OPEN}), ${bare(syncWork.runs)} = (${OPEN_RUNS}) where ${jobsLease.isLeased(held)}`,
]

/** Ends a lease, and hands the jobs that have ended to the relay. `isMore`: another job is due already. */
export async function releaseLease(ledger: D1Database, held: LeasedJobs, now: number): Promise<{ isNotified: boolean; isMore: boolean }> {
  const [notified, , left] = await commit<{ due_at?: number }>(ledger, [
    handOver(held, now),
    sql`delete from ${syncWork} where ${jobsLease.isLeased(held)} and not exists (select 1 from ${JOBS_OF_WORK} where ${s.open} = 1)`,
    sql`update ${syncWork} set ${bare(syncWork.token)} = null, ${bare(syncWork.leased_at)} = null, ${bare(syncWork.lease_until)} = null,
            ${bare(syncWork.claim_per_job)} = 0, ${bare(syncWork.jobs)} = (${OPEN}), ${bare(syncWork.runs)} = (${OPEN_RUNS}),
            ${bare(syncWork.due_at)} = (select min(${s.not_before}) from ${JOBS_OF_WORK} where ${s.open} = 1)
          where ${jobsLease.isLeased(held)} returning ${syncWork.due_at}`,
  ])
  const [row] = left!.results
  return { isNotified: notified!.results.length > 0, isMore: row !== undefined && row.due_at! <= now }
}

/**
 * RFCs with a job that should have been taken by now, because its message was lost, or whose lease ran out, because its worker died.
 */
export const stuckJobs = (now: number, since: number, limit: number) =>
  sql<{
    entity: number
    is_interactive: number
    runs: string
  }>`select ${syncWork.entity}, ${syncWork.is_interactive}, ${syncWork.runs} from ${syncWork}
        where (${syncWork.token} is null and ${syncWork.due_at} <= ${since}) or ${syncWork.lease_until} < ${now} limit ${limit}`

/** Makes the jobs of an RFC that are left due now. */
export const hastenWork = (entity: number): SQL =>
  sql`update ${syncWork} set ${bare(syncWork.due_at)} = 0 where ${syncWork.entity} = ${entity} and ${syncWork.due_at} > 0`
