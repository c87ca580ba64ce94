import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { fetches } from '../../authority/fetcher/tables.ts'
import { entities } from '../../cfdi/tables.ts'
import { bare } from '../../platform/db/statement.ts'
import { requestersOf } from '../../taxpayers/visibility/requesters.ts'
import { syncJobs } from '../jobs/tables.ts'
import { hastenWork } from '../lease-store.ts'

const [s, f] = [alias(syncJobs, 's'), alias(fetches, 'f')]

/** The requesters of a job `s`, including those that wait for a login, as a JSON array. */
export const ALL_REQUESTERS: SQL = sql`(
  select json_group_array(value) from (
    select value from json_each(${requestersOf(s)}) union select key from json_each(${s.deferred})))`

/** An open job: its RFC, and who asked for it, also those that wait for a login, as a JSON array. Null when there is none. */
export const openJob = (entity: number, source: string, month: string) =>
  sql<{ organizations: string; job_id: string; rfc: string }>`select ${ALL_REQUESTERS} as organizations, ${s.job_id}, (
            select ${entities.rfc} from ${entities} where ${entities.entity} = ${s.entity}) as rfc
        from ${syncJobs} ${s} where ${s.entity} = ${entity} and ${s.source} = ${source} and ${s.month} = ${month} and ${s.open} = 1
        order by ${s.job_id} desc limit 1`

export interface OverFetch {
  fetch: number
  entity: number
  source: string
  month: string
  files: string
  is_open: number
}

/** Fetches that are over and whose jobs have ended, or sleep although they could go on; with whether the job is open. */
export const overFetches = (now: number, limit: number): SQL<OverFetch> =>
  sql<OverFetch>`select ${f.fetch}, ${f.entity}, ${f.source}, ${f.month}, ${f.files}, ${s.job_id} is not null as is_open
        from ${fetches} ${f} indexed by fetches_over
        left join ${syncJobs} ${s} on ${s.entity} = ${f.entity} and ${s.source} = ${f.source} and ${s.month} = ${f.month} and ${s.open} = 1
        where ${f.state} in ('complete', 'failed') and (${s.job_id} is null or (${s.not_before} > ${now} and ${s.error_class} is null))
        limit ${limit}`

/** Makes an open job due now, unless it waits for a login or after an error. */
export const wakeStatements = ({ entity, source, month }: { entity: number; source: string; month: string }): SQL[] => [
  sql`update ${syncJobs} set ${bare(syncJobs.not_before)} = 0 where ${syncJobs.entity} = ${entity} and ${syncJobs.source} = ${source}
        and ${syncJobs.month} = ${month} and ${syncJobs.open} = 1 and ${syncJobs.error_class} is null`,
  hastenWork(entity),
]
