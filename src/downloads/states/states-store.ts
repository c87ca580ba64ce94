import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { clock } from '../../platform/time/clock.ts'
import { coverage, extractions, type JobStatus, syncJobs } from '../jobs/tables.ts'
import {
  ATTEMPTS,
  askedAgainAt,
  conversation,
  ENDED_BEFORE,
  isAsleep,
  isRowOf,
  type JobRow,
  leaseAndConversation,
  OWN_ATTEMPTS,
  OWN_ERROR,
  STARTED_AT,
  stateOf,
} from '../progress-store.ts'

/** A job of a run. */
export interface RunJobRow extends Omit<JobRow, 'rejected_count' | 'rejected_files' | 'first_run'> {
  fiscal_entity_id: string
  is_active: number
  /** 1 when its row is deleted: it has succeeded. */
  is_forgotten: number
}

/** The position of a job in the list of its run. */
export type RunJobPosition = readonly [fiscal_entity_id: string, source: string, month: string]

export interface RunJobPage {
  after: RunJobPosition | null
  status: string | null
  limit: number
}

const [s, e, c] = [alias(syncJobs, 's'), alias(extractions, 'e'), alias(coverage, 'c')]
const J_ENTITY = sql`j.entity`

/** The jobs that a run of an organization asked for, of some RFCs: by RFC and source, the latest month first. */
export const jobsOfRun = (
  organization_id: string,
  run_id: string,
  rfcs: readonly { entity: number; fiscal_entity_id: string; isActive: boolean }[],
  { after, status, limit }: RunJobPage,
): SQL<RunJobRow> => {
  const now = clock.now()
  const [rfc, source, month] = after ?? [null, null, null]
  const asked = JSON.stringify(rfcs.map(({ entity, isActive, fiscal_entity_id }) => [entity, Number(isActive), fiscal_entity_id]))
  return sql<RunJobRow>`with jobs as (
          select ${e.entity}, a.value->>1 as is_active, a.value->>2 as fiscal_entity_id, x.key as source, m.value as month, j.key as job_id,
            ${e.requested_at}, ${ENDED_BEFORE} as attempts_before
          from json_each(${asked}) a
          cross join ${extractions} ${e} on ${e.organization_id} = ${organization_id} and ${e.entity} = a.value->>0 and ${e.run_id} = ${run_id}
          cross join json_each(${e.jobs}) j cross join json_each(j.value) x cross join json_each(x.value) m),
        counted as (
          select j.fiscal_entity_id, j.is_active, j.source, j.month, j.job_id, j.requested_at, j.attempts_before,
            ${s.job_id} is null as is_forgotten, coalesce(${s.deferred}->>${organization_id}, j.job_id) as known_as, ${s.open},
            iif(${s.job_id} is null, 'succeeded', ${stateOf(sql`j.is_active`, now)}) as status, ${ATTEMPTS} as attempts, ${s.error_class},
            ${s.not_before}, ${s.wait_until}, ${askedAgainAt(now)} as asked_again_at, ${STARTED_AT} as started_at, ${s.finished_at}
          from jobs j left join ${syncJobs} ${s} on ${isRowOf(J_ENTITY)} ${leaseAndConversation(J_ENTITY, now)})
        select * from counted
        where (${status} is null or status = ${status})
          and (${rfc} is null or fiscal_entity_id > ${rfc} or (
            fiscal_entity_id = ${rfc} and (source > ${source} or (source = ${source} and month < ${month}))))
        order by fiscal_entity_id, source, month desc limit ${limit}`
}

/** Jobs of an RFC of one state and error class. Times are milliseconds. */
export interface JobGroup {
  entity: number
  status: JobStatus
  /** The error class of their last attempt, as far as the organization may know it; null for jobs that have not failed. */
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

/** The facts that the organization learns of a job `j` and its row: its state, error class and attempts, and when it is tried again. */
function shownOf(now: number): Record<'state' | 'error' | 'attempts' | 'next', SQL> {
  // The job waits for the authority, which did not answer the last time that it was asked.
  const isUnanswered = sql`${s.open} = 1 and coalesce(${conversation.failures}, 0) > 0 and ${isAsleep(now)}`
  return {
    state: stateOf(sql`j.is_active`, now),
    error: sql`case when ${s.open} = 1 and not j.is_active then 'invalid_credentials' when ${s.status} = 'succeeded' then null
      when ${isUnanswered} then 'sat_unavailable' else ${OWN_ERROR} end`,
    attempts: sql`max(${OWN_ATTEMPTS}, iif(j.is_active and ${isUnanswered}, ${conversation.failures}, 0))`,
    next: sql`iif(${s.open} = 1 and j.is_active and ${s.wait_until} > ${now},
      iif(${isAsleep(now)}, ${askedAgainAt(now)}, iif(${s.error_class} <> 'invalid_credentials', ${s.wait_until}, null)), null)`,
  }
}
const askedOf = (rfcs: readonly { entity: number; isActive: boolean }[]): string =>
  JSON.stringify(rfcs.map(({ entity, isActive }) => [entity, Number(isActive)]))

/** Jobs of a run of one state and error class. */
export type RunGroup = Omit<JobGroup, 'entity' | 'first_month' | 'sources'> & { run_id: string }

/** Groups the jobs that runs of an organization asked for, of some RFCs. A job that is forgotten has succeeded. */
export const runGroups = (
  organization_id: string,
  rfcs: readonly { entity: number; isActive: boolean }[],
  run_ids: readonly string[],
  now: number,
): SQL => {
  const { state, error, attempts, next } = shownOf(now)
  return sql`with jobs as (
          select ${e.run_id}, ${e.entity}, a.value->>1 as is_active, x.key as source, m.value as month, j.key as job_id, ${e.requested_at},
            ${ENDED_BEFORE} as attempts_before
          from json_each(${askedOf(rfcs)}) a cross join json_each(${JSON.stringify(run_ids)}) r
          cross join ${extractions} ${e} on ${e.organization_id} = ${organization_id} and ${e.entity} = a.value->>0 and ${e.run_id} = r.value
          cross join json_each(${e.jobs}) j cross join json_each(j.value) x cross join json_each(x.value) m),
        counted as (
          select j.run_id, iif(${s.job_id} is null, 'succeeded', ${state}) as status, iif(${s.job_id} is null, null, ${error}) as error_class,
            iif(${s.job_id} is null, 0, ${attempts}) as attempts, ${next} as next_at, max(coalesce(${s.finished_at}, 0), j.requested_at) as ended_at
          from jobs j left join ${syncJobs} ${s} on ${isRowOf(J_ENTITY)} ${leaseAndConversation(J_ENTITY, now)})
        select run_id, status, error_class, count(*) as n, max(attempts) as attempts, min(next_at) as next_at, max(ended_at) as ended_at
        from counted group by run_id, status, error_class`
}

/** The last runs of an organization that covered an RFC, newest first. */
export const runsOfEntity = (organization_id: string, entity: number): SQL<string> =>
  sql<string>`select ${e.run_id} from ${extractions} ${e} where ${e.organization_id} = ${organization_id} and ${e.entity} = ${entity}
        order by ${e.run_id} desc`

/** The months of a source that were downloaded, as in `DataStatusRow`. */
export interface SourceCoverage {
  entity: number
  source: string
  months: string
  month: null
  as_of: null
}

/** Selects which months of CFDIs were downloaded, of many RFCs at once: two rows for each. */
export const coverageOf = (entities: readonly number[]): SQL =>
  sql`select ${c.entity}, ${c.source}, ${c.months}, null as month, null as as_of from json_each(${JSON.stringify(entities)}) e
        cross join ${coverage} ${c} on ${c.entity} = e.value and ${c.source} in ('sat_cfdi_issued', 'sat_cfdi_received')`

/** Groups the latest job of each source and month that an organization's last runs created or joined, for many RFCs at once. */
export const jobGroups = (organization_id: string, rfcs: readonly { entity: number; isActive: boolean }[], now: number): SQL => {
  const { state, error, attempts, next } = shownOf(now)
  return sql`with asked as materialized (select value->>0 as entity, value->>1 as is_active from json_each(${askedOf(rfcs)})),
        jobs as (
          select ${e.entity}, a.is_active, x.key as source, m.value as month, j.key as job_id, max(${e.run_id}) as last_run,
            min(${e.requested_at}) as requested_at, min(${ENDED_BEFORE}) as attempts_before
          from asked a cross join ${extractions} ${e} on ${e.organization_id} = ${organization_id} and ${e.entity} = a.entity
          cross join json_each(${e.jobs}) j cross join json_each(j.value) x cross join json_each(x.value) m
          group by ${e.entity}, x.key, m.value, j.key),
        latest as materialized (
          select entity, is_active, source, month, job_id, requested_at, attempts_before, max(last_run) from jobs group by entity, source, month),
        counted as (
          select j.entity, ${s.source}, ${s.month}, ${state} as status, ${error} as error_class, ${attempts} as attempts, ${next} as next_at,
            max(${s.finished_at}, j.requested_at) as ended_at
          from latest j cross join ${syncJobs} ${s} on ${isRowOf(J_ENTITY)} ${leaseAndConversation(J_ENTITY, now)})
        select entity, status, error_class, count(*) as n, max(attempts) as attempts, min(next_at) as next_at, max(ended_at) as ended_at,
          min(nullif(month, '')) as first_month, json_group_array(distinct source) as sources
        from counted group by entity, status, error_class`
}
