import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { prepared } from '../platform/db/statement.ts'
import { requestersOf } from '../taxpayers/visibility/requesters.ts'
import { isJob, LISTED } from './jobs/key.ts'
import { syncJobs } from './jobs/tables.ts'
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
  deferred: string
  started_at: number | null
  finished_at: number
}

const s = alias(syncJobs, 's')
const REQUESTERS = requestersOf(s)

/** Reads the jobs of lists. */
export const readEndedJobs = async (ledger: D1Database, lists: readonly JobList[]): Promise<EndedJobRow[]> => {
  const json = JSON.stringify(lists.map(({ entity, organizations, jobs }) => [entity, organizations, jobs]))
  const statement = prepared(
    ledger,
    sql`select l.key as list, j.key as n, ${s.status}, ${s.error_class}, ${s.deferred}, ${s.started_at}, ${s.finished_at},
          coalesce(l.value->>1, iif(${s.late} is null, ${REQUESTERS}, (
            select json_group_array(value) from json_each(${REQUESTERS}) where value not in (select value from json_each(${s.late}))))) as organizations
        from json_each(${json}) l cross join json_each(l.value->2) j
        left join ${syncJobs} ${s} on ${isJob(s, sql`l.value->>0`, LISTED)}
        order by l.key, j.key`,
  )
  return (await statement.all<EndedJobRow>()).results
}
