import { IS_ASLEEP, OWN_ATTEMPTS, OWN_ERROR, stateOf } from '../progress-store.ts'
import type { JobStatus } from '../tables.ts'

/** Jobs of an RFC of one state and error class. Times are milliseconds. */
export interface JobGroup {
  entity: number
  status: JobStatus
  /** Of their last attempt, as far as the organization may know it; null for jobs that have not failed. */
  error_class: string | null
  n: number
  /** The most attempts of one of them. */
  attempts: number
  /** When the first of them is tried again; null when that is now, or never. */
  next_at: number | null
  /** The latest end that the organization may know. */
  ended_at: number | null
  /** The first of their months; null when they have none. */
  first_month: string | null
  /** Their sources, as a JSON array. */
  sources: string
}

const STATE = stateOf('j.is_active')
/** The job waits for the authority, which did not answer the last time that it was asked. */
const IS_UNANSWERED = `s.open = 1 and coalesce(c.failures, 0) > 0 and ${IS_ASLEEP}`
const ERROR = `case when s.open = 1 and not j.is_active then 'invalid_credentials' when s.status = 'succeeded' then null
  when ${IS_UNANSWERED} then 'sat_unavailable' else ${OWN_ERROR} end`
const ATTEMPTS = `max(${OWN_ATTEMPTS}, iif(j.is_active and ${IS_UNANSWERED}, c.failures, 0))`
/** The conversation with the authority goes on earlier than the jobs that wait for it. */
const NEXT = `iif(s.open = 1 and j.is_active and s.wait_until > ?3,
  iif(${IS_ASLEEP}, coalesce(min(s.wait_until, max(c.due_at, ?3)), s.wait_until), iif(s.error_class <> 'invalid_credentials', s.wait_until, null)), null)`

/** Jobs of a run of one state and error class. */
export type RunGroup = Omit<JobGroup, 'entity' | 'first_month' | 'sources'> & { run_id: string }

/** Groups the jobs that runs of an organization asked for, of some RFCs. A job that is forgotten has succeeded. */
export const runGroups = (
  ledger: D1Database,
  organization_id: string,
  rfcs: readonly { entity: number; isActive: boolean }[],
  run_ids: readonly string[],
  now: number,
): D1PreparedStatement =>
  ledger
    .prepare(
      `with jobs as (
           select e.run_id, e.entity, a.value->>1 as is_active, x.key as source, m.value as month, j.key as job_id, e.requested_at,
             coalesce(e.attempts_before ->> (x.key || ':' || m.value), 0) as attempts_before
           from json_each(?1) a cross join json_each(?4) r
           cross join extractions e on e.organization_id = ?2 and e.entity = a.value->>0 and e.run_id = r.value
           cross join json_each(e.jobs) j cross join json_each(j.value) x cross join json_each(x.value) m),
         told as (
           select j.run_id, iif(s.job_id is null, 'succeeded', ${STATE}) as status, iif(s.job_id is null, null, ${ERROR}) as error_class,
             iif(s.job_id is null, 0, ${ATTEMPTS}) as attempts, ${NEXT} as next_at, max(coalesce(s.finished_at, 0), j.requested_at) as ended_at
           from jobs j
           left join sync_jobs s on s.entity = j.entity and s.source = j.source and s.month = j.month and s.job_id = j.job_id
           left join sync_work w on w.entity = j.entity and w.lease_until > ?3
           left join authority_conversations c on c.entity = j.entity)
       select run_id, status, error_class, count(*) as n, max(attempts) as attempts, min(next_at) as next_at, max(ended_at) as ended_at
       from told group by run_id, status, error_class`,
    )
    .bind(JSON.stringify(rfcs.map(({ entity, isActive }) => [entity, Number(isActive)])), organization_id, now, JSON.stringify(run_ids))

/** The last runs of an organization that covered an RFC, newest first. */
export const runsOfEntity = async (ledger: D1Database, organization_id: string, entity: number): Promise<string[]> =>
  (
    await ledger
      .prepare('select run_id from extractions where organization_id = ?1 and entity = ?2 order by run_id desc')
      .bind(organization_id, entity)
      .raw<[string]>()
  ).flat()

/** The months of a source that were downloaded, as in `DataStatusRow`. */
export interface SourceCoverage {
  entity: number
  source: string
  months: string
  month: null
  as_of: null
}

/** Selects which months of CFDIs were downloaded, of many RFCs at once: two rows for each. */
export const coverageOf = (ledger: D1Database, entities: readonly number[]): D1PreparedStatement =>
  ledger
    .prepare(
      `select c.entity, c.source, c.months, null as month, null as as_of from json_each(?1) e
       cross join coverage c on c.entity = e.value and c.source in ('sat_cfdi_issued', 'sat_cfdi_received')`,
    )
    .bind(JSON.stringify(entities))

/** Groups the latest job of each source and month that an organization's last runs created or joined, for many RFCs at once. */
export const jobGroups = (
  ledger: D1Database,
  organization_id: string,
  rfcs: readonly { entity: number; isActive: boolean }[],
  now: number,
): D1PreparedStatement =>
  ledger
    .prepare(
      `with asked as materialized (select value->>0 as entity, value->>1 as is_active from json_each(?1)),
         jobs as (
           select e.entity, a.is_active, x.key as source, m.value as month, j.key as job_id, max(e.run_id) as last_run, min(e.requested_at) as requested_at,
             min(coalesce(e.attempts_before ->> (x.key || ':' || m.value), 0)) as attempts_before
           from asked a cross join extractions e on e.organization_id = ?2 and e.entity = a.entity
           cross join json_each(e.jobs) j cross join json_each(j.value) x cross join json_each(x.value) m
           group by e.entity, x.key, m.value, j.key),
         latest as materialized (
           select entity, is_active, source, month, job_id, requested_at, attempts_before, max(last_run) from jobs group by entity, source, month),
         told as (
           select j.entity, s.source, s.month, ${STATE} as status, ${ERROR} as error_class, ${ATTEMPTS} as attempts, ${NEXT} as next_at,
             max(s.finished_at, j.requested_at) as ended_at
           from latest j
           cross join sync_jobs s on s.entity = j.entity and s.source = j.source and s.month = j.month and s.job_id = j.job_id
           left join sync_work w on w.entity = j.entity and w.lease_until > ?3
           left join authority_conversations c on c.entity = j.entity)
       select entity, status, error_class, count(*) as n, max(attempts) as attempts, min(next_at) as next_at, max(ended_at) as ended_at,
         min(nullif(month, '')) as first_month, json_group_array(distinct source) as sources
       from told group by entity, status, error_class`,
    )
    .bind(JSON.stringify(rfcs.map(({ entity, isActive }) => [entity, Number(isActive)])), organization_id, now)
