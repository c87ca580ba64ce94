import { sql } from 'drizzle-orm'
import { assertThat, isGuardViolation } from '../platform/db/guard.ts'

/** The kind of the outbox events that list jobs of an RFC which have ended. The relay makes an event of each (ended-jobs.ts). */
export const ENDED_JOBS = 'jobs'

/** The source of the entries in these lists that name an extraction in the place of a job. It sorts behind every source. */
export const RUN_ENTRY = '~run'

/** A job within its RFC. In a list of ended jobs also an extraction: RUN_ENTRY, its organization and its run. */
export type JobKey = readonly [source: string, month: string, job_id: string]

/** The jobs `s` of a row of `sync_work`. */
export const JOBS_OF_WORK = `json_each(sync_work.jobs) j
  cross join sync_jobs s on s.entity = sync_work.entity and s.source = j.value->>0 and s.month = j.value->>1 and s.job_id = j.value->>2`

/** Adds entries to a list that is stored as JSON, each once. */
export const united = (list: string): string => `(
  select json_group_array(json(value)) from (select value from json_each(${list}) union select value from json_each(excluded.${list.split('.')[1]})))`

/** The extractions `r` of a row of `sync_work` that wait for none of its open jobs. */
const isEnded = `not exists (
  select 1 from ${JOBS_OF_WORK} where s.open = 1 and exists (
    select 1 from extractions e cross join json_each(e.jobs -> s.job_id -> s.source) m
    where e.organization_id = r.value->>0 and e.entity = sync_work.entity and e.run_id = r.value->>1 and m.value = s.month))`
export const OPEN_RUNS = `select json_group_array(json(r.value)) from json_each(sync_work.runs) r where not (${isEnded})`
/** The same as entries of a list of ended jobs. */
export const ENDED_RUNS = `select json_group_array(json(json_array('${RUN_ENTRY}', r.value->>0, r.value->>1))) from json_each(sync_work.runs) r where ${isEnded}`
const ENDED = `select json_group_array(json(entry)) from (
  select j.value as entry from ${JOBS_OF_WORK} where s.open = 0
  union all select json_array('${RUN_ENTRY}', r.value->>0, r.value->>1) from json_each(sync_work.runs) r where ${isEnded})`

const OPEN = `select json_group_array(json(j.value)) from ${JOBS_OF_WORK} where s.open = 1`
const HELD = 'entity = ?1 and token = ?2'

/**
 * Takes the lease on an RFC's jobs when one is due and nobody has it, and returns the jobs that are due, newest months first. Null when there
 * is nothing to take. A lease that ran out makes its next holder careful.
 */
export async function takeLease(
  ledger: D1Database,
  { entity, token, now, until, limit }: { entity: number; token: string; now: number; until: number; limit: number },
): Promise<{ jobs: JobKey[]; isCareful: boolean; isAwaited: boolean } | null> {
  const [taken, due] = await ledger.batch<{ is_careful?: number; is_awaited?: number; source?: string; month?: string; job_id?: string }>([
    ledger
      .prepare(
        `update sync_work set is_careful = max(is_careful, token is not null), token = ?2, leased_at = ?3, lease_until = ?4
         where entity = ?1 and due_at <= ?3 and (token is null or lease_until < ?3) returning is_careful, is_awaited`,
      )
      .bind(entity, token, now, until),
    ledger
      .prepare(
        `select s.source, s.month, s.job_id from sync_work cross join ${JOBS_OF_WORK}
         where sync_work.${HELD} and s.open = 1 and s.not_before <= ?3 order by s.source desc, s.month desc limit ?4`,
      )
      .bind(entity, token, now, limit),
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
  (await ledger
    .prepare(
      `update sync_work set token = ?2, leased_at = ?3, lease_until = ?4
       where entity = ?1 and (token is null or lease_until < ?3) returning entity`,
    )
    .bind(entity, token, now, until)
    .first()) !== null

export const extendLease = (ledger: D1Database, entity: number, token: string, until: number): D1PreparedStatement =>
  ledger.prepare(`update sync_work set lease_until = ?3 where ${HELD}`).bind(entity, token, until)

/** Refuses its batch unless the worker still has the lease. */
export const assertLease = (ledger: D1Database, entity: number, token: string): D1PreparedStatement =>
  assertThat(ledger, sql`exists (select 1 from sync_work where entity = ${entity} and token = ${token})`, 'sync_work.leased')

/** Whether a batch was refused because the lease is lost. */
export const isLeaseLost = (error: unknown): boolean => isGuardViolation(error, 'sync_work.leased')

/** Hands the jobs and extractions of a lease that have ended to the relay. Returns a row when there are any. */
const handOver = (ledger: D1Database, entity: number, token: string, now: number): D1PreparedStatement =>
  ledger
    .prepare(
      `insert into outbox (entity, fact_id, kind, body, created_at)
       select entity, '${ENDED_JOBS}', '${ENDED_JOBS}', ended, ?3
       from (select sync_work.entity, (${ENDED}) as ended from sync_work where ${HELD}) where ended <> '[]'
       on conflict do update set body = ${united('outbox.body')} returning entity`,
    )
    .bind(entity, token, now)

/** Hands the jobs that have ended to the relay, in the commit of the end of one of them. */
export const handOverStatements = (ledger: D1Database, entity: number, token: string, now: number): D1PreparedStatement[] => [
  handOver(ledger, entity, token, now),
  ledger.prepare(`update sync_work set jobs = (${OPEN}), runs = (${OPEN_RUNS}) where ${HELD}`).bind(entity, token),
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
    ledger
      .prepare(`delete from sync_work where ${HELD} and not exists (select 1 from ${JOBS_OF_WORK} where s.open = 1)`)
      .bind(entity, token),
    ledger
      .prepare(
        `update sync_work set token = null, leased_at = null, lease_until = null, is_careful = 0, jobs = (${OPEN}), runs = (${OPEN_RUNS}),
           due_at = (select min(s.not_before) from ${JOBS_OF_WORK} where s.open = 1)
         where ${HELD} returning due_at`,
      )
      .bind(entity, token),
  ])
  const [row] = left!.results
  return { isTold: told!.results.length > 0, isMore: row !== undefined && row.due_at! <= now }
}

/**
 * RFCs with a job that should have been taken by now, because its message was lost, or whose lease ran out, because its worker died.
 */
export const stuckStatement = (ledger: D1Database, now: number, since: number, limit: number) =>
  ledger
    .prepare(`select entity, is_awaited from sync_work where (token is null and due_at <= ?2) or lease_until < ?1 limit ?3`)
    .bind(now, since, limit)
