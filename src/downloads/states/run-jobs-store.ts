import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { prepared } from '../../platform/db/statement.ts'
import { extractions, syncJobs } from '../jobs/tables.ts'
import { ATTEMPTS, askedAgainAt, ENDED_BEFORE, isRowOf, type JobRow, leaseAndConversation, STARTED_AT, stateOf } from '../progress-store.ts'

/** A job of a run. */
export interface RunJobRow extends Omit<JobRow, 'rejected_count' | 'rejected_files' | 'first_run'> {
  fiscal_entity_id: string
  is_active: number
  /** 1 when its row is deleted: it has succeeded. */
  is_forgotten: number
}

/** The place of a job in the list of its run. */
export type RunJobPlace = readonly [fiscal_entity_id: string, source: string, month: string]

export interface RunJobPage {
  after: RunJobPlace | null
  status: string | null
  limit: number
}

const [s, e] = [alias(syncJobs, 's'), alias(extractions, 'e')]
const J_ENTITY = sql`j.entity`

/** The jobs that a run of an organization asked for, of some RFCs: by RFC and source, the latest month first. */
export const jobsOfRun = async (
  ledger: D1Database,
  organization_id: string,
  run_id: string,
  rfcs: readonly { entity: number; fiscal_entity_id: string; isActive: boolean }[],
  { after, status, limit }: RunJobPage,
): Promise<RunJobRow[]> => {
  const now = Date.now()
  const [rfc, source, month] = after ?? [null, null, null]
  const asked = JSON.stringify(rfcs.map(({ entity, isActive, fiscal_entity_id }) => [entity, Number(isActive), fiscal_entity_id]))
  const statement = prepared(
    ledger,
    sql`with jobs as (
          select ${e.entity}, a.value->>1 as is_active, a.value->>2 as fiscal_entity_id, x.key as source, m.value as month, j.key as job_id,
            ${e.requested_at}, ${ENDED_BEFORE} as attempts_before
          from json_each(${asked}) a
          cross join ${extractions} ${e} on ${e.organization_id} = ${organization_id} and ${e.entity} = a.value->>0 and ${e.run_id} = ${run_id}
          cross join json_each(${e.jobs}) j cross join json_each(j.value) x cross join json_each(x.value) m),
        told as (
          select j.fiscal_entity_id, j.is_active, j.source, j.month, j.job_id, j.requested_at, j.attempts_before,
            ${s.job_id} is null as is_forgotten, coalesce(${s.carried}->>${organization_id}, j.job_id) as known_as, ${s.open},
            iif(${s.job_id} is null, 'succeeded', ${stateOf(sql`j.is_active`, now)}) as status, ${ATTEMPTS} as attempts, ${s.error_class},
            ${s.not_before}, ${s.wait_until}, ${askedAgainAt(now)} as asked_again_at, ${STARTED_AT} as started_at, ${s.finished_at}
          from jobs j left join ${syncJobs} ${s} on ${isRowOf(J_ENTITY)} ${leaseAndConversation(J_ENTITY, now)})
        select * from told
        where (${status} is null or status = ${status})
          and (${rfc} is null or fiscal_entity_id > ${rfc} or (
            fiscal_entity_id = ${rfc} and (source > ${source} or (source = ${source} and month < ${month}))))
        order by fiscal_entity_id, source, month desc limit ${limit}`,
  )
  return (await statement.all<RunJobRow>()).results
}
