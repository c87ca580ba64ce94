import { isGuardViolation, jsonChunks } from '../db/commit.ts'
import type { Tally } from './tally.ts'

/** A cell of the calendar that a run wants fetched, with the id that its job gets if one has to be made. */
export interface Wanted {
  entity: number
  source: string
  /** `YYYY-MM`; empty for document sources. */
  month: string
  job_id: string
  /** Not to be claimed earlier, milliseconds: a place in the night's spread. */
  not_before: number
}

export interface Asking {
  organization_id: string
  run_id: string
  /** Milliseconds. */
  instant: number
  now: number
}

/**
 * The newest job of a cell serves when it is open, or finished with success after the run's instant: it is joined and not repeated
 * (decisions.md 5). One seek, however long the cell's history is.
 */
const SERVES = `s.job_id = (select max(job_id) from sync_jobs where entity = s.entity and source = s.source and month = s.month)
  and (s.open = 1 or (s.status = 'succeeded' and max(coalesce(s.finished_at, 0), s.as_of) >= ?3))`
/** Extractions kept for each organization and entity: enough for progress, and for the watermark to be among them. */
const KEPT_EXTRACTIONS = 60

/** A queued job that may be brought forward: not one between attempts. A run only asks where a CIEC is active, so it may be tried. */
const WAITS_FREELY = `sync_jobs.status = 'queued' and (sync_jobs.error_class is null or sync_jobs.error_class = 'invalid_credentials')`

/** Finished, and whose runs it was done for does not name the asker yet. Bound: ?2 organization, ?3 the run's instant. */
const FOUND_DONE = `s.open = 0 and ${SERVES} and not exists (select 1 from json_each(s.organizations) o where o.value = ?2)`

/** A run that finds a job done joins it late: the organization is told as those were who joined in time, once. */
const lateStatements = (ledger: D1Database, wanted: string, { organization_id, instant, now }: Asking): D1PreparedStatement[] => [
  ledger
    .prepare(
      `insert into outbox (fact_id, kind, entity, organizations, body, created_at)
       select 'sync.completed:' || job_id || ':' || ?2, 'sync.completed', entity, json_array(?2), ${toldAs('null', 'finished_at')}, ?4
       from json_each(?1) w cross join sync_jobs s on s.entity = w.value->>0 and s.source = w.value->>1 and s.month = w.value->>2
       where ${FOUND_DONE}
       on conflict do nothing`,
    )
    .bind(wanted, organization_id, instant, now),
  ledger
    .prepare(
      `update sync_jobs set organizations = json_insert(organizations, '$[#]', ?2)
       where (entity, source, month, job_id) in (
         select s.entity, s.source, s.month, s.job_id
         from json_each(?1) w cross join sync_jobs s on s.entity = w.value->>0 and s.source = w.value->>1 and s.month = w.value->>2
         where ${FOUND_DONE})`,
    )
    .bind(wanted, organization_id, instant),
]

/**
 * Everything that a run asks of one ledger, as one batch: the books, the jobs that nobody has, joining those that somebody has,
 * and the record of what the run covers. Repeated, it changes nothing.
 */
export function requestStatements(
  ledger: D1Database,
  asking: Asking,
  books: readonly { entity: number; rfc: string }[],
  wanted: readonly Wanted[],
) {
  const { organization_id, run_id, instant, now } = asking
  const rows = jsonChunks(wanted.map(({ entity, source, month, job_id, not_before }) => [entity, source, month, job_id, not_before]))
  const insertBooks = ledger
    .prepare(
      `insert into entities (entity, rfc, version) select value->>0, value->>1, 0 from json_each(?1) where true on conflict do nothing`,
    )
    .bind(JSON.stringify(books.map(({ entity, rfc }) => [entity, rfc])))
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
           not_before = case when ${WAITS_FREELY}
             then min(sync_jobs.not_before, w.not_before) else sync_jobs.not_before end,
           error_class = case when ${WAITS_FREELY} then null else sync_jobs.error_class end
         from (select value->>0 as entity, value->>1 as source, value->>2 as month, value->>4 as not_before from json_each(?1)) w
         where sync_jobs.entity = w.entity and sync_jobs.source = w.source and sync_jobs.month = w.month and sync_jobs.open = 1
           and (not exists (select 1 from json_each(sync_jobs.organizations) o where o.value = ?2)
             or (${WAITS_FREELY} and w.not_before < sync_jobs.not_before))`,
      )
      .bind(json, organization_id),
  )
  const late = rows.flatMap((json) => lateStatements(ledger, json, asking))
  const record = ledger
    .prepare(
      `insert into extractions (organization_id, entity, run_id, instant, jobs, dispatched)
       select ?4, entity, ?2, ?3, json_group_object(source, json(months)), max(made)
       from (
         select c.entity, c.source, json_group_object(c.month, c.job_id) as months, max(c.run_id = ?2) as made
         from (
           select w.value->>0 as entity, w.value->>1 as source, w.value->>2 as month, s.job_id, s.run_id
           from json_each(?1) w cross join sync_jobs s
             on s.entity = w.value->>0 and s.source = w.value->>1 and s.month = w.value->>2
           where ${SERVES}
         ) c
         group by c.entity, c.source
       )
       group by entity
       on conflict do nothing`,
    )
    .bind(JSON.stringify(wanted.map(({ entity, source, month }) => [entity, source, month])), run_id, instant, organization_id)
  const outcome = ledger
    .prepare(
      `select e.entity, e.dispatched from json_each(?1) b cross join extractions e
       on e.organization_id = ?2 and e.entity = b.value and e.run_id = ?3`,
    )
    .bind(JSON.stringify(books.map(({ entity }) => entity)), organization_id, run_id)
  const prune = ledger
    .prepare(
      `delete from extractions where organization_id = ?2 and entity in (select value from json_each(?1)) and run_id < (
         select run_id from extractions k where k.organization_id = ?2 and k.entity = extractions.entity
         order by run_id desc limit 1 offset ${KEPT_EXTRACTIONS - 1})`,
    )
    .bind(JSON.stringify(books.map(({ entity }) => entity)), organization_id)
  const share = shareDocuments(ledger, organization_id, instant, wanted)
  return [insertBooks, ...insertJobs, ...join, ...late, record, ...share, prune, outcome]
}

/** What a finished job brought is shown to whoever it serves: of each document of its source the newest. */
function shareDocuments(ledger: D1Database, organization_id: string, instant: number, wanted: readonly Wanted[]): D1PreparedStatement[] {
  const sources = wanted.filter(({ month }) => month === '').map(({ entity, source }) => [entity, source])
  if (sources.length === 0) return []
  return [
    ledger
      .prepare(
        `update documents set organizations = json_insert(documents.organizations, '$[#]', ?2)
         from (
           select d.entity, max(d.document_id) as document_id
           from json_each(?1) w
           cross join sync_jobs s on s.entity = w.value->>0 and s.source = w.value->>1 and s.month = ''
           cross join documents d on d.entity = s.entity and d.source = s.source
           where s.open = 0 and ${SERVES}
           group by d.entity, d.source, d.name
         ) newest
         where documents.entity = newest.entity and documents.document_id = newest.document_id
           and not exists (select 1 from json_each(documents.organizations) o where o.value = ?2)`,
      )
      .bind(JSON.stringify(sources), organization_id, instant),
  ]
}

/** For each (entity, source): the instant of the organization's last extraction whose jobs all succeeded. */
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

export interface Job {
  entity: number
  source: string
  month: string
  job_id: string
  organizations: string
  as_of: number
  attempts: number
  token: string
}

const CLAIMED = 'entity, source, month, job_id, organizations, as_of, attempts, token'

/** Claims the entity's next job: queued and due, or running under a lease that ran out. Newest months first. */
export const claimStatement = (ledger: D1Database, entity: number, token: string, now: number, leaseUntil: number) =>
  ledger
    .prepare(
      `update sync_jobs set status = 'running', token = ?2, lease_until = ?4, attempts = attempts + 1, started_at = coalesce(started_at, ?3)
       where (entity, source, month, job_id) = (
         select entity, source, month, job_id from sync_jobs indexed by sync_jobs_open
         where entity = ?1 and open = 1 and ((status = 'queued' and not_before <= ?3) or lease_until < ?3)
         order by source desc, month desc limit 1)
       returning ${CLAIMED}`,
    )
    .bind(entity, token, now, leaseUntil)

const mine = 'entity = ?1 and source = ?2 and month = ?3 and job_id = ?4 and token = ?5 and open = 1'
const keysOf = ({ entity, source, month, job_id, token }: Job) => [entity, source, month, job_id, token] as const

export interface Progress {
  created: number
  updated: number
  cancelled: number
  rejected: number
  /** Seconds since 1970; null when nothing was brought. */
  first_issued_at: number | null
  last_issued_at: number | null
  tally: Tally | null
}

/**
 * What a slice brought, added to its job, with the lease prolonged. Refuses its whole batch with a guard violation when the claim is
 * lost: only its holder writes, so that what came is counted where it is told of.
 */
export const progressStatement = (
  ledger: D1Database,
  job: Job,
  { created, updated, cancelled, rejected, first_issued_at, last_issued_at, tally }: Progress,
  leaseUntil: number,
) =>
  ledger
    .prepare(
      `update sync_jobs set created_count = case when token = ?5 and open = 1 then created_count + ?6 end,
         updated_count = updated_count + ?7, cancelled_count = cancelled_count + ?8, rejected_count = rejected_count + ?9,
         lease_until = ?10,
         first_issued_at = min(coalesce(first_issued_at, ?11), coalesce(?11, first_issued_at)),
         last_issued_at = max(coalesce(last_issued_at, ?12), coalesce(?12, last_issued_at)),
         brought = case when ?13 is null then brought else json_insert(brought, '$[#]', json(?13)) end
       where entity = ?1 and source = ?2 and month = ?3 and job_id = ?4`,
    )
    .bind(
      ...keysOf(job),
      created,
      updated,
      cancelled,
      rejected,
      leaseUntil,
      first_issued_at,
      last_issued_at,
      tally === null ? null : JSON.stringify(tally),
    )

/** Whether a commit was refused because the job's claim is lost. */
export const isClaimLost = (error: unknown): boolean =>
  isGuardViolation(error) && /sync_jobs\.created_count/.test(`${error} ${(error as Error).cause ?? ''}`)

/** The body of a job's fact. */
const toldAs = (error_class: string, completed_at: string): string =>
  `json_object('job_id', job_id, 'data_source_key', source, 'period', nullif(month, ''),
     'created_count', created_count, 'updated_count', updated_count, 'cancelled_count', cancelled_count,
     'first_issued_at', first_issued_at, 'last_issued_at', last_issued_at, 'brought', json(brought), 'error_class', ${error_class}, 'attempts', attempts,
     'completed_at', ${completed_at})`

/** Ends a job, with success or for good, and keeps the fact of it: both or, when the claim is lost, neither. */
export const settleStatements = (ledger: D1Database, job: Job, error_class: string | null, now: number): D1PreparedStatement[] => [
  ledger
    .prepare(
      `insert into outbox (fact_id, kind, entity, organizations, body, created_at)
       select ?6 || ':' || job_id, ?6, entity, organizations, ${toldAs('?7', '?8')}, ?8
       from sync_jobs where ${mine}
       on conflict do nothing`,
    )
    .bind(...keysOf(job), error_class === null ? 'sync.completed' : 'sync.failed', error_class, now),
  ledger
    .prepare(
      `update sync_jobs set status = ?6, error_class = ?7, finished_at = ?8, open = 0, token = null, lease_until = null where ${mine}`,
    )
    .bind(...keysOf(job), error_class === null ? 'succeeded' : 'failed', error_class, now),
]

/** Puts a job back, not to be claimed before an instant; with what went wrong. */
export const requeueStatement = (ledger: D1Database, job: Job, error_class: string, notBefore: number) =>
  ledger
    .prepare(`update sync_jobs set status = 'queued', error_class = ?6, not_before = ?7, token = null, lease_until = null where ${mine}`)
    .bind(...keysOf(job), error_class, notBefore)

/** Nobody can log in for the RFC: its open jobs wait until somebody can, and look again by themselves now and then. No attempt is used up. */
export const parkStatement = (ledger: D1Database, entity: number, notBefore: number) =>
  ledger
    .prepare(
      `update sync_jobs set status = 'queued', error_class = 'invalid_credentials', not_before = ?2, attempts = 0, token = null, lease_until = null
       where entity = ?1 and open = 1`,
    )
    .bind(entity, notBefore)

/** Somebody can log in again: what waited for that may be claimed. */
export const resumeStatement = (ledger: D1Database, entity: number) =>
  ledger
    .prepare(`update sync_jobs set not_before = 0, error_class = null
       where entity = ?1 and open = 1 and status = 'queued' and error_class = 'invalid_credentials'`)
    .bind(entity)

/** Entities with a job that should have been taken up by now: unannounced, or held by somebody who died. */
export const stuckStatement = (ledger: D1Database, now: number, since: number, limit: number) =>
  ledger
    .prepare(
      `select distinct entity from sync_jobs indexed by sync_jobs_open
       where open = 1 and ((status = 'queued' and not_before <= ?1 and created_at <= ?2) or lease_until < ?1) limit ?3`,
    )
    .bind(now, since, limit)
