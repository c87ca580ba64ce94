import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { bare } from '../../platform/db/statement.ts'
import { syncJobs } from './tables.ts'

type KeyPart = SQLWrapper | string | number

/** The condition that a row of `sync_jobs` is the job of a key. */
export const isJob = (
  job: Record<'entity' | 'source' | 'month' | 'job_id', SQLiteColumn>,
  entity: KeyPart,
  [source, month, job_id]: readonly [source: KeyPart, month: KeyPart, job_id: KeyPart],
): SQL => sql`${job.entity} = ${entity} and ${job.source} = ${source} and ${job.month} = ${month} and ${job.job_id} = ${job_id}`

/** The key of an entry `j` in a list of jobs, and of a job in an extraction, by `json_each` of each level: `j`, `x` and `m`. */
export const LISTED = [sql`j.value->>0`, sql`j.value->>1`, sql`j.value->>2`] as const
export const ASKED_FOR = [sql`x.key`, sql`m.value`, sql`j.key`] as const

/** The columns of a job that is made, but for those that have defaults. */
export const NEW_JOB = [
  ...[syncJobs.entity, syncJobs.source, syncJobs.month, syncJobs.job_id, syncJobs.organizations, syncJobs.open, syncJobs.as_of],
  ...[syncJobs.not_before, syncJobs.attempts, syncJobs.created_after, syncJobs.created_count, syncJobs.updated_count],
  ...[syncJobs.cancelled_count, syncJobs.rejected_count],
].map(bare)
