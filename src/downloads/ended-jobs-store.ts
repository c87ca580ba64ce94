import { askersOf } from '../visibility/askers.ts'
import type { JobKey } from './lease-store.ts'

/** Jobs of an RFC that have ended: for the organizations that asked for them before, or for one that found them finished. */
export interface JobList {
  entity: number
  organizations: string | null
  jobs: readonly JobKey[]
}

export interface EndedJobRow {
  /** The number of the list, and of the job in it. */
  list: number
  n: number
  /** Null when the job does not exist any more. */
  status: 'succeeded' | 'failed' | null
  error_class: string | null
  /** JSON, as in the table. */
  organizations: string
  carried: string
  started_at: number | null
  finished_at: number
}

/** Reads the jobs of lists. */
export const readEndedJobs = async (ledger: D1Database, lists: readonly JobList[]): Promise<EndedJobRow[]> =>
  (
    await ledger
      .prepare(
        `select l.key as list, j.key as n, status, error_class, carried, started_at, finished_at,
           coalesce(l.value->>1, iif(late is null, ${askersOf('s')}, (
             select json_group_array(value) from json_each(${askersOf('s')}) where value not in (select value from json_each(late))))) as organizations
         from json_each(?1) l cross join json_each(l.value->2) j
         left join sync_jobs s on s.entity = l.value->>0 and s.source = j.value->>0 and s.month = j.value->>1 and s.job_id = j.value->>2
         order by l.key, j.key`,
      )
      .bind(JSON.stringify(lists.map(({ entity, organizations, jobs }) => [entity, organizations, jobs])))
      .all<EndedJobRow>()
  ).results
