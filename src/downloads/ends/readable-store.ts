import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { Stretch } from '../../cfdi/mirrored/stretches.ts'
import { cfdi, cfdiCommits } from '../../cfdi/tables.ts'
import { jsonChunks } from '../../platform/db/commit.ts'
import { prepared } from '../../platform/db/statement.ts'
import { IS_BETWEEN, isOfCell, namesAsker } from '../counts/counts-store.ts'
import { syncJobs } from '../jobs/tables.ts'

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

/** What jobs brought since the organization's previous one of the month, and when that was created and ended, in milliseconds, if there is one. */
export interface BroughtSince {
  n: number
  /** Empty without one. */
  previous: string
  previous_as_of: number | null
  previous_end: number | null
  /** When that one ended, and when the job itself did, by the clock by which commits are dated: that of a run can be ahead of it in trials. */
  previous_finished: number | null
  finished_at: number
  created_count: number
  updated_count: number
  cancelled_count: number
}

const [j, k, p, q] = [alias(syncJobs, 'j'), alias(syncJobs, 'k'), alias(syncJobs, 'p'), alias(syncJobs, 'q')]
const [c, commit] = [alias(cfdi, 'c'), alias(cfdiCommits, 'k')]

/** Adds up what happened to documents that the organization could read before, and knew. */
const sumBefore = (what: SQL): SQL => sql`sum(iif(c.value->>0 = ${what} and c.value->>1 >= s.floor_before
  and c.value->>4 <= s.until_before and coalesce(c.value->>5, c.value->>4) <= s.known, c.value->>2, 0))`

/** The last job that ended before, whether it succeeded or not, is the previous one: what failed has brought what it stored. */
const broughtSince = (json: string): SQL => sql`with asked as materialized (
    select value->>0 as n, value->>1 as entity, value->>2 as source, value->>3 as month, value->>4 as job_id, value->>5 as organization_id,
      value->>6 as floor, value->>7 as until, value->>8 as floor_before, value->>9 as until_before
    from json_each(${json})),
  spans as materialized (
    select s.*, ${j.finished_at}, coalesce(${p.job_id}, '') as previous, ${p.as_of} as previous_as_of, ${p.finished_at} as previous_finished,
      max(${p.finished_at}, ${p.as_of}) as previous_end,
      case ${p.status} when 'succeeded' then max(${p.finished_at}, ${p.as_of}) when 'failed' then (
        select max(${q.finished_at}, ${q.as_of}) from ${syncJobs} ${q}
        where ${isOfCell(q)} and ${q.job_id} < s.job_id and ${q.status} = 'succeeded' and ${namesAsker(q)}
        order by ${q.job_id} desc limit 1) end / 1000 as known
    from asked s
    cross join ${syncJobs} ${j} on ${isOfCell(j)} and ${j.job_id} = s.job_id
    left join ${syncJobs} ${p} on ${isOfCell(p)} and ${p.job_id} = (
      select ${q.job_id} from ${syncJobs} ${q} where ${isOfCell(q)} and ${q.job_id} < s.job_id and ${namesAsker(q)}
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

/** Reads what jobs brought. One statement for up to 10,000 jobs, none without. A job that is forgotten is not in the answer. */
export const readBroughtSince = async (ledger: D1Database, asked: readonly AskedCell[]): Promise<BroughtSince[]> => {
  if (asked.length === 0) return []
  const rows = asked.map(({ n, entity, source, month, job_id, organization_id, now, before }) => [
    ...[n, entity, source, month, job_id, organization_id],
    ...bounds(now),
    ...bounds(before),
  ])
  const results = await ledger.batch<BroughtSince>(jsonChunks(rows).map((json) => prepared(ledger, broughtSince(json))))
  return results.flatMap((it) => it.results)
}

/** Documents of a month that a stretch shows and one commit stored, by the number of their question. */
export interface StoredCount {
  question: number
  direction: 0 | 1
  month: string
  count: number
  /** When the commit was, in milliseconds; when the oldest one was that is not forgotten, if that is later. */
  stored_at: number
  isForgotten: boolean
}

/** Counts what stretches show of the authority's documents, by month and commit. One statement, none without stretches. */
export const countStored = async (ledger: D1Database, stretches: readonly (Stretch & { entity: number })[]): Promise<StoredCount[]> => {
  if (stretches.length === 0) return []
  const statement = prepared(
    ledger,
    sql`select question, direction, month, count, coalesce(
       (select ${commit.committed_at} from ${cfdiCommits} ${commit} where ${commit.entity} = s.entity and ${commit.sequence} = s.stored_by),
       (select -${commit.committed_at} from ${cfdiCommits} ${commit} where ${commit.entity} = s.entity order by ${commit.sequence} limit 1), 0) as stored
     from (
       select t.key as question, ${c.entity}, ${c.direction}, substr(${c.fecha}, 1, 7) as month, ${c.stored_by}, count(*) as count
       from json_each(${JSON.stringify(stretches)}) t cross join ${cfdi} ${c} indexed by cfdi_dirc
         on ${c.entity} = t.value->>'entity' and ${c.direction} = t.value->>'direction' and ${c.cancelled} in (0, 1) and ${c.issued_at} between coalesce(t.value->>'since', 0) and coalesce(t.value->>'until', 1e12)
       where (t.value->>'floor' is null or ${c.fecha} >= t.value->>'floor') and (t.value->>'before' is null or ${c.fecha} < t.value->>'before')
       group by 1, 2, 3, 4, 5) s`,
  )
  const { results } = await statement.all<Omit<StoredCount, 'stored_at' | 'isForgotten'> & { stored: number }>()
  return results.map(({ stored, ...it }) => ({ ...it, stored_at: Math.abs(stored), isForgotten: stored <= 0 }))
}
