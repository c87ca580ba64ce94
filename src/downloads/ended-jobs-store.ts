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
  status: 'succeeded' | 'failed'
  error_class: string | null
  /** JSON, as in the table. */
  organizations: string
  carried: string
  finished_at: number
}

/** The most that the organizations of the jobs that are read at once may take in memory, in bytes. */
const MAX_BYTES = 4_000_000

/** Reads the jobs of lists that still exist, as many as are held in memory at once. */
export const readEndedJobs = async (ledger: D1Database, lists: readonly JobList[]): Promise<EndedJobRow[]> =>
  (
    await ledger
      .prepare(
        `select list, n, status, error_class, carried, finished_at, coalesce(own, (
           select json_group_array(value) from json_each(organizations) where value not in (select value from json_each(late)))) as organizations
         from (
           select l.key as list, j.key as n, s.*, iif(l.value->>1 is null and s.late is null, s.organizations, l.value->>1) as own,
             sum(octet_length(s.organizations)) over (order by l.key, j.key rows unbounded preceding) as bytes
           from json_each(?1) l cross join json_each(l.value->2) j
           cross join sync_jobs s
             on s.entity = l.value->>0 and s.source = j.value->>0 and s.month = j.value->>1 and s.job_id = j.value->>2 and s.open = 0)
         where bytes <= ?2 or (list = 0 and n = 0)`,
      )
      .bind(JSON.stringify(lists.map(({ entity, organizations, jobs }) => [entity, organizations, jobs])), MAX_BYTES)
      .all<EndedJobRow>()
  ).results
