import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { prepared } from '../../platform/db/statement.ts'
import { askersOf } from '../../taxpayers/visibility/askers.ts'
import { isJob } from '../jobs/key.ts'
import { extractions, syncJobs } from '../jobs/tables.ts'

interface JobKey {
  entity: number
  source: string
  month: string
  job_id: string
}

const [s, e] = [alias(syncJobs, 's'), alias(extractions, 'e')]

/** Joins the extractions `e` that requested the job `s`, of the organizations that asked for it, also of those that wait for a login. */
export const askedJobs = sql`cross join json_each(
    json_patch(${s.carried}, (select json_group_object(value, '') from json_each(${askersOf(s)})))) o
  cross join ${extractions} ${e} on ${e.organization_id} = o.key and ${e.entity} = ${s.entity}
  cross join json_each(${e.jobs} -> ${s.job_id} -> ${s.source}) m on m.value = ${s.month}`

/** The extractions `e` that requested a job. */
export const extractionsOf = ({ entity, source, month, job_id }: JobKey): SQL =>
  sql`${syncJobs} ${s} ${askedJobs} where ${isJob(s, entity, [source, month, job_id])}`

/** Reads the instant of the last run that asked for a job, in milliseconds. */
export const readLastRun = async (ledger: D1Database, job: JobKey): Promise<number> =>
  (await prepared(ledger, sql`select max(${e.instant}) as instant from ${extractionsOf(job)}`).first<{ instant: number | null }>())
    ?.instant ?? 0

/**
 * Reads the boundaries of a job of CFDIs, in seconds since 1970: the instants of the runs that asked for it, where windows may end, and the
 * ends of earlier jobs, up to which organizations know the documents.
 */
export async function readBoundaries(ledger: D1Database, job: JobKey): Promise<number[]> {
  const { entity, source, month, job_id } = job
  const statement = prepared(
    ledger,
    sql`select ${e.instant} / 1000 from ${extractionsOf(job)}
        union select max(${s.finished_at}, ${s.as_of}) / 1000 from ${syncJobs} ${s}
        where ${s.entity} = ${entity} and ${s.source} = ${source} and ${s.month} = ${month} and ${s.job_id} < ${job_id}
          and ${s.status} = 'succeeded'`,
  )
  return (await statement.raw<[number]>()).flat()
}
