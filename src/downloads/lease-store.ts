import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { assertThat, isGuardViolation } from '../platform/db/guard.ts'
import { bare, prepared, rendered } from '../platform/db/statement.ts'
import { INTO_OUTBOX } from '../platform/outbox/outbox.ts'
import { outbox } from '../platform/outbox/tables.ts'
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

const OPEN = rendered(sql`select json_group_array(json(j.value)) from ${JOBS_OF_WORK} where ${s.open} = 1`)
const isHeld = (entity: number, token: string): SQL => sql`${syncWork.entity} = ${entity} and ${syncWork.token} = ${token}`

/**
 * Takes the lease on an RFC's jobs when one is due and nobody has it, and returns the jobs that are due, newest months first. Null when there
 * is nothing to take. A lease that ran out makes its next holder careful.
 */
export async function takeLease(
  ledger: D1Database,
  { entity, token, now, until, limit }: { entity: number; token: string; now: number; until: number; limit: number },
): Promise<{ jobs: JobKey[]; isCareful: boolean; isAwaited: boolean } | null> {
  const [taken, due] = await ledger.batch<{ is_careful?: number; is_awaited?: number; source?: string; month?: string; job_id?: string }>([
    prepared(
      ledger,
      sql`update ${syncWork} set ${bare(syncWork.is_careful)} = max(${syncWork.is_careful}, ${syncWork.token} is not null),
            ${bare(syncWork.token)} = ${token}, ${bare(syncWork.leased_at)} = ${now}, ${bare(syncWork.lease_until)} = ${until}
          where ${syncWork.entity} = ${entity} and ${syncWork.due_at} <= ${now} and (${syncWork.token} is null or ${syncWork.lease_until} < ${now})
          returning ${syncWork.is_careful}, ${syncWork.is_awaited}`,
    ),
    prepared(
      ledger,
      sql`select ${s.source}, ${s.month}, ${s.job_id} from ${syncWork} cross join ${JOBS_OF_WORK}
          where ${isHeld(entity, token)} and ${s.open} = 1 and ${s.not_before} <= ${now} order by ${s.source} desc, ${s.month} desc limit ${limit}`,
    ),
  ])
  const [lease] = taken!.results
  if (!lease) return null
  const [isCareful, isAwaited] = [lease.is_careful === 1, lease.is_awaited === 1]
  return { isCareful, isAwaited, jobs: due!.results.map(({ source, month, job_id }) => [source!, month!, job_id!]) }
}

/** Takes the lease when nobody has it, whether a job is due or not. Returns whether there are jobs and it was taken. */
export const takeOver = async (
  ledger: D1Database,
  { entity, token, now, until }: { entity: number; token: string; now: number; until: number },
): Promise<boolean> =>
  (await prepared(
    ledger,
    sql`update ${syncWork} set ${bare(syncWork.token)} = ${token}, ${bare(syncWork.leased_at)} = ${now}, ${bare(syncWork.lease_until)} = ${until}
        where ${syncWork.entity} = ${entity} and (${syncWork.token} is null or ${syncWork.lease_until} < ${now}) returning ${syncWork.entity}`,
  ).first()) !== null

export const extendLease = (ledger: D1Database, entity: number, token: string, until: number): D1PreparedStatement =>
  prepared(ledger, sql`update ${syncWork} set ${bare(syncWork.lease_until)} = ${until} where ${isHeld(entity, token)}`)

/** The condition that a worker has the lease. */
export const holdsLease = (entity: number, token: string): SQL => sql`exists (select 1 from ${syncWork} where ${isHeld(entity, token)})`

/** Refuses its batch unless the worker still has the lease. */
export const assertLease = (ledger: D1Database, entity: number, token: string): D1PreparedStatement =>
  assertThat(ledger, holdsLease(entity, token), 'sync_work.leased')

/** Whether a batch was refused because the lease is lost. */
export const isLeaseLost = (error: unknown): boolean => isGuardViolation(error, 'sync_work.leased')

/** Hands the jobs and extractions of a lease that have ended to the relay. Returns a row when there are any. */
const handOver = (ledger: D1Database, entity: number, token: string, now: number): D1PreparedStatement =>
  prepared(
    ledger,
    sql`${INTO_OUTBOX}
        select entity, ${ENDED_JOBS}, ${ENDED_JOBS}, null, ended, ${now}
        from (select ${syncWork.entity}, (${ENDED}) as ended from ${syncWork} where ${isHeld(entity, token)}) where ended <> '[]'
        on conflict do update set ${bare(outbox.body)} = ${united(outbox, bare(outbox.body))} returning ${outbox.entity}`,
  )

/** Hands the jobs that have ended to the relay, in the commit of the end of one of them. */
export const handOverStatements = (ledger: D1Database, entity: number, token: string, now: number): D1PreparedStatement[] => [
  handOver(ledger, entity, token, now),
  prepared(
    ledger,
    sql`update ${syncWork} set ${bare(syncWork.jobs)} = (${OPEN}), ${bare(syncWork.runs)} = (${OPEN_RUNS}) where ${isHeld(entity, token)}`,
  ),
]

/** Ends a lease, and hands the jobs that have ended to the relay. `isMore`: another job is due already. */
export async function releaseLease(
  ledger: D1Database,
  entity: number,
  token: string,
  now: number,
): Promise<{ isTold: boolean; isMore: boolean }> {
  const [told, , left] = await ledger.batch<{ due_at?: number }>([
    handOver(ledger, entity, token, now),
    prepared(
      ledger,
      sql`delete from ${syncWork} where ${isHeld(entity, token)} and not exists (select 1 from ${JOBS_OF_WORK} where ${s.open} = 1)`,
    ),
    prepared(
      ledger,
      sql`update ${syncWork} set ${bare(syncWork.token)} = null, ${bare(syncWork.leased_at)} = null, ${bare(syncWork.lease_until)} = null,
            ${bare(syncWork.is_careful)} = 0, ${bare(syncWork.jobs)} = (${OPEN}), ${bare(syncWork.runs)} = (${OPEN_RUNS}),
            ${bare(syncWork.due_at)} = (select min(${s.not_before}) from ${JOBS_OF_WORK} where ${s.open} = 1)
          where ${isHeld(entity, token)} returning ${syncWork.due_at}`,
    ),
  ])
  const [row] = left!.results
  return { isTold: told!.results.length > 0, isMore: row !== undefined && row.due_at! <= now }
}

/**
 * RFCs with a job that should have been taken by now, because its message was lost, or whose lease ran out, because its worker died.
 */
export const stuckStatement = (ledger: D1Database, now: number, since: number, limit: number) =>
  prepared(
    ledger,
    sql`select ${syncWork.entity}, ${syncWork.is_awaited} from ${syncWork}
        where (${syncWork.token} is null and ${syncWork.due_at} <= ${since}) or ${syncWork.lease_until} < ${now} limit ${limit}`,
  )

/** Makes the jobs of an RFC that are left due now. */
export const hastenWork = (ledger: D1Database, entity: number): D1PreparedStatement =>
  prepared(ledger, sql`update ${syncWork} set ${bare(syncWork.due_at)} = 0 where ${syncWork.entity} = ${entity} and ${syncWork.due_at} > 0`)
