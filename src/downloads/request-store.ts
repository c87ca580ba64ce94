import { MAILBOX_SOURCE } from '../mailbox/keep.ts'
import { tellStatements } from '../mailbox/told.ts'
import { jsonChunks } from '../platform/db/commit.ts'
import { askersOf } from '../visibility/askers.ts'
import { ENDED_JOBS, RUN_ENTRY, united } from './lease-store.ts'

/** A job that a run requests, with the identifier that it receives if no existing job serves. The jobs of an RFC have the same one. */
export interface RequestedJob {
  entity: number
  source: string
  /** `YYYY-MM`; empty for document sources. */
  month: string
  job_id: string
  /** The job is not run before this time, in milliseconds: its place in the spread. */
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
  /** Whether somebody may wait for its jobs. */
  is_awaited: boolean
  /** Whether it is of a range that was asked for, and of no extractor. */
  is_range?: boolean
}

/** The identifier of the newest job of the requested source and month `w`. One seek, however many jobs there are. */
const NEWEST = `(select max(job_id) from sync_jobs where entity = w.value->>0 and source = w.value->>1 and month = w.value->>2)`
/** The requested sources and months `w` of the JSON list ?1, each with its newest job `s`. */
const REQUESTED = `json_each(?1) w
  cross join sync_jobs s on s.entity = w.value->>0 and s.source = w.value->>1 and s.month = w.value->>2 and s.job_id = ${NEWEST}`
/** The newest job serves the run when it is open, or succeeded after the run's instant ?3. It is joined instead of repeated (decisions.md 5). */
const SERVES = `(s.open = 1 or (s.status = 'succeeded' and max(coalesce(s.finished_at, 0), s.as_of) >= ?3))`
/** Attempts of the job `s` that the run does not share: those that ended in a wait or, of a job that is running or done, all but the last. */
const ATTEMPTS_BEFORE = `s.attempts - (s.status <> 'queued')`
/** Extractions kept per organization and entity: enough for the progress, and for the watermark to be among them. Each takes the place of one. */
const KEPT_EXTRACTIONS = 60

const IS_NAMED = `exists (select 1 from json_each(${askersOf('sync_jobs')}) o where o.value = ?2)`

/**
 * A queued job that may start earlier. An organization that joins it does not wait for what it knows nothing of, and its own job does not wait
 * between attempts. Runs cover active connections only, so a job that waits for a login may be tried.
 */
const MAY_START_EARLIER = `(sync_jobs.error_class is null or sync_jobs.error_class = 'invalid_credentials' or not ${IS_NAMED})`

/** The job `s` has finished, serves the run of instant ?3, and does not name the organization ?2 yet. */
const FOUND_FINISHED = `s.open = 0 and ${SERVES} and not exists (select 1 from json_each(${askersOf('s')}) o where o.value = ?2)`

/** A run that finds a finished job joins it, and its organization receives the job's event once, like those that joined earlier. */
const joinFinished = (ledger: D1Database, requested: string, { organization_id, instant, now }: RequestingRun): D1PreparedStatement[] => [
  ledger
    .prepare(
      `insert into outbox (entity, fact_id, kind, organizations, body, created_at)
       select s.entity, '${ENDED_JOBS}:' || ?2, '${ENDED_JOBS}', json_array(?2), json_group_array(json_array(s.source, s.month, s.job_id)), ?4
       from ${REQUESTED} where ${FOUND_FINISHED} group by s.entity
       on conflict do update set body = ${united('outbox.body')}, created_at = excluded.created_at`,
    )
    .bind(requested, organization_id, instant, now),
  ledger
    .prepare(
      `update sync_jobs set organizations = json_insert(${askersOf('sync_jobs')}, '$[#]', ?2), late = json_insert(coalesce(late, '[]'), '$[#]', ?2)
       where (entity, source, month, job_id) in (select s.entity, s.source, s.month, s.job_id from ${REQUESTED} where ${FOUND_FINISHED})`,
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
  const { organization_id, run_id, instant, now, is_awaited } = run
  const rows = jsonChunks(requested.map(({ entity, source, month, job_id, not_before }) => [entity, source, month, job_id, not_before]))
  const insertEntities = ledger
    .prepare(
      `insert into entities (entity, rfc, organization_id) select value->>0, value->>1, ?2 from json_each(?1) where true
       on conflict do update set organization_id = excluded.organization_id where organization_id is null`,
    )
    .bind(JSON.stringify(entities.map(({ entity, rfc }) => [entity, rfc])), organization_id)
  const insertJobs = rows.map((json) =>
    ledger
      .prepare(
        // A clock that is behind makes no job older than the one before.
        `insert into sync_jobs (entity, source, month, job_id, organizations, open, as_of, not_before, attempts, created_after,
           created_count, updated_count, cancelled_count, rejected_count)
         select w.value->>0, w.value->>1, w.value->>2, max(w.value->>3, coalesce(s.job_id || '0', '')),
           (select json_array(?2) from entities e where e.entity = w.value->>0 and e.organization_id <> ?2), 1, ?3,
           w.value->>4, 0, ?4 - ?3, 0, 0, 0, 0
         from ${REQUESTED.replace('cross', 'left')} where s.job_id is null or not ${SERVES}`,
      )
      .bind(json, organization_id, instant, now),
  )
  const join = rows.map((json) =>
    ledger
      .prepare(
        `update sync_jobs set
           organizations = case when ${IS_NAMED} then organizations else json_insert(${askersOf('sync_jobs')}, '$[#]', ?2) end,
           not_before = case when ${MAY_START_EARLIER} then min(sync_jobs.not_before, r.not_before) else sync_jobs.not_before end,
           error_class = nullif(error_class, 'invalid_credentials')
         from (
           select value->>0 as entity, value->>1 as source, value->>2 as month, value->>4 as not_before, ${NEWEST} as job_id
           from json_each(?1) w) r
         where sync_jobs.entity = r.entity and sync_jobs.source = r.source and sync_jobs.month = r.month and sync_jobs.job_id = r.job_id
           and open = 1 and (not ${IS_NAMED} or (${MAY_START_EARLIER} and r.not_before < sync_jobs.not_before))`,
      )
      .bind(json, organization_id),
  )
  const leave = rows.map((json) =>
    ledger
      .prepare(
        `insert into sync_work (entity, jobs, runs, due_at, is_awaited)
         select s.entity, json_group_array(json_array(s.source, s.month, s.job_id)), json_array(json_array(?3, ?4)), min(s.not_before), ?2
         from ${REQUESTED} where s.open = 1 group by s.entity
         on conflict do update set jobs = ${united('sync_work.jobs')}, runs = ${united('sync_work.runs')}, due_at = min(due_at, excluded.due_at),
           is_awaited = max(is_awaited, excluded.is_awaited)
         where excluded.due_at < due_at or excluded.is_awaited > is_awaited or exists (
           select 1 from json_each(excluded.jobs) where value not in (select value from json_each(sync_work.jobs)))
         or exists (select 1 from json_each(excluded.runs) where value not in (select value from json_each(sync_work.runs)))`,
      )
      .bind(json, Number(is_awaited), organization_id, run_id),
  )
  const joined = rows.flatMap((json) => joinFinished(ledger, json, run))
  const record = ledger
    .prepare(
      `with served as materialized (
         select s.entity, s.source, s.month, s.job_id, s.job_id = w.value->>3 as made, w.value->>4 as is_gap, ${ATTEMPTS_BEFORE} as attempts_before
         from ${REQUESTED} where ${SERVES})
       insert into extractions (organization_id, entity, run_id, n, instant, jobs, dispatched, gap_jobs, requested_at, is_range, attempts_before)
       select ?4, entity, ?2, 1 + coalesce((
           select n from extractions e where e.organization_id = ?4 and e.entity = c.entity order by run_id desc limit 1), 0), ?3, jsonb_group_object(job_id, jsonb(sources)), max(made), sum(gaps), ?5, ?6,
         (select json_group_object(a.source || ':' || a.month, a.attempts_before) from served a
           where a.entity = c.entity and a.attempts_before > 0)
       from (
         select entity, job_id, json_group_object(source, json(months)) as sources, max(made) as made, sum(gaps) as gaps
         from (
           select entity, job_id, source, json_group_array(month) as months, max(made and not is_gap) as made, sum(is_gap) as gaps
           from served group by entity, job_id, source)
         group by entity, job_id
       ) c
       where true
       group by entity
       on conflict do nothing`,
    )
    .bind(
      JSON.stringify(requested.map(({ entity, source, month, job_id, is_gap }) => [entity, source, month, job_id, is_gap])),
      ...[run_id, instant, organization_id, now, Number(run.is_range ?? false)],
    )
  // An extraction that found everything finished ends at once.
  const end = ledger
    .prepare(
      `insert into outbox (entity, fact_id, kind, organizations, body, created_at)
       select e.entity, '${ENDED_JOBS}:' || ?2, '${ENDED_JOBS}', json_array(?2), json_array(json_array('${RUN_ENTRY}', ?2, ?3)), ?4
       from json_each(?1) b cross join extractions e on e.organization_id = ?2 and e.entity = b.value and e.run_id = ?3
       where e.requested_at = ?4 and not exists (
         select 1 from json_each(e.jobs) j cross join json_each(j.value) x cross join json_each(x.value) m
         cross join sync_jobs s on s.entity = e.entity and s.source = x.key and s.month = m.value and s.job_id = j.key where s.open = 1)
       on conflict do update set body = ${united('outbox.body')}, created_at = excluded.created_at`,
    )
    .bind(JSON.stringify(entities.map(({ entity }) => entity)), organization_id, run_id, now)
  const outcome = ledger
    .prepare(
      `select e.entity, e.dispatched, e.gap_jobs from json_each(?1) b cross join extractions e
       on e.organization_id = ?2 and e.entity = b.value and e.run_id = ?3`,
    )
    .bind(JSON.stringify(entities.map(({ entity }) => entity)), organization_id, run_id)
  const prune = ledger
    .prepare(
      `delete from extractions where (organization_id, entity, run_id) in (
         select e.organization_id, e.entity, e.run_id
         from json_each(?1) b cross join extractions e on e.organization_id = ?2 and e.entity = b.value and e.run_id in (
           select run_id from extractions where organization_id = ?2 and entity = b.value order by run_id limit 2)
         where e.n <= (
           select n from extractions where organization_id = ?2 and entity = b.value order by run_id desc limit 1) - ${KEPT_EXTRACTIONS})`,
    )
    .bind(JSON.stringify(entities.map(({ entity }) => entity)), organization_id)
  const share = shareDocuments(ledger, run, requested)
  const tell = shareNotifications(ledger, run, requested)
  return [insertEntities, ...insertJobs, ...join, ...leave, ...joined, record, end, ...share, ...tell, prune, outcome]
}

/** Shows the organization what the mailboxes listed whose jobs it found finished. */
function shareNotifications(
  ledger: D1Database,
  { organization_id, instant, now }: RequestingRun,
  requested: readonly RequestedJob[],
): D1PreparedStatement[] {
  const jobs = requested.filter(({ source }) => source === MAILBOX_SOURCE).map(({ entity, source, month }) => [entity, source, month])
  if (jobs.length === 0) return []
  const sql = `select s.entity, ?2 from ${REQUESTED} where s.open = 0 and ${SERVES}`
  return tellStatements(ledger, { sql, values: [JSON.stringify(jobs), organization_id, instant] }, organization_id, new Date(now))
}

/** Shares the files of finished jobs with the organization: those of their sources that are current. */
function shareDocuments(
  ledger: D1Database,
  { organization_id, instant, now }: RequestingRun,
  requested: readonly RequestedJob[],
): D1PreparedStatement[] {
  const sources = requested.filter(({ month }) => month === '').map(({ entity, source, month }) => [entity, source, month])
  if (sources.length === 0) return []
  return [
    ledger
      .prepare(
        // The documents of an entity are read once, however many of its sources are shared.
        `update documents set organizations = json_set(organizations, '$.' || ?2, ?4)
         where entity in (select value->>0 from json_each(?1)) and is_current = 1 and json_extract(organizations, '$.' || ?2) is null
           and (+entity, source) in (select s.entity, s.source from ${REQUESTED} where s.open = 0 and ${SERVES})`,
      )
      .bind(JSON.stringify(sources), organization_id, instant, now),
  ]
}

/**
 * Selects the watermark of each entity and source: the instant of the organization's last extraction whose jobs for the source all succeeded,
 * in milliseconds, or null. A job that is forgotten has succeeded (prune-store.ts).
 */
export const watermarkStatement = (ledger: D1Database, organization_id: string, pairs: readonly [number, string][]) =>
  ledger
    .prepare(
      `select p.value->>0 as entity, p.value->>1 as source, (
         select e.instant from extractions e
         where e.organization_id = ?2 and e.entity = p.value->>0 and e.is_range = 0
           and exists (select 1 from json_each(e.jobs) j where j.value -> (p.value->>1) is not null)
           and not exists (
             select 1 from json_each(e.jobs) j cross join json_each(j.value -> (p.value->>1)) m
             cross join sync_jobs s on s.entity = e.entity and s.source = p.value->>1 and s.month = m.value and s.job_id = j.key
             where s.status <> 'succeeded')
         order by e.run_id desc limit 1
       ) as instant
       from json_each(?1) p`,
    )
    .bind(JSON.stringify(pairs), organization_id)
