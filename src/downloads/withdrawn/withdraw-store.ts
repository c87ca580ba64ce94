import { askersOf } from '../../visibility/askers.ts'
import { ENDED_JOBS, ENDED_RUNS, JOBS_OF_WORK, OPEN_RUNS, united } from '../lease-store.ts'

const IS_FREE = `not exists (select 1 from sync_work l where l.entity = s.entity and l.token is not null and l.lease_until >= ?4)`
/** No fetcher brings what the job waits for, or has brought it. */
const IS_UNFETCHED = `not exists (
  select 1 from fetches f where f.entity = s.entity and f.source = s.source and f.month = s.month and f.leased_at >= s.created_at
    and ((f.state = 'leased' and f.due_at > ?4) or f.state = 'complete'))`
/** The extractions `o` of the organization `a` that ask for the job. */
const ASKING = `from extractions o cross join json_each(o.jobs -> s.job_id -> s.source) w
  where o.organization_id = a.value and o.entity = s.entity and w.value = s.month`
const IS_THIS_RUN = '(o.organization_id = ?2 and o.run_id = ?3)'
/** A job that has not begun, and that only this run and cancelled ones ask for. Who asked with a run that is forgotten wants it. */
const IS_UNWANTED = `s.open = 1 and s.is_claimed = 0 and s.carried = '{}' and ${IS_FREE} and ${IS_UNFETCHED}
  and not exists (
    select 1 from json_each(${askersOf('s')}) a where exists (select 1 ${ASKING} and o.is_cancelled = 0 and not ${IS_THIS_RUN})
      or not exists (select 1 ${ASKING} and (o.is_cancelled = 1 or ${IS_THIS_RUN})))`
const KEPT = `exists (
  select 1 from sync_jobs s where s.entity = extractions.entity and s.source = x.key and s.month = m.value and s.job_id = j.key)`
const OF_RUN = 'extractions.organization_id = ?2 and extractions.entity in (select value from json_each(?1)) and extractions.run_id = ?3'
/** Runs that were cancelled before, of any organization, and that still waited for the jobs. */
const CANCELLED_BEFORE = `extractions.is_cancelled = 1 and not (${OF_RUN})
  and (extractions.organization_id, extractions.entity, extractions.run_id) in (
    select r.value->>0, l.entity, r.value->>1 from json_each(?1) e cross join sync_work l on l.entity = e.value cross join json_each(l.runs) r)`
const SHARES_WITHDRAWN = `exists (
  select 1 from json_each(extractions.jobs) j, json_each(j.value) x, json_each(x.value) m
  cross join extractions own on own.organization_id = ?2 and own.entity = extractions.entity and own.run_id = ?3
  cross join json_each(own.jobs -> j.key -> x.key) w
  where w.value = m.value and not (${KEPT}))`

/**
 * The batch that cancels what a run asked for: it withdraws its jobs that have not begun and that nobody else wants, and hands extractions
 * that end with it to the relay. The first result has a row for each job, with whether anything of it was tried.
 */
export function withdrawStatements(
  ledger: D1Database,
  { organization_id, run_id, entities, now }: { organization_id: string; run_id: string; entities: readonly number[]; now: number },
): D1PreparedStatement[] {
  const values = [JSON.stringify(entities), organization_id, run_id, now] as const
  const prepare = (sql: string) => ledger.prepare(sql).bind(...values)
  const free = `entity in (select value from json_each(?1)) and (token is null or lease_until < ?4) and ?2 <> '' and ?3 <> ''`
  const forget = (which: string) =>
    prepare(
      `update extractions set is_range = 1, jobs = coalesce((
         select jsonb_group_object(id, jsonb(sources)) from (
           select id, json_group_object(source, json(months)) as sources from (
             select j.key as id, x.key as source, json_group_array(m.value) as months
             from json_each(extractions.jobs) j, json_each(j.value) x, json_each(x.value) m
             where ${KEPT} group by 1, 2)
           group by id)), jsonb('{}'))
       where ?4 > 0 and ${which}`,
    )
  return [
    // What is left of the extraction does not say how far everything is downloaded.
    prepare(
      `delete from sync_jobs as s where (s.entity, s.source, s.month, s.job_id) in (
         select extractions.entity, x.key, m.value, j.key from extractions, json_each(extractions.jobs) j, json_each(j.value) x, json_each(x.value) m
         where ${OF_RUN}) and ${IS_UNWANTED} returning attempts > 0 or wait_until is not null or started_at is not null as was_tried`,
    ),
    // Those of earlier cancelled runs first, as long as the run's own still names what is gone.
    forget(`${CANCELLED_BEFORE} and ${SHARES_WITHDRAWN}`),
    forget(`${OF_RUN} and exists (
      select 1 from json_each(extractions.jobs) j, json_each(j.value) x, json_each(x.value) m where not (${KEPT}))`),
    prepare(`update extractions set is_cancelled = 1 where ${OF_RUN} and is_cancelled = 0 and ?4 > 0`),
    prepare(`update sync_work set jobs = (select json_group_array(json(j.value)) from ${JOBS_OF_WORK}) where ${free}`),
    prepare(
      `insert into outbox (entity, fact_id, kind, body, created_at)
       select entity, '${ENDED_JOBS}', '${ENDED_JOBS}', ended, ?4
       from (select sync_work.entity, (${ENDED_RUNS}) as ended from sync_work where ${free}) where ended <> '[]'
       on conflict do update set body = ${united('outbox.body')}`,
    ),
    prepare(`update sync_work set runs = (${OPEN_RUNS}) where ${free}`),
    prepare(`delete from sync_work where ${free} and jobs = '[]'`),
  ]
}
