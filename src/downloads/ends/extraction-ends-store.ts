import type { Stretch } from '../../cfdi/mirrored/stretches.ts'

/** An extraction whose downloads were all withdrawn, by its number in the question. Times are milliseconds. */
export interface WithdrawnExtraction {
  n: number
  instant: number
  source: null
}

/** A job of an extraction, by the number of the extraction in the question. Times are milliseconds. */
export interface EndedJob {
  n: number
  instant: number
  source: string
  month: string
  job_id: string
  status: 'succeeded' | 'failed'
  error_class: string | null
  ended_at: number
}

interface MonthOfSource {
  n: number
  source: string
  month: string
}

const JOBS = 'cross join json_each(f.jobs) j cross join json_each(j.value) x cross join json_each(x.value) m'
/** The same, with one row for an extraction without jobs. */
const JOBS_OR_NONE = JOBS.replaceAll('cross join', 'left join')
const named = (name: string): string => `json_each(?1) a cross join extractions ${name}
  on ${name}.organization_id = a.value->>1 and ${name}.entity = a.value->>0 and ${name}.run_id = a.value->>2`

/**
 * Reads the jobs of extractions, with one row for an extraction that has none left, and the months of those of the same instant before them. A
 * job that is forgotten has succeeded.
 */
export async function readEndedExtractions(
  ledger: D1Database,
  asked: readonly { entity: number; organization_id: string; run_id: string }[],
): Promise<{ jobs: (EndedJob | WithdrawnExtraction)[]; earlier: MonthOfSource[] }> {
  const json = JSON.stringify(asked.map(({ entity, organization_id, run_id }) => [entity, organization_id, run_id]))
  const [jobs, earlier] = await ledger.batch([
    ledger
      .prepare(
        `select a.key as n, f.instant, x.key as source, m.value as month, j.key as job_id, coalesce(s.status, 'succeeded') as status, s.error_class,
           max(coalesce(s.finished_at, 0), f.requested_at) as ended_at
         from ${named('f')} ${JOBS_OR_NONE}
         left join sync_jobs s on s.entity = f.entity and s.source = x.key and s.month = m.value and s.job_id = j.key`,
      )
      .bind(json),
    ledger
      .prepare(
        `with recursive together(n, organization_id, entity, run_id, instant, jobs) as (
           select a.key, e.organization_id, e.entity, e.run_id, e.instant, null from ${named('e')}
           union all
           select p.n, b.organization_id, b.entity, b.run_id, b.instant, b.jobs from together p cross join extractions b
             on b.organization_id = p.organization_id and b.entity = p.entity and b.instant = p.instant and b.run_id = (
               select max(run_id) from extractions where organization_id = p.organization_id and entity = p.entity and run_id < p.run_id))
         select f.n, x.key as source, m.value as month from together f ${JOBS}`,
      )
      .bind(json),
  ])
  return { jobs: jobs!.results as (EndedJob | WithdrawnExtraction)[], earlier: earlier!.results as MonthOfSource[] }
}

/** Documents of a month that stretches show, by the number of their question. */
export interface ShownCount {
  n: number
  direction: 0 | 1
  month: string
  count: number
}

/** Counts what stretches show of the authority's documents, by month. One statement, none without stretches. */
export const countShown = async (
  ledger: D1Database,
  stretches: readonly (Stretch & { n: number; entity: number })[],
): Promise<ShownCount[]> =>
  stretches.length === 0
    ? []
    : (
        await ledger
          .prepare(
            `select t.value->>'n' as n, c.direction, substr(c.fecha, 1, 7) as month, count(*) as count
             from json_each(?1) t cross join cfdi c indexed by cfdi_dirc on c.entity = t.value->>'entity' and c.direction = t.value->>'direction'
               and c.cancelled in (0, 1) and c.issued_at between coalesce(t.value->>'since', 0) and coalesce(t.value->>'until', 1e12)
             where (t.value->>'floor' is null or c.fecha >= t.value->>'floor') and (t.value->>'before' is null or c.fecha < t.value->>'before')
             group by 1, 2, 3`,
          )
          .bind(JSON.stringify(stretches))
          .all<ShownCount>()
      ).results

/** Runs that are looked at to find out since when an RFC fails. */
const LAST_RUNS = 10

export interface LastRun {
  n: number
  requested_at: number
  has_failed: 0 | 1
}

/** Reads the last runs up to each of these extractions, newest first, and whether each has a job that failed. */
export const readLastRuns = async (
  ledger: D1Database,
  asked: readonly { entity: number; organization_id: string; run_id: string }[],
): Promise<LastRun[]> =>
  asked.length === 0
    ? []
    : (
        await ledger
          .prepare(
            `select a.key as n, f.requested_at, exists (
               select 1 from json_each(f.jobs) j cross join json_each(j.value) x cross join json_each(x.value) m
               cross join sync_jobs s on s.entity = f.entity and s.source = x.key and s.month = m.value and s.job_id = j.key
               where s.status = 'failed') as has_failed
             from json_each(?1) a cross join extractions f on f.organization_id = a.value->>1 and f.entity = a.value->>0 and f.run_id in (
               select run_id from extractions where organization_id = a.value->>1 and entity = a.value->>0 and run_id <= a.value->>2
               order by run_id desc limit ${LAST_RUNS})
             order by a.key, f.run_id desc`,
          )
          .bind(JSON.stringify(asked.map(({ entity, organization_id, run_id }) => [entity, organization_id, run_id])))
          .all<LastRun>()
      ).results
