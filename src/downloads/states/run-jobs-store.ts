import { IS_LEASED, type JobRow, stateOf } from '../progress-store.ts'

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

/** The jobs that a run of an organization asked for, of some RFCs: by RFC and source, the latest month first. */
export const jobsOfRun = async (
  ledger: D1Database,
  organization_id: string,
  run_id: string,
  rfcs: readonly { entity: number; fiscal_entity_id: string; isActive: boolean }[],
  { after, status, limit }: RunJobPage,
): Promise<RunJobRow[]> =>
  (
    await ledger
      .prepare(
        `with jobs as (
           select e.entity, a.value->>1 as is_active, a.value->>2 as fiscal_entity_id, x.key as source, m.value as month, j.key as job_id,
             e.requested_at, coalesce(e.attempts_before ->> (x.key || ':' || m.value), 0) as attempts_before
           from json_each(?1) a
           cross join extractions e on e.organization_id = ?2 and e.entity = a.value->>0 and e.run_id = ?4
           cross join json_each(e.jobs) j cross join json_each(j.value) x cross join json_each(x.value) m),
         told as (
           select j.fiscal_entity_id, j.is_active, j.source, j.month, j.job_id, j.requested_at, j.attempts_before,
             s.job_id is null as is_forgotten, coalesce(s.carried->>?2, j.job_id) as known_as, s.open,
             iif(s.job_id is null, 'succeeded', ${stateOf('j.is_active')}) as status,
             s.attempts + (s.status = 'queued' and ${IS_LEASED}) as attempts, s.error_class, s.not_before, s.wait_until,
             coalesce(min(s.wait_until, max(c.due_at, ?3)), s.wait_until) as asked_again_at,
             coalesce(s.started_at, iif(${IS_LEASED}, w.leased_at, null)) as started_at, s.finished_at
           from jobs j
           left join sync_jobs s on s.entity = j.entity and s.source = j.source and s.month = j.month and s.job_id = j.job_id
           left join sync_work w on w.entity = j.entity and w.lease_until > ?3
           left join authority_conversations c on c.entity = j.entity)
         select * from told
         where (?5 is null or status = ?5)
           and (?6 is null or fiscal_entity_id > ?6 or (fiscal_entity_id = ?6 and (source > ?7 or (source = ?7 and month < ?8))))
         order by fiscal_entity_id, source, month desc limit ?9`,
      )
      .bind(
        JSON.stringify(rfcs.map(({ entity, isActive, fiscal_entity_id }) => [entity, Number(isActive), fiscal_entity_id])),
        ...[organization_id, Date.now(), run_id, status, ...(after ?? [null, null, null]), limit],
      )
      .all<RunJobRow>()
  ).results
