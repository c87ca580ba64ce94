import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { entities as partitions } from '../cfdi/tables.ts'
import { MAILBOX_SOURCE, notifyStatements } from '../documents/mailbox/keep.ts'
import { documents } from '../documents/tables.ts'
import { jsonChunks, type Statement } from '../platform/db/commit.ts'
import { assertThat } from '../platform/db/guard.ts'
import { bare, readFirst } from '../platform/db/statement.ts'
import { INTO_OUTBOX } from '../platform/outbox/outbox.ts'
import { outbox } from '../platform/outbox/tables.ts'
import { requestersOf } from '../taxpayers/visibility/jobs.ts'
import { ASKED_FOR, isJob, LISTED, NEW_JOB } from './jobs/key.ts'
import { extractions, syncJobs, syncWork } from './jobs/tables.ts'
import { ENDED_JOBS, RUN_ENTRY, united } from './lease-store.ts'

const [s, k, e, p] = [alias(syncJobs, 's'), alias(syncJobs, 'k'), alias(extractions, 'e'), alias(partitions, 'p')]

/** A job that a run requests, with the identifier that it receives if no existing job serves. The jobs of an RFC have the same one. */
export interface RequestedJob {
  entity: number
  source: string
  /** `YYYY-MM`; empty for document sources. */
  month: string
  job_id: string
  /** The job is not run before this time, in milliseconds: its slot in the spread. */
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
  /** The organization does not have downloaded again what it began to download after this time, in milliseconds. */
  spared_since: number
  /** Whether somebody may wait for its jobs. */
  is_interactive: boolean
  /** Whether it is of a range that was asked for, and of no extractor. */
  is_range?: boolean
}

const FIRST_REQUESTER = bare(partitions.organization_id)

/** The identifier of the newest job of the requested source and month `w`. One seek, however many jobs there are. */
const NEWEST = sql`(select max(${syncJobs.job_id}) from ${syncJobs}
  where ${syncJobs.entity} = w.value->>0 and ${syncJobs.source} = w.value->>1 and ${syncJobs.month} = w.value->>2)`
/** The condition that `s` is the newest job of the requested source and month `w`. */
const IS_NEWEST = isJob(s, sql`w.value->>0`, [sql`w.value->>1`, sql`w.value->>2`, NEWEST])
/** The requested sources and months `w` of a JSON list, each with its newest job `s`. */
const requestedJobs = (json: string | SQL): SQL => sql`json_each(${json}) w cross join ${syncJobs} ${s} on ${IS_NEWEST}`
/** A job counts as begun at the instant of its run, unless that run was dispatched later than this. */
const DISPATCHED_WITHIN_MS = sql`60000`
const begunAt = ({ as_of, created_at }: Record<'as_of' | 'created_at', SQLWrapper>): SQL =>
  sql`max(${as_of}, ${created_at} - ${DISPATCHED_WITHIN_MS})`

/** What decides whether a job serves a run, as numbers and texts or as places in a statement. */
type Served = Record<'organization_id' | 'instant' | 'spared_since', SQLWrapper | string | number>

/**
 * The newest job serves a run when it is open, or succeeded after the run's instant. It also serves when it began in the cooldown, as did a
 * job for which the same organization asked: that one, or one before it. It is joined instead of repeated.
 */
const serves = ({ organization_id, instant, spared_since }: Served): SQL => sql`(${s.open} = 1
  or (${s.status} = 'succeeded' and max(coalesce(${s.finished_at}, 0), ${s.as_of}) >= ${instant})
  or (${begunAt(s)} > ${spared_since} and exists (
    select 1 from ${syncJobs} ${k} cross join json_each(${requestersOf(k)}) o
    where ${k.entity} = ${s.entity} and ${k.source} = ${s.source} and ${k.month} = ${s.month} and ${begunAt(k)} > ${spared_since}
      and o.value = ${organization_id})))`
/** What a job brought is shared with a run that it serves. A failed one brought nothing. */
const brings = (run: Served): SQL => sql`${s.status} = 'succeeded' and ${serves(run)}`
/** Attempts of the job `s` that the run does not share: those that ended in a wait or, of a job that is running or done, all but the last. */
const ATTEMPTS_BEFORE = sql`${s.attempts} - (${s.status} <> 'queued')`
/** Extractions kept per organization and entity: enough for the progress, and for the watermark to be among them. Each takes the place of one. */
const KEPT_EXTRACTIONS = sql`60`

const REQUESTERS = requestersOf(syncJobs)
const isNamed = (organization_id: string): SQL => sql`exists (select 1 from json_each(${REQUESTERS}) o where o.value = ${organization_id})`

/**
 * A queued job that may start earlier. An organization that joins it does not wait for what it knows nothing of, and its own job does not wait
 * between attempts. Runs cover active connections only, so a job that waits for a login may be tried.
 */
const mayStartEarlier = (organization_id: string): SQL =>
  sql`(${syncJobs.error_class} is null or ${syncJobs.error_class} = 'invalid_credentials' or not ${isNamed(organization_id)})`

/** The common input of a request's statements. */
interface JobRequest {
  run: RequestingRun
  /** The requested jobs as JSON arrays `[entity, source, month, job_id, not_before]`, in chunks. */
  chunks: readonly string[]
  /** The same jobs in one array, `[entity, source, month, job_id, is_gap]`. */
  all: string
  /** The RFCs that the run covers, as a JSON array `[entity, rfc]`. */
  rfcs: string
}

/**
 * Returns the batch with which a run requests jobs of one ledger. Repeating the batch changes nothing, unless the run asks in the name of a
 * later instant. The last result has a row `{entity, dispatched, gap_jobs}` per entity, and earlier ones have a row `{waiting: entity}` per
 * entity with open jobs that the run did not wait for before.
 */
export function requestStatements(
  run: RequestingRun,
  entities: readonly { entity: number; rfc: string }[],
  requested: readonly RequestedJob[],
): Statement[] {
  const request: JobRequest = {
    run,
    chunks: jsonChunks(requested.map(({ entity, source, month, job_id, not_before }) => [entity, source, month, job_id, not_before])),
    all: JSON.stringify(requested.map(({ entity, source, month, job_id, is_gap }) => [entity, source, month, job_id, is_gap])),
    rfcs: JSON.stringify(entities.map(({ entity, rfc }) => [entity, rfc])),
  }
  return [
    assertThat(isLast(request), IN_ORDER),
    insertPartitions(request),
    // An inserted job names the organization already.
    ...request.chunks.map((jobs) => joinOpenJobs(request, jobs)),
    ...request.chunks.map((jobs) => insertJobs(request, jobs)),
    ...request.chunks.map((jobs) => addWork(request, jobs)),
    ...request.chunks.flatMap((jobs) => joinFinishedJobs(request, jobs)),
    recordExtractions(request),
    endExtractions(request),
    ...shareDocuments(run, requested),
    ...shareNotifications(run, requested),
    pruneExtractions(request),
    sql`select ${e.entity}, ${e.dispatched}, ${e.gap_jobs} from ${extractionsOf(request)} and ${e.run_id} = ${run.run_id}`,
  ]
}

/** The guard that refuses a request of a run from before the last one of the organization that has asked for an RFC. */
export const IN_ORDER = 'extractions.in_order'

/** The condition that the run is not from before the last other one. */
const isLast = (request: JobRequest): SQL => {
  const { organization_id, run_id, instant } = request.run
  return sql`not exists (select 1 from ${extractionsOf(request)} and ${e.run_id} = (
      select ${extractions.run_id} from ${extractions}
      where ${extractions.organization_id} = ${organization_id} and ${extractions.entity} = b.value->>0 and ${extractions.run_id} <> ${run_id}
      order by ${extractions.run_id} desc limit 1)
    where (${e.instant}, ${e.run_id}) > (${instant}, ${run_id}))`
}

/** Reads the last instant, in milliseconds, of the organization's other runs of these RFCs; 0 without any. */
export const readLastInstant = async (
  ledger: D1Database,
  { organization_id, run_id }: Pick<RequestingRun, 'organization_id' | 'run_id'>,
  entities: readonly number[],
): Promise<number> => {
  const last = sql<{ instant: number | null }>`select max(${extractions.instant}) as instant from ${extractions}
    where ${extractions.organization_id} = ${organization_id} and ${extractions.entity} in (select value from json_each(${JSON.stringify(entities)}))
      and ${extractions.run_id} <> ${run_id}`
  return (await readFirst(ledger, last))?.instant ?? 0
}

/** Inserts the partitions of RFCs that are new, and their first requester. */
const insertPartitions = ({ run, rfcs }: JobRequest): SQL =>
  sql`insert into ${partitions} ${[partitions.entity, partitions.rfc, partitions.organization_id].map(bare)}
      select value->>0, value->>1, ${run.organization_id} from json_each(${rfcs}) where true
      on conflict do update set ${FIRST_REQUESTER} = excluded.${FIRST_REQUESTER} where ${partitions.organization_id} is null`

/** Inserts a job where none serves the run. A clock that is behind makes no job older than the one before. */
const insertJobs = ({ run }: JobRequest, jobs: string): SQL => {
  const { organization_id, instant, now } = run
  return sql`insert into ${syncJobs} ${NEW_JOB}
      select w.value->>0, w.value->>1, w.value->>2, max(w.value->>3, coalesce(${s.job_id} || '0', '')),
        (select json_array(${organization_id}) from ${partitions} ${p}
          where ${p.entity} = w.value->>0 and ${p.organization_id} <> ${organization_id}), 1,
        ${instant}, w.value->>4, 0, ${now} - ${instant}, 0, 0, 0, 0
      from json_each(${jobs}) w left join ${syncJobs} ${s} on ${IS_NEWEST} where ${s.job_id} is null or not ${serves(run)}`
}

/** Adds the organization to the open jobs that serve the run, which may begin earlier for it. An RFC without work has none. */
function joinOpenJobs({ run: { organization_id } }: JobRequest, jobs: string): SQL {
  const [named, mayBeEarlier] = [isNamed(organization_id), mayStartEarlier(organization_id)]
  return sql`update ${syncJobs} set
        ${bare(syncJobs.organizations)} = case when ${named} then ${syncJobs.organizations}
          else json_insert(${REQUESTERS}, '$[#]', ${organization_id}) end,
        ${bare(syncJobs.not_before)} = case when ${mayBeEarlier} then min(${syncJobs.not_before}, r.not_before) else ${syncJobs.not_before} end,
        ${bare(syncJobs.error_class)} = nullif(${syncJobs.error_class}, 'invalid_credentials')
      from (
        select w.value->>0 as entity, w.value->>1 as source, w.value->>2 as month, w.value->>4 as not_before, ${NEWEST} as job_id
        from json_each(${jobs}) w cross join ${syncWork} on ${syncWork.entity} = w.value->>0) r
      where ${isJob(syncJobs, sql`r.entity`, [sql`r.source`, sql`r.month`, sql`r.job_id`])}
        and ${syncJobs.open} = 1 and (not ${named} or (${mayBeEarlier} and r.not_before < ${syncJobs.not_before}))`
}

/** Adds the open jobs, and the run that waits for them, to the work on each RFC. */
function addWork({ run: { organization_id, run_id, is_interactive } }: JobRequest, jobs: string): SQL {
  const columns = [syncWork.jobs, syncWork.runs, syncWork.due_at, syncWork.is_interactive] as const
  const [newJobs, newRuns, newDueAt, newIsInteractive] = columns.map((column) => sql`excluded.${bare(column)}`)
  return sql`insert into ${syncWork} ${[syncWork.entity, ...columns].map(bare)}
      select ${s.entity}, json_group_array(json_array(${s.source}, ${s.month}, ${s.job_id})), json_array(json_array(${organization_id}, ${run_id})),
        min(${s.not_before}), ${Number(is_interactive)}
      from ${requestedJobs(jobs)} where ${s.open} = 1 group by ${s.entity}
      on conflict do update set ${bare(syncWork.jobs)} = ${united(syncWork, bare(syncWork.jobs))},
        ${bare(syncWork.runs)} = ${united(syncWork, bare(syncWork.runs))}, ${bare(syncWork.due_at)} = min(${syncWork.due_at}, ${newDueAt}),
        ${bare(syncWork.is_interactive)} = max(${syncWork.is_interactive}, ${newIsInteractive})
      where ${newDueAt} < ${syncWork.due_at} or ${newIsInteractive} > ${syncWork.is_interactive}
      or exists (select 1 from json_each(${newJobs}) where value not in (select value from json_each(${syncWork.jobs})))
      or exists (select 1 from json_each(${newRuns}) where value not in (select value from json_each(${syncWork.runs})))
      returning ${bare(syncWork.entity)} as waiting`
}

/** A run that finds a finished job joins it, and its organization receives the job's event once, like those that joined earlier. */
const joinFinishedJobs = ({ run, rfcs }: JobRequest, requested: string): SQL[] => {
  const { organization_id, now } = run
  const list = `${ENDED_JOBS}:${organization_id}`
  return [
    // Jobs that have finished, serve the run, and do not name the organization yet.
    sql`${INTO_OUTBOX}
          select ${s.entity}, ${list}, ${ENDED_JOBS}, json_array(${organization_id}),
            json_group_array(json_array(${s.source}, ${s.month}, ${s.job_id})), ${now}
          from ${requestedJobs(requested)} where ${s.open} = 0 and ${serves(run)} and not exists (
            select 1 from json_each(${requestersOf(s)}) o where o.value = ${organization_id})
          group by ${s.entity}
          on conflict do update set ${bare(outbox.body)} = ${united(outbox, bare(outbox.body))}, ${bare(outbox.created_at)} = excluded.created_at`,
    // The same jobs: where none was found, this reads hardly anything.
    sql`update ${syncJobs} set ${bare(syncJobs.organizations)} = json_insert(${REQUESTERS}, '$[#]', ${organization_id}),
            ${bare(syncJobs.late)} = json_insert(coalesce(${syncJobs.late}, '[]'), '$[#]', ${organization_id})
          where ${[syncJobs.entity, syncJobs.source, syncJobs.month, syncJobs.job_id]} in (
            select ${outbox.entity}, ${sql.join([...LISTED], sql`, `)}
            from json_each(${rfcs}) b cross join ${outbox} on ${outbox.entity} = b.value->>0 and ${outbox.outbox_event_id} = ${list}
            cross join json_each(${outbox.body}) j where ${outbox.created_at} = ${now})
          and not ${isNamed(organization_id)}`,
  ]
}

/** Records the run's requests for each RFC: the jobs that serve it, whether it made any of them, and how many are of gaps. */
function recordExtractions({ run, all }: JobRequest): SQL {
  const { organization_id, run_id, instant, now } = run
  const columns = [
    ...[extractions.organization_id, extractions.entity, extractions.run_id, extractions.n, extractions.instant, extractions.jobs],
    ...[extractions.dispatched, extractions.gap_jobs, extractions.requested_at, extractions.is_range, extractions.attempts_before],
  ]
  return sql`with served as materialized (
        select ${s.entity}, ${s.source}, ${s.month}, ${s.job_id}, ${s.job_id} = w.value->>3 as made, w.value->>4 as is_gap,
          ${ATTEMPTS_BEFORE} as attempts_before
        from ${requestedJobs(all)} where ${serves(run)})
      insert into ${extractions} ${columns.map(bare)}
      select ${organization_id}, entity, ${run_id}, 1 + coalesce((
          select ${e.n} from ${extractions} ${e} where ${e.organization_id} = ${organization_id} and ${e.entity} = c.entity
          order by ${e.run_id} desc limit 1), 0),
        ${instant}, jsonb_group_object(job_id, jsonb(sources)), max(made), sum(gaps), ${now}, ${Number(run.is_range ?? false)},
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
      on conflict do update set ${bare(extractions.instant)} = excluded.${bare(extractions.instant)}
      where excluded.${bare(extractions.instant)} > ${extractions.instant}`
}

/** The organization's extractions of the covered RFCs. */
const extractionsOf = ({ run, rfcs }: JobRequest): SQL =>
  sql`json_each(${rfcs}) b cross join ${extractions} ${e}
    on ${e.organization_id} = ${run.organization_id} and ${e.entity} = b.value->>0`

/** Reports the end of the extractions that found all of their jobs finished. */
const endExtractions = (request: JobRequest): SQL => {
  const { organization_id, run_id, now } = request.run
  return sql`${INTO_OUTBOX}
      select ${e.entity}, ${`${ENDED_JOBS}:${organization_id}`}, ${ENDED_JOBS}, json_array(${organization_id}),
        json_array(json_array(${RUN_ENTRY}, ${organization_id}, ${run_id})), ${now}
      from ${extractionsOf(request)} and ${e.run_id} = ${run_id}
      where ${e.requested_at} = ${now} and not exists (
        select 1 from json_each(${e.jobs}) j cross join json_each(j.value) x cross join json_each(x.value) m
        cross join ${syncJobs} ${s} on ${isJob(s, e.entity, ASKED_FOR)} where ${s.open} = 1)
      on conflict do update set ${bare(outbox.body)} = ${united(outbox, bare(outbox.body))}, ${bare(outbox.created_at)} = excluded.created_at`
}

/** Deletes the oldest extractions beyond the number that is kept. */
const pruneExtractions = (request: JobRequest): SQL => {
  const own = sql`from ${extractions} where ${extractions.organization_id} = ${request.run.organization_id}
    and ${extractions.entity} = b.value->>0 order by ${extractions.run_id}`
  return sql`delete from ${extractions} where ${[extractions.organization_id, extractions.entity, extractions.run_id]} in (
      select ${e.organization_id}, ${e.entity}, ${e.run_id}
      from ${extractionsOf(request)} and ${e.run_id} in (select ${extractions.run_id} ${own} limit 2)
      where ${e.n} <= (select ${extractions.n} ${own} desc limit 1) - ${KEPT_EXTRACTIONS})`
}

/** Shows the organization the notifications of mailboxes whose jobs it found finished. */
function shareNotifications(run: RequestingRun, requested: readonly RequestedJob[]): SQL[] {
  const jobs = requested.filter(({ source }) => source === MAILBOX_SOURCE).map(({ entity, source, month }) => [entity, source, month])
  if (jobs.length === 0) return []
  const readers = sql`select ${s.entity}, ${run.organization_id} from ${requestedJobs(JSON.stringify(jobs))} where ${brings(run)}`
  return notifyStatements(readers, run.organization_id, new Date(run.now))
}

/** Shares the files of finished jobs with the organization: those of their sources that are current. */
function shareDocuments(run: RequestingRun, requested: readonly RequestedJob[]): SQL[] {
  const { organization_id, now } = run
  const sources = requested.filter(({ month }) => month === '').map(({ entity, source, month }) => [entity, source, month])
  if (sources.length === 0) return []
  const json = JSON.stringify(sources)
  const { entity, source, organizations, is_current } = documents
  return [
    // The documents of an entity are read once, however many of its sources are shared.
    sql`update ${documents} set ${bare(organizations)} = json_set(${organizations}, '$.' || ${organization_id}, ${now})
          where ${entity} in (select value->>0 from json_each(${json})) and ${is_current} = 1
            and json_extract(${organizations}, '$.' || ${organization_id}) is null
            and (+${entity}, ${source}) in (select ${s.entity}, ${s.source} from ${requestedJobs(json)} where ${brings(run)})`,
  ]
}

export interface Watermark {
  entity: number
  source: string
  instant: number | null
}

/**
 * Selects the watermark of each entity and source: the instant of the organization's last extraction whose jobs for the source all succeeded,
 * in milliseconds, or null. A job that is forgotten has succeeded (prune-store.ts).
 */
export const watermarkStatement = (organization_id: string, pairs: readonly [number, string][]): SQL<Watermark> =>
  sql<Watermark>`select p.value->>0 as entity, p.value->>1 as source, (
          select ${e.instant} from ${extractions} ${e}
          where ${e.organization_id} = ${organization_id} and ${e.entity} = p.value->>0 and ${e.is_range} = 0
            and exists (select 1 from json_each(${e.jobs}) j where j.value -> (p.value->>1) is not null)
            and not exists (
              select 1 from json_each(${e.jobs}) j cross join json_each(j.value -> (p.value->>1)) m
              cross join ${syncJobs} ${s} on ${isJob(s, e.entity, [sql`p.value->>1`, sql`m.value`, sql`j.key`])}
              where ${s.status} <> 'succeeded')
          order by ${e.run_id} desc limit 1
        ) as instant
        from json_each(${JSON.stringify(pairs)}) p`
