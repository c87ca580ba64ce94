import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { documents } from '../../documents/tables.ts'
import { commit, jsonChunks } from '../../platform/db/commit.ts'
import { readColumn, readFirst } from '../../platform/db/statement.ts'
import { requestersOf } from '../../taxpayers/visibility/jobs.ts'
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
    json_patch(${s.deferred}, (select json_group_object(value, '') from json_each(${requestersOf(s)})))) o
  cross join ${extractions} ${e} on ${e.organization_id} = o.key and ${e.entity} = ${s.entity}
  cross join json_each(${e.jobs} -> ${s.job_id} -> ${s.source}) m on m.value = ${s.month}`

/** The extractions `e` that requested a job. */
export const extractionsOf = ({ entity, source, month, job_id }: JobKey): SQL =>
  sql`${syncJobs} ${s} ${askedJobs} where ${isJob(s, entity, [source, month, job_id])}`

/** Reads the instant of the last run that asked for a job, in milliseconds. */
export const readLastRun = async (ledger: D1Database, job: JobKey): Promise<number> =>
  (await readFirst(ledger, sql<{ instant: number | null }>`select max(${e.instant}) as instant from ${extractionsOf(job)}`))?.instant ?? 0

/**
 * Reads the boundaries of a job of CFDIs, in seconds since 1970: the instants of the runs that asked for it, where windows may end, and the
 * ends of earlier jobs, up to which organizations know the documents.
 */
export function readBoundaries(ledger: D1Database, job: JobKey): Promise<number[]> {
  const { entity, source, month, job_id } = job
  return readColumn(
    ledger,
    sql<number>`select ${e.instant} / 1000 from ${extractionsOf(job)}
        union select max(${s.finished_at}, ${s.as_of}) / 1000 from ${syncJobs} ${s}
        where ${s.entity} = ${entity} and ${s.source} = ${source} and ${s.month} = ${month} and ${s.job_id} < ${job_id}
          and ${s.status} = 'succeeded'`,
  )
}

/** A job to count for an organization. */
export interface AskedJob {
  /** Its number in the question. */
  n: number
  entity: number
  source: string
  /** Empty for document sources. */
  month: string
  job_id: string
  organization_id: string
  /** The first visible day, and the last visible second; null without a bound. */
  floor: string | null
  until: number | null
}

/** The results of a job for an organization. */
export interface JobCounts {
  created_count: number
  updated_count: number
  cancelled_count: number
  /** In seconds since 1970; null without counted CFDIs. */
  first_issued_at: number | null
  last_issued_at: number | null
  /** The documents that are not CFDIs, as a JSON array; absent for CFDIs, and without any. */
  document_ids?: string
}

const [j, k, p, q] = [alias(syncJobs, 'j'), alias(syncJobs, 'k'), alias(syncJobs, 'p'), alias(syncJobs, 'q')]
const d = alias(documents, 'd')

/** Whether a job is of the source and month of the span `s`. */
export const isOfCell = ({ entity, source, month }: typeof j | typeof k | typeof p | typeof q): SQL =>
  sql`${entity} = s.entity and ${source} = s.source and ${month} = s.month`

/** Whether a job names the organization of the span `s`. */
export const namesRequester = (job: typeof k | typeof q): SQL =>
  sql`exists (select 1 from json_each(${requestersOf(job)}) o where o.value = s.organization_id)`

/** Whether the job `k` is the one of the span `s`, or of those between the organization's previous one and it. */
export const IS_BETWEEN = sql`${isOfCell(k)} and ${k.job_id} > s.previous and ${k.job_id} <= s.job_id`

/**
 * The jobs of a JSON list as `spans`, each with the organization's previous job of the same source and month that succeeded, if there is
 * one, and the last second whose documents the organization knew by then.
 */
const spansOf = (json: string): SQL => sql`asked as materialized (
    select value->>0 as n, value->>1 as entity, value->>2 as source, value->>3 as month, value->>4 as job_id, value->>5 as organization_id,
      coalesce(value->>6, '') as floor, coalesce(value->>7, 1e12) as until
    from json_each(${json})),
  spans as materialized (
    select s.*, ${j.status}, coalesce(${p.job_id}, '') as previous, max(${p.finished_at}, ${p.as_of}) / 1000 as known
    from asked s
    cross join ${syncJobs} ${j} on ${isOfCell(j)} and ${j.job_id} = s.job_id
    left join ${syncJobs} ${p} on ${isOfCell(p)} and ${p.job_id} = (
      select ${q.job_id} from ${syncJobs} ${q}
      where ${isOfCell(q)} and ${q.job_id} < s.job_id and ${q.status} = 'succeeded' and ${namesRequester(q)}
      order by ${q.job_id} desc limit 1))`

/**
 * Only a job that succeeded gathers the results of other jobs since the previous one. A CFDI that was unknown at the end of the previous
 * job is new, whatever else has happened to it since.
 */
const countCfdi = (json: string): SQL => sql`with ${spansOf(json)},
  changes as (
    select s.n, c.value->>0 as what, c.value->>2 as count, c.value->>3 as first, c.value->>4 as last
    from spans s
    cross join ${syncJobs} ${k} on ${IS_BETWEEN}
    cross join json_each(${k.brought}) b
    cross join json_each(b.value) c
    where s.month <> '' and (${k.job_id} = s.job_id or (s.status = 'succeeded' and not (${k.status} = 'failed' and ${namesRequester(k)})))
      and c.value->>1 >= s.floor and c.value->>4 <= s.until and (c.value->>0 = 'created' or coalesce(c.value->>5, c.value->>4) <= s.known))
  select n, sum(iif(what = 'created', count, 0)) as created_count, sum(iif(what = 'updated', count, 0)) as updated_count,
    sum(iif(what = 'cancelled', count, 0)) as cancelled_count, min(first) as first_issued_at, max(last) as last_issued_at
  from changes group by n`

/**
 * The documents above its floor that the organization got between the creation of the first job after its previous one and that of the next
 * job. Documents are read only when a job since the previous one stored any, or the organization found one finished.
 */
const countDocuments = (json: string): SQL => sql`with ${spansOf(json)},
  times as materialized (
    select s.*,
      (select min(${k.created_at}) from ${syncJobs} ${k} where ${IS_BETWEEN}) as since,
      coalesce((select min(${k.created_at}) from ${syncJobs} ${k} where ${isOfCell(k)} and ${k.job_id} > s.job_id), 1e15) as before
    from spans s where s.month = '' and (s.previous = '' or exists (
      select 1 from ${syncJobs} ${k} where ${IS_BETWEEN} and (${k.created_count} > 0 or ${k.late} is not null))))
  select s.n, count(*) as created_count, 0 as updated_count, 0 as cancelled_count, null as first_issued_at, null as last_issued_at,
    json_group_array(${d.document_id}) as document_ids
  from (select distinct entity from times) e
  cross join ${documents} ${d} on ${d.entity} = e.entity
  cross join times s on s.entity = ${d.entity} and s.source = ${d.source} and coalesce(${d.period_end}, ${d.document_date}) >= s.floor
    and json_extract(${d.organizations}, '$.' || s.organization_id) between s.since and s.before - 1
  group by s.n`

/** Returns the counts of the jobs that brought anything, by their numbers. */
export async function readCounts(ledger: D1Database, asked: readonly AskedJob[]): Promise<Map<number, JobCounts>> {
  const counted = new Map<number, JobCounts>()
  const isOfDocuments = ({ month }: AskedJob): boolean => month === ''
  const statements = [
    ...statementsFor(
      countCfdi,
      asked.filter((job) => !isOfDocuments(job)),
    ),
    ...statementsFor(countDocuments, asked.filter(isOfDocuments)),
  ]
  if (statements.length === 0) return counted
  const results = await commit<JobCounts & { n: number }>(ledger, statements)
  for (const { n, ...counts } of results.flatMap(({ results: rows }) => rows)) counted.set(n, counts)
  return counted
}

const statementsFor = (count: (json: string) => SQL, asked: readonly AskedJob[]): SQL[] =>
  jsonChunks(
    asked.map(({ n, entity, source, month, job_id, organization_id, floor, until }) => [
      n,
      entity,
      source,
      month,
      job_id,
      organization_id,
      floor,
      until,
    ]),
  ).map(count)
