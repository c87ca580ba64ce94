import { jsonChunks } from '../platform/db/commit.ts'
import { eventBody, eventId } from './store.ts'

/** A job that a run requests, with the identifier that it receives if no existing job serves. */
export interface RequestedJob {
  entity: number
  source: string
  /** `YYYY-MM`; empty for document sources. */
  month: string
  job_id: string
  /** The job is not claimed before this time, in milliseconds: its place in the spread. */
  not_before: number
  /** Whether the month is of a gap before the run's range. */
  is_gap: boolean
}

/** The run that requests jobs. */
export interface RequestingRun {
  organization_id: string
  run_id: string
  /** Milliseconds. */
  instant: number
  /** Milliseconds. */
  now: number
}

/**
 * The newest job `s` of a source and month serves the run when it is open, or succeeded after the run's instant ?3. It is joined instead of
 * repeated (decisions.md 5). One seek, however many jobs there are.
 */
const SERVES = `s.job_id = (select max(job_id) from sync_jobs where entity = s.entity and source = s.source and month = s.month)
  and (s.open = 1 or (s.status = 'succeeded' and max(coalesce(s.finished_at, 0), s.as_of) >= ?3))`
/** Attempts of the job `s` that the run does not share: those that ended in a wait or, of a job that is running or done, all but the last. */
const ATTEMPTS_BEFORE = `s.attempts - (s.status <> 'queued')`
/** Extractions kept per organization and entity: enough for the progress, and for the watermark to be among them. */
const KEPT_EXTRACTIONS = 60

/**
 * A queued job that may start earlier: it does not wait between attempts. Runs cover active connections only, so a job that waits for a
 * login may be tried.
 */
const MAY_START_EARLIER = `sync_jobs.status = 'queued' and (sync_jobs.error_class is null or sync_jobs.error_class = 'invalid_credentials')`

/** The job `s` has finished, serves the run of instant ?3, and does not name the organization ?2 yet. */
const FOUND_FINISHED = `s.open = 0 and ${SERVES} and not exists (select 1 from json_each(s.organizations) o where o.value = ?2)`

/** A run that finds a finished job joins it, and its organization receives the job's event once, like those that joined earlier. */
const joinFinished = (ledger: D1Database, requested: string, { organization_id, instant, now }: RequestingRun): D1PreparedStatement[] => [
  ledger
    .prepare(
      `insert into outbox (fact_id, kind, entity, organizations, body, created_at)
       select ${eventId("'sync.completed'")} || ':' || ?2, 'sync.completed', entity, json_array(?2), ${eventBody('null', '?4')}, ?4
       from json_each(?1) w cross join sync_jobs s on s.entity = w.value->>0 and s.source = w.value->>1 and s.month = w.value->>2
       where ${FOUND_FINISHED}
       on conflict do nothing`,
    )
    .bind(requested, organization_id, instant, now),
  ledger
    .prepare(
      `update sync_jobs set organizations = json_insert(organizations, '$[#]', ?2)
       where (entity, source, month, job_id) in (
         select s.entity, s.source, s.month, s.job_id
         from json_each(?1) w cross join sync_jobs s on s.entity = w.value->>0 and s.source = w.value->>1 and s.month = w.value->>2
         where ${FOUND_FINISHED})`,
    )
    .bind(requested, organization_id, instant),
]

/**
 * Returns the batch with which a run requests jobs of one ledger: it inserts the entities and the missing jobs, joins the existing ones, and
 * records the extraction. Repeating the batch changes nothing. The last result has a row `{entity, dispatched, gap_jobs}` per entity.
 */
export function requestStatements(
  ledger: D1Database,
  run: RequestingRun,
  entities: readonly { entity: number; rfc: string }[],
  requested: readonly RequestedJob[],
) {
  const { organization_id, run_id, instant, now } = run
  const rows = jsonChunks(requested.map(({ entity, source, month, job_id, not_before }) => [entity, source, month, job_id, not_before]))
  const insertEntities = ledger
    .prepare(`insert into entities (entity, rfc) select value->>0, value->>1 from json_each(?1) where true on conflict do nothing`)
    .bind(JSON.stringify(entities.map(({ entity, rfc }) => [entity, rfc])))
  const insertJobs = rows.map((json) =>
    ledger
      .prepare(
        `insert into sync_jobs (entity, source, month, job_id, run_id, organizations, open, status, as_of, not_before, attempts,
           created_at, created_count, updated_count, cancelled_count, rejected_count)
         select w.value->>0, w.value->>1, w.value->>2, w.value->>3, ?2, json_array(?4), 1, 'queued', ?3, w.value->>4, 0, ?5, 0, 0, 0, 0
         from json_each(?1) w
         where not exists (
           select 1 from sync_jobs s
           where s.entity = w.value->>0 and s.source = w.value->>1 and s.month = w.value->>2 and ${SERVES})
         on conflict do nothing`,
      )
      .bind(json, run_id, instant, organization_id, now),
  )
  const join = rows.map((json) =>
    ledger
      .prepare(
        `update sync_jobs set
           organizations = case when exists (select 1 from json_each(sync_jobs.organizations) o where o.value = ?2)
             then sync_jobs.organizations else json_insert(sync_jobs.organizations, '$[#]', ?2) end,
           not_before = case when ${MAY_START_EARLIER}
             then min(sync_jobs.not_before, w.not_before) else sync_jobs.not_before end,
           error_class = case when ${MAY_START_EARLIER} then null else sync_jobs.error_class end
         from (select value->>0 as entity, value->>1 as source, value->>2 as month, value->>4 as not_before from json_each(?1)) w
         where sync_jobs.entity = w.entity and sync_jobs.source = w.source and sync_jobs.month = w.month and sync_jobs.open = 1
           and (not exists (select 1 from json_each(sync_jobs.organizations) o where o.value = ?2)
             or (${MAY_START_EARLIER} and w.not_before < sync_jobs.not_before))`,
      )
      .bind(json, organization_id),
  )
  const joined = rows.flatMap((json) => joinFinished(ledger, json, run))
  const record = ledger
    .prepare(
      `with served as materialized (
         select s.entity, s.source, s.month, s.job_id, s.run_id = ?2 as made, w.value->>3 as is_gap, ${ATTEMPTS_BEFORE} as attempts_before
         from json_each(?1) w cross join sync_jobs s on s.entity = w.value->>0 and s.source = w.value->>1 and s.month = w.value->>2
         where ${SERVES}),
       attempted as materialized (select entity, job_id, attempts_before from served where attempts_before > 0)
       insert into extractions (organization_id, entity, run_id, instant, jobs, dispatched, gap_jobs, requested_at, attempts_before)
       select ?4, entity, ?2, ?3, json_group_object(source, json(months)), max(made), sum(gaps), ?5,
         (select json_group_object(a.job_id, a.attempts_before) from attempted a where a.entity = c.entity)
       from (
         select entity, source, json_group_object(month, job_id) as months, max(made and not is_gap) as made, sum(is_gap) as gaps
         from served group by entity, source
       ) c
       where true
       group by entity
       on conflict do nothing`,
    )
    .bind(
      JSON.stringify(requested.map(({ entity, source, month, is_gap }) => [entity, source, month, is_gap])),
      ...[run_id, instant, organization_id, now],
    )
  const outcome = ledger
    .prepare(
      `select e.entity, e.dispatched, e.gap_jobs from json_each(?1) b cross join extractions e
       on e.organization_id = ?2 and e.entity = b.value and e.run_id = ?3`,
    )
    .bind(JSON.stringify(entities.map(({ entity }) => entity)), organization_id, run_id)
  const prune = ledger
    .prepare(
      `delete from extractions where organization_id = ?2 and entity in (select value from json_each(?1)) and run_id < (
         select run_id from extractions k where k.organization_id = ?2 and k.entity = extractions.entity
         order by run_id desc limit 1 offset ${KEPT_EXTRACTIONS - 1})`,
    )
    .bind(JSON.stringify(entities.map(({ entity }) => entity)), organization_id)
  const share = shareDocuments(ledger, run, requested)
  return [insertEntities, ...insertJobs, ...join, ...joined, record, ...share, prune, outcome]
}

/** Shares the files of finished jobs with the organization: the newest of each name of their sources. */
function shareDocuments(
  ledger: D1Database,
  { organization_id, instant, now }: RequestingRun,
  requested: readonly RequestedJob[],
): D1PreparedStatement[] {
  const sources = requested.filter(({ month }) => month === '').map(({ entity, source }) => [entity, source])
  if (sources.length === 0) return []
  return [
    ledger
      .prepare(
        `update documents set organizations = json_set(documents.organizations, '$.' || ?2, ?4)
         from (
           select d.entity, max(d.document_id) as document_id
           from json_each(?1) w
           cross join sync_jobs s on s.entity = w.value->>0 and s.source = w.value->>1 and s.month = ''
           cross join documents d on d.entity = s.entity and d.source = s.source
           where s.open = 0 and ${SERVES}
           group by d.entity, d.source, d.name
         ) newest
         where documents.entity = newest.entity and documents.document_id = newest.document_id
           and json_extract(documents.organizations, '$.' || ?2) is null`,
      )
      .bind(JSON.stringify(sources), organization_id, instant, now),
  ]
}

/**
 * Selects the watermark of each entity and source: the instant of the organization's last extraction whose jobs for the source all succeeded,
 * in milliseconds, or null.
 */
export const watermarkStatement = (ledger: D1Database, organization_id: string, pairs: readonly [number, string][]) =>
  ledger
    .prepare(
      `select p.value->>0 as entity, p.value->>1 as source, (
         select e.instant from extractions e
         where e.organization_id = ?2 and e.entity = p.value->>0
           and json_extract(e.jobs, '$.' || (p.value->>1)) is not null
           and not exists (
             select 1 from json_each(e.jobs, '$.' || (p.value->>1)) j
             left join sync_jobs s on s.entity = e.entity and s.source = p.value->>1 and s.month = j.key and s.job_id = j.value
             where s.status is not 'succeeded')
         order by e.run_id desc limit 1
       ) as instant
       from json_each(?1) p`,
    )
    .bind(JSON.stringify(pairs), organization_id)
