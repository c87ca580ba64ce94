import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { VisibleRange } from '../../cfdi/mirrored/visible-ranges.ts'
import { cfdi, cfdiCommits } from '../../cfdi/tables.ts'
import { documents } from '../../documents/tables.ts'
import { commit, jsonChunks } from '../../platform/db/commit.ts'
import { readRows } from '../../platform/db/statement.ts'
import { IS_BETWEEN, isOfCell, namesRequester } from '../counts/counts-store.ts'
import { ASKED_FOR, isJob } from '../jobs/key.ts'
import { extractions, syncJobs } from '../jobs/tables.ts'

/** A job of CFDIs that an extraction asked for, to count what it brought to its organization. */
export interface AskedCell {
  /** Its number in the question. */
  n: number
  entity: number
  source: string
  month: string
  job_id: string
  organization_id: string
  /** Days and seconds between which the organization may read since the run, and before it; null for nothing. */
  now: readonly [floor: string | null, until: number | null] | null
  before: readonly [floor: string | null, until: number | null] | null
}

/**
 * The results of jobs since the organization's previous one of the month, and when that one was created and ended, in milliseconds, if it
 * exists.
 */
export interface BroughtSince {
  n: number
  /** Empty without one. */
  previous: string
  previous_as_of: number | null
  previous_end: number | null
  /** When that one ended, and when the job itself did, by the clock of commits; the clock of a run can be ahead of it in trials. */
  previous_finished: number | null
  finished_at: number
  created_count: number
  updated_count: number
  cancelled_count: number
}

const [j, k, p, q] = [alias(syncJobs, 'j'), alias(syncJobs, 'k'), alias(syncJobs, 'p'), alias(syncJobs, 'q')]
const [c, made] = [alias(cfdi, 'c'), alias(cfdiCommits, 'k')]

/** Adds up the changes of documents that the organization could read before, and knew. */
const sumBefore = (what: SQL): SQL => sql`sum(iif(c.value->>0 = ${what} and c.value->>1 >= s.floor_before
  and c.value->>4 <= s.until_before and coalesce(c.value->>5, c.value->>4) <= s.known, c.value->>2, 0))`

/** The last job that ended before, successful or not, is the previous one: a failed job has brought the documents that it stored. */
const broughtSince = (json: string): SQL => sql`with asked as materialized (
    select value->>0 as n, value->>1 as entity, value->>2 as source, value->>3 as month, value->>4 as job_id, value->>5 as organization_id,
      value->>6 as floor, value->>7 as until, value->>8 as floor_before, value->>9 as until_before
    from json_each(${json})),
  spans as materialized (
    select s.*, ${j.finished_at}, coalesce(${p.job_id}, '') as previous, ${p.as_of} as previous_as_of, ${p.finished_at} as previous_finished,
      max(${p.finished_at}, ${p.as_of}) as previous_end,
      case ${p.status} when 'succeeded' then max(${p.finished_at}, ${p.as_of}) when 'failed' then (
        select max(${q.finished_at}, ${q.as_of}) from ${syncJobs} ${q}
        where ${isOfCell(q)} and ${q.job_id} < s.job_id and ${q.status} = 'succeeded' and ${namesRequester(q)}
        order by ${q.job_id} desc limit 1) end / 1000 as known
    from asked s
    cross join ${syncJobs} ${j} on ${isOfCell(j)} and ${j.job_id} = s.job_id
    left join ${syncJobs} ${p} on ${isOfCell(p)} and ${p.job_id} = (
      select ${q.job_id} from ${syncJobs} ${q} where ${isOfCell(q)} and ${q.job_id} < s.job_id and ${namesRequester(q)}
      order by ${q.job_id} desc limit 1))
  select s.n, s.previous, s.previous_as_of, s.previous_end, s.previous_finished, s.finished_at,
    sum(iif(c.value->>0 = 'created' and c.value->>1 >= s.floor and c.value->>4 <= s.until, c.value->>2, 0)) as created_count,
    ${sumBefore(sql`'updated'`)} as updated_count, ${sumBefore(sql`'cancelled'`)} as cancelled_count
  from spans s
  cross join ${syncJobs} ${k} on ${IS_BETWEEN}
  left join json_each(${k.brought}) b
  left join json_each(b.value) c
  group by s.n`

const NO_DAY = '~'
const bounds = (window: AskedCell['now']) => (window === null ? [NO_DAY, 0] : [window[0] ?? '', window[1] ?? 1e12])

/** Reads the results of jobs. One statement for up to 10,000 jobs, none without. A job that is forgotten is not in the answer. */
export const readBroughtSince = async (ledger: D1Database, asked: readonly AskedCell[]): Promise<BroughtSince[]> => {
  if (asked.length === 0) return []
  const rows = asked.map(({ n, entity, source, month, job_id, organization_id, now, before }) => [
    ...[n, entity, source, month, job_id, organization_id],
    ...bounds(now),
    ...bounds(before),
  ])
  const results = await commit<BroughtSince>(
    ledger,
    jsonChunks(rows).map((json) => broughtSince(json)),
  )
  return results.flatMap((it) => it.results)
}

/** Documents of a month that a visible range shows and one commit stored, by the number of their question. */
export interface StoredCount {
  question: number
  direction: 0 | 1
  month: string
  count: number
  /** When the commit was made, in milliseconds; for a forgotten commit, when the oldest kept one was. */
  stored_at: number
  isForgotten: boolean
}

/** Counts the authority's documents that visible ranges show, by month and commit. One statement, none without them. */
export const countStored = async (
  ledger: D1Database,
  visibleRanges: readonly (VisibleRange & { entity: number })[],
): Promise<StoredCount[]> => {
  if (visibleRanges.length === 0) return []
  const results = await readRows(
    ledger,
    sql<Omit<StoredCount, 'stored_at' | 'isForgotten'> & { stored: number }>`select question, direction, month, count, coalesce(
       (select ${made.committed_at} from ${cfdiCommits} ${made} where ${made.entity} = s.entity and ${made.sequence} = s.stored_by),
       (select -${made.committed_at} from ${cfdiCommits} ${made} where ${made.entity} = s.entity order by ${made.sequence} limit 1), 0) as stored
     from (
       select t.key as question, ${c.entity}, ${c.direction}, substr(${c.fecha}, 1, 7) as month, ${c.stored_by}, count(*) as count
       from json_each(${JSON.stringify(visibleRanges)}) t cross join ${cfdi} ${c} indexed by cfdi_dirc
         on ${c.entity} = t.value->>'entity' and ${c.direction} = t.value->>'direction' and ${c.cancelled} in (0, 1) and ${c.issued_at} between coalesce(t.value->>'since', 0) and coalesce(t.value->>'until', 1e12)
       where (t.value->>'floor' is null or ${c.fecha} >= t.value->>'floor') and (t.value->>'before' is null or ${c.fecha} < t.value->>'before')
       group by 1, 2, 3, 4, 5) s`,
  )
  return results.map(({ stored, ...it }) => ({ ...it, stored_at: Math.abs(stored), isForgotten: stored <= 0 }))
}

/** An extraction whose downloads were all withdrawn, by its number in the question. Times are milliseconds. */
export interface WithdrawnExtraction {
  n: number
  instant: number
  requested_at: number
  source: null
}

/** A job of an extraction, by the number of the extraction in the question. Times are milliseconds. */
export interface EndedJob {
  n: number
  instant: number
  requested_at: number
  /** The instant of the run that created the job; null when it is forgotten. */
  as_of: number | null
  source: string
  month: string
  job_id: string
  status: 'succeeded' | 'failed'
  error_class: string | null
  ended_at: number
}

/** A job of an earlier extraction of the same instant; null of all when it has none left. */
export interface TogetherJob {
  n: number
  source: string | null
  month: string | null
  job_id: string | null
}

const [s, b, e, f] = [alias(syncJobs, 's'), alias(extractions, 'b'), alias(extractions, 'e'), alias(extractions, 'f')]
const d = alias(documents, 'd')

/** The jobs of an extraction, with one row for one without jobs. */
const jobsOrNone = (jobs: SQLWrapper): SQL =>
  sql`left join json_each(${jobs}) j left join json_each(j.value) x left join json_each(x.value) m`
const isOf = (extraction: typeof b | typeof e | typeof f, entity: SQL, organization_id: SQL): SQL =>
  sql`${extraction.organization_id} = ${organization_id} and ${extraction.entity} = ${entity}`
/** The condition that an extraction is of the RFC and organization of the entry `a`. */
const isOfEntry = (extraction: typeof e | typeof f): SQL => isOf(extraction, sql`a.value->>0`, sql`a.value->>1`)
/** The extractions of a JSON list. */
const named = (json: string, extraction: typeof e | typeof f): SQL =>
  sql`json_each(${json}) a cross join ${extractions} ${extraction} on ${isOfEntry(extraction)} and ${extraction.run_id} = a.value->>2`

/** The jobs of the extractions of the same instant before or after those, with one row for one that has none left. */
const togetherWith = (direction: 'earlier' | 'later', json: string): SQL => {
  const [next, beyond] = direction === 'earlier' ? [sql`max`, sql`<`] : [sql`min`, sql`>`]
  const [entity, organization_id] = [sql`p.entity`, sql`p.organization_id`]
  return sql`with recursive together(n, organization_id, entity, run_id, instant, jobs) as (
    select a.key, ${e.organization_id}, ${e.entity}, ${e.run_id}, ${e.instant}, null from ${named(json, e)}
    union all
    select p.n, ${b.organization_id}, ${b.entity}, ${b.run_id}, ${b.instant}, ${b.jobs} from together p cross join ${extractions} ${b}
      on ${isOf(b, entity, organization_id)} and ${b.instant} = p.instant and ${b.run_id} = (
        select ${next}(${e.run_id}) from ${extractions} ${e} where ${isOf(e, entity, organization_id)} and ${e.run_id} ${beyond} p.run_id))
  select f.n, x.key as source, m.value as month, j.key as job_id from together f ${jobsOrNone(sql`f.jobs`)} where f.jobs is not null`
}

interface NamedExtraction {
  entity: number
  organization_id: string
  run_id: string
}

const namesOf = (asked: readonly NamedExtraction[]): string =>
  JSON.stringify(asked.map(({ entity, organization_id, run_id }) => [entity, organization_id, run_id]))

/**
 * Reads the jobs of extractions, with one row for an extraction that has none left, and the months of those of the same instant before them. A
 * job that is forgotten has succeeded.
 */
export async function readEndedExtractions(
  ledger: D1Database,
  asked: readonly NamedExtraction[],
): Promise<{ jobs: (EndedJob | WithdrawnExtraction)[]; earlier: TogetherJob[] }> {
  const json = namesOf(asked)
  const [jobs, earlier] = await commit<unknown>(ledger, [
    sql`select a.key as n, ${f.instant}, ${f.requested_at}, ${s.as_of}, x.key as source, m.value as month, j.key as job_id,
            coalesce(${s.status}, 'succeeded') as status, ${s.error_class}, max(coalesce(${s.finished_at}, 0), ${f.requested_at}) as ended_at
          from ${named(json, f)} ${jobsOrNone(f.jobs)} left join ${syncJobs} ${s} on ${isJob(s, f.entity, ASKED_FOR)}`,
    togetherWith('earlier', json),
  ])
  return { jobs: jobs!.results as (EndedJob | WithdrawnExtraction)[], earlier: earlier!.results as TogetherJob[] }
}

/** Reads the months of the extractions of the same instants after these. One statement. */
export const readLater = (ledger: D1Database, asked: readonly NamedExtraction[]): Promise<TogetherJob[]> =>
  readRows<TogetherJob>(ledger, togetherWith('later', namesOf(asked)))

/** Reads the instants of the last extractions before these that asked for these jobs too, by the numbers of the jobs. One statement, none without jobs. */
export const readAskedBefore = async (
  ledger: D1Database,
  jobs: readonly (NamedExtraction & { instant: number; source: string; month: string; job_id: string })[],
): Promise<Map<number, number>> => {
  if (jobs.length === 0) return new Map()
  const json = JSON.stringify(
    jobs.map(({ entity, organization_id, run_id, instant, source, month, job_id }) => [
      ...[entity, organization_id, run_id, instant, source, month, job_id],
    ]),
  )
  const statement = sql`select key, instant from (
          select a.key, (
            select max(${f.instant}) from ${extractions} ${f}
            cross join json_each(${f.jobs}, '$."' || (a.value->>6) || '"."' || (a.value->>4) || '"') m
            where ${isOfEntry(f)} and (${f.instant}, ${f.run_id}) < (a.value->>3, a.value->>2) and m.value = a.value->>5) as instant
          from json_each(${json}) a)
        where instant is not null`
  const rows = await readRows<{ key: number; instant: number }>(ledger, statement)
  return new Map(rows.map(({ key, instant }) => [key, instant]))
}

/** The days that the lower floor of a run newly shows: from one, null without a bound, to the day before another. */
export interface LowerFloor extends NamedExtraction {
  n: number
  floor: string | null
  before: string
}

/**
 * Counts the documents that lower floors show and that are not CFDIs, by source: those that the organization got with jobs of this run and
 * earlier ones. One statement, none without questions.
 */
export const countShownDocuments = async (
  ledger: D1Database,
  asked: readonly LowerFloor[],
): Promise<{ n: number; source: string; count: number }[]> => {
  if (asked.length === 0) return []
  const json = JSON.stringify(
    asked.map(({ n, entity, organization_id, run_id, floor, before }) => [n, entity, organization_id, run_id, floor, before]),
  )
  const [entity, organization_id] = [sql`a.entity`, sql`a.organization_id`]
  return readRows(
    ledger,
    sql<{ n: number; source: string; count: number }>`with asked as materialized (
          select value->>0 as n, value->>1 as entity, value->>2 as organization_id, value->>3 as run_id, coalesce(value->>4, '') as floor,
            value->>5 as before
          from json_each(${json})),
        got as materialized (
          select a.n, x.key as source, max(${e.requested_at}, coalesce(${s.finished_at}, 0)) as until
          from asked a cross join ${extractions} ${b} on ${isOf(b, entity, organization_id)} and ${b.run_id} = a.run_id
          cross join ${extractions} ${e} on ${isOf(e, entity, organization_id)} and (${e.instant}, ${e.run_id}) <= (${b.instant}, ${b.run_id})
          cross join json_each(${e.jobs}) j cross join json_each(j.value) x
          left join ${syncJobs} ${s} on ${isJob(s, e.entity, [sql`x.key`, sql`''`, sql`j.key`])})
        select a.n, ${d.source}, count(*) as count from asked a cross join ${documents} ${d} on ${d.entity} = a.entity
        where coalesce(${d.period_end}, ${d.document_date}) >= a.floor and coalesce(${d.period_end}, ${d.document_date}) < a.before
          and json_extract(${d.organizations}, '$.' || a.organization_id) <= max(
            (select ${e.requested_at} from ${extractions} ${e} where ${isOf(e, entity, organization_id)} and ${e.run_id} = a.run_id),
            coalesce((select max(until) from got where got.n = a.n and got.source = ${d.source}), 0))
        group by 1, 2`,
  )
}

/** Runs that are looked at to find out since when an RFC fails. */
const LAST_RUNS = sql`10`

export interface LastRun {
  n: number
  requested_at: number
  has_failed: 0 | 1
}

/** Reads the last runs up to each of these extractions, newest first, and whether each has a job that failed. */
export const readLastRuns = async (ledger: D1Database, asked: readonly NamedExtraction[]): Promise<LastRun[]> => {
  if (asked.length === 0) return []
  return readRows(
    ledger,
    sql<LastRun>`select a.key as n, ${f.requested_at}, exists (
          select 1 from json_each(${f.jobs}) j cross join json_each(j.value) x cross join json_each(x.value) m
          cross join ${syncJobs} ${s} on ${isJob(s, f.entity, ASKED_FOR)} where ${s.status} = 'failed') as has_failed
        from json_each(${namesOf(asked)}) a cross join ${extractions} ${f} on ${isOfEntry(f)} and ${f.run_id} in (
          select ${e.run_id} from ${extractions} ${e} where ${isOfEntry(e)} and ${e.run_id} <= a.value->>2
          order by ${e.run_id} desc limit ${LAST_RUNS})
        order by a.key, ${f.run_id} desc`,
  )
}
