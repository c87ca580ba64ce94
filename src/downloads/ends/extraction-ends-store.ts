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
  /** The instant of the run that created the job; null when it is forgotten. */
  as_of: number | null
  source: string
  month: string
  job_id: string
  status: 'succeeded' | 'failed'
  error_class: string | null
  ended_at: number
}

export interface MonthOfSource {
  n: number
  source: string
  month: string
}

const JOBS = 'cross join json_each(f.jobs) j cross join json_each(j.value) x cross join json_each(x.value) m'
/** The same, with one row for an extraction without jobs. */
const JOBS_OR_NONE = JOBS.replaceAll('cross join', 'left join')
const named = (name: string): string => `json_each(?1) a cross join extractions ${name}
  on ${name}.organization_id = a.value->>1 and ${name}.entity = a.value->>0 and ${name}.run_id = a.value->>2`

/** Those extractions, and the earlier or the later ones of the same instant, as `together`. */
const togetherWith = (direction: 'earlier' | 'later'): string => {
  const [next, beyond] = direction === 'earlier' ? ['max', '<'] : ['min', '>']
  return `with recursive together(n, organization_id, entity, run_id, instant, jobs) as (
    select a.key, e.organization_id, e.entity, e.run_id, e.instant, null from ${named('e')}
    union all
    select p.n, b.organization_id, b.entity, b.run_id, b.instant, b.jobs from together p cross join extractions b
      on b.organization_id = p.organization_id and b.entity = p.entity and b.instant = p.instant and b.run_id = (
        select ${next}(run_id) from extractions where organization_id = p.organization_id and entity = p.entity and run_id ${beyond} p.run_id))
  select f.n, x.key as source, m.value as month from together f ${JOBS}`
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
): Promise<{ jobs: (EndedJob | WithdrawnExtraction)[]; earlier: MonthOfSource[] }> {
  const json = namesOf(asked)
  const [jobs, earlier] = await ledger.batch([
    ledger
      .prepare(
        `select a.key as n, f.instant, s.as_of, x.key as source, m.value as month, j.key as job_id, coalesce(s.status, 'succeeded') as status, s.error_class,
           max(coalesce(s.finished_at, 0), f.requested_at) as ended_at
         from ${named('f')} ${JOBS_OR_NONE}
         left join sync_jobs s on s.entity = f.entity and s.source = x.key and s.month = m.value and s.job_id = j.key`,
      )
      .bind(json),
    ledger.prepare(togetherWith('earlier')).bind(json),
  ])
  return { jobs: jobs!.results as (EndedJob | WithdrawnExtraction)[], earlier: earlier!.results as MonthOfSource[] }
}

/** Reads the months of the extractions of the same instants after these. One statement. */
export const readLater = async (ledger: D1Database, asked: readonly NamedExtraction[]): Promise<MonthOfSource[]> =>
  (await ledger.prepare(togetherWith('later')).bind(namesOf(asked)).all<MonthOfSource>()).results

/** Earlier extractions that are looked at. One that has an open job in common with a later one is among the last. */
const JOINED_WITH = 10

/** Reads which of these jobs an earlier extraction of the same connection has too. One statement, none without jobs. */
export const readCountedBefore = async (
  ledger: D1Database,
  jobs: readonly (NamedExtraction & { n: number; source: string; month: string; job_id: string })[],
): Promise<MonthOfSource[]> =>
  jobs.length === 0
    ? []
    : (
        await ledger
          .prepare(
            `select a.value->>3 as n, a.value->>4 as source, a.value->>5 as month from json_each(?1) a where exists (
               select 1 from (
                 select jobs from extractions where organization_id = a.value->>1 and entity = a.value->>0 and run_id < a.value->>2
                 order by run_id desc limit ${JOINED_WITH}) e
               cross join json_each(e.jobs, '$."' || (a.value->>6) || '"."' || (a.value->>4) || '"') m where m.value = a.value->>5)`,
          )
          .bind(
            JSON.stringify(
              jobs.map(({ entity, organization_id, run_id, n, source, month, job_id }) => [
                ...[entity, organization_id, run_id, n, source, month, job_id],
              ]),
            ),
          )
          .all<MonthOfSource>()
      ).results

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

/** What the lower floor of a run newly shows, from a day, null without a bound, to the one before a day. */
export interface LowerFloor extends NamedExtraction {
  n: number
  floor: string | null
  before: string
}

/**
 * Counts the documents that are not CFDIs of lower floors, by source: those that the organization has got with what this run and earlier ones
 * asked for. One statement, none without questions.
 */
export const countShownDocuments = async (
  ledger: D1Database,
  asked: readonly LowerFloor[],
): Promise<{ n: number; source: string; count: number }[]> =>
  asked.length === 0
    ? []
    : (
        await ledger
          .prepare(
            `with asked as materialized (
               select value->>0 as n, value->>1 as entity, value->>2 as organization_id, value->>3 as run_id, coalesce(value->>4, '') as floor, value->>5 as before
               from json_each(?1)),
             got as materialized (
               select a.n, x.key as source, max(e.requested_at, coalesce(s.finished_at, 0)) as until
               from asked a cross join extractions e on e.organization_id = a.organization_id and e.entity = a.entity and e.run_id in (
                 select run_id from extractions where organization_id = a.organization_id and entity = a.entity and run_id <= a.run_id
                 order by run_id desc limit ${JOINED_WITH})
               cross join json_each(e.jobs) j cross join json_each(j.value) x
               left join sync_jobs s on s.entity = e.entity and s.source = x.key and s.month = '' and s.job_id = j.key)
             select a.n, d.source, count(*) as count from asked a cross join documents d on d.entity = a.entity
             where coalesce(d.period_end, d.document_date) >= a.floor and coalesce(d.period_end, d.document_date) < a.before
               and json_extract(d.organizations, '$.' || a.organization_id) <= max(
                 (select requested_at from extractions e where e.organization_id = a.organization_id and e.entity = a.entity and e.run_id = a.run_id),
                 coalesce((select max(until) from got where got.n = a.n and got.source = d.source), 0))
             group by 1, 2`,
          )
          .bind(
            JSON.stringify(
              asked.map(({ n, entity, organization_id, run_id, floor, before }) => [n, entity, organization_id, run_id, floor, before]),
            ),
          )
          .all<{ n: number; source: string; count: number }>()
      ).results

/** Runs that are looked at to find out since when an RFC fails. */
const LAST_RUNS = 10

export interface LastRun {
  n: number
  requested_at: number
  has_failed: 0 | 1
}

/** Reads the last runs up to each of these extractions, newest first, and whether each has a job that failed. */
export const readLastRuns = async (ledger: D1Database, asked: readonly NamedExtraction[]): Promise<LastRun[]> =>
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
          .bind(namesOf(asked))
          .all<LastRun>()
      ).results
