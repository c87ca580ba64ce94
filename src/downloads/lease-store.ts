import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { entities as partitions } from '../cfdi/tables.ts'
import { MAILBOX_SOURCE, notifyStatements } from '../documents/mailbox/keep.ts'
import { documents } from '../documents/tables.ts'
import { jsonChunks } from '../platform/db/commit.ts'
import { bare, inlined, prepared, rendered } from '../platform/db/statement.ts'
import { INTO_OUTBOX } from '../platform/outbox/outbox.ts'
import { outbox } from '../platform/outbox/tables.ts'
import { RowLease } from '../platform/work/lease.ts'
import { requestersOf } from '../taxpayers/visibility/requesters.ts'
import { ASKED_FOR, isJob, LISTED, NEW_JOB } from './jobs/key.ts'
import { extractions, syncJobs, syncWork } from './jobs/tables.ts'

/** The kind of the outbox events that list jobs of an RFC which have ended. The relay makes an event of each (ended-jobs.ts). */
export const ENDED_JOBS = 'jobs'

/** The source of the entries in these lists that name an extraction in the place of a job. It sorts behind every source. */
export const RUN_ENTRY = '~run'

/** A job within its RFC. In a list of ended jobs also an extraction: RUN_ENTRY, its organization and its run. */
export type JobKey = readonly [source: string, month: string, job_id: string]

const [s, e] = [alias(syncJobs, 's'), alias(extractions, 'e')]

/** The jobs `s` of a row of `sync_work`. */
export const JOBS_OF_WORK = sql`json_each(${syncWork.jobs}) j cross join ${syncJobs} ${s} on ${isJob(s, syncWork.entity, LISTED)}`

/** Adds entries to a list that a column stores as JSON, each once. */
export const united = (table: SQLWrapper, list: SQLWrapper): SQL => sql`(
  select json_group_array(json(value)) from (select value from json_each(${table}.${list}) union select value from json_each(excluded.${list})))`

/** The extractions `r` of a row of `sync_work` that wait for none of its open jobs. */
const IS_ENDED = sql`not exists (
  select 1 from ${JOBS_OF_WORK} where ${s.open} = 1 and exists (
    select 1 from ${extractions} ${e} cross join json_each(${e.jobs} -> ${s.job_id} -> ${s.source}) m
    where ${e.organization_id} = r.value->>0 and ${e.entity} = ${syncWork.entity} and ${e.run_id} = r.value->>1 and m.value = ${s.month}))`
export const OPEN_RUNS = rendered(sql`select json_group_array(json(r.value)) from json_each(${syncWork.runs}) r where not (${IS_ENDED})`)
const RUN = sql`json_array(${RUN_ENTRY}, r.value->>0, r.value->>1)`
/** The same as entries of a list of ended jobs. */
export const ENDED_RUNS = rendered(sql`select json_group_array(json(${RUN})) from json_each(${syncWork.runs}) r where ${IS_ENDED}`)
const ENDED = rendered(sql`select json_group_array(json(entry)) from (
  select j.value as entry from ${JOBS_OF_WORK} where ${s.open} = 0
  union all select ${RUN} from json_each(${syncWork.runs}) r where ${IS_ENDED})`)

const OPEN = rendered(sql`select json_group_array(json(j.value)) from ${JOBS_OF_WORK} where ${s.open} = 1`)

/** The lease of a worker on the jobs of an RFC. It is short, because the worker extends it. */
export const jobsLease = new RowLease<Pick<typeof syncWork.$inferSelect, 'entity'>>(syncWork, ['entity'], { milliseconds: 30_000 })
/** What a worker holds: the jobs of an RFC. */
export interface LeasedJobs {
  entity: number
  token: string
}

/**
 * Takes the lease on an RFC's jobs when one is due and nobody has it, and returns the jobs that are due, newest months first. Null when there
 * is nothing to take. A lease that ran out makes its next holder careful.
 */
export async function takeLease(
  ledger: D1Database,
  held: LeasedJobs,
  now: number,
  limit: number,
): Promise<{ jobs: JobKey[]; claimPerJob: boolean; isInteractive: boolean } | null> {
  const [taken, due] = await ledger.batch<{
    claim_per_job?: number
    is_interactive?: number
    source?: string
    month?: string
    job_id?: string
  }>([
    jobsLease.claimStatement(
      ledger,
      held.token,
      sql`${syncWork.entity} = ${held.entity} and ${syncWork.due_at} <= ${now} and ${jobsLease.isFree(now)}`,
      {
        set: sql`${bare(syncWork.claim_per_job)} = max(${syncWork.claim_per_job}, ${syncWork.token} is not null), ${bare(syncWork.leased_at)} = ${now}`,
        returning: sql`${syncWork.claim_per_job}, ${syncWork.is_interactive}`,
      },
    ),
    prepared(
      ledger,
      sql`select ${s.source}, ${s.month}, ${s.job_id} from ${syncWork} cross join ${JOBS_OF_WORK}
          where ${jobsLease.isLeased(held)} and ${s.open} = 1 and ${s.not_before} <= ${now} order by ${s.source} desc, ${s.month} desc limit ${limit}`,
    ),
  ])
  const [lease] = taken!.results
  if (!lease) return null
  const [claimPerJob, isInteractive] = [lease.claim_per_job === 1, lease.is_interactive === 1]
  return { claimPerJob, isInteractive, jobs: due!.results.map(({ source, month, job_id }) => [source!, month!, job_id!]) }
}

/** Takes the lease when nobody has it, whether a job is due or not. Returns whether there are jobs and it was taken. */
export const takeOver = async (ledger: D1Database, { entity, token }: LeasedJobs, now: number): Promise<boolean> => {
  const taken = await jobsLease
    .claimStatement(ledger, token, sql`${syncWork.entity} = ${entity} and ${jobsLease.isFree(now)}`, {
      set: sql`${bare(syncWork.leased_at)} = ${now}`,
    })
    .run()
  return taken.meta.changes > 0
}

/** Hands the jobs and extractions of a lease that have ended to the relay. Returns a row when there are any. */
const handOver = (ledger: D1Database, held: LeasedJobs, now: number): D1PreparedStatement =>
  prepared(
    ledger,
    sql`${INTO_OUTBOX}
        select entity, ${ENDED_JOBS}, ${ENDED_JOBS}, null, ended, ${now}
        from (select ${syncWork.entity}, (${ENDED}) as ended from ${syncWork} where ${jobsLease.isLeased(held)}) where ended <> '[]'
        on conflict do update set ${bare(outbox.body)} = ${united(outbox, bare(outbox.body))} returning ${outbox.entity}`,
  )

/** Hands the jobs that have ended to the relay, in the commit of the end of one of them. */
export const handOverStatements = (ledger: D1Database, held: LeasedJobs, now: number): D1PreparedStatement[] => [
  handOver(ledger, held, now),
  prepared(
    ledger,
    sql`update ${syncWork} set ${bare(syncWork.jobs)} = (${OPEN}), ${bare(syncWork.runs)} = (${OPEN_RUNS}) where ${jobsLease.isLeased(held)}`,
  ),
]

/** Ends a lease, and hands the jobs that have ended to the relay. `isMore`: another job is due already. */
export async function releaseLease(ledger: D1Database, held: LeasedJobs, now: number): Promise<{ isNotified: boolean; isMore: boolean }> {
  const [notified, , left] = await ledger.batch<{ due_at?: number }>([
    handOver(ledger, held, now),
    prepared(
      ledger,
      sql`delete from ${syncWork} where ${jobsLease.isLeased(held)} and not exists (select 1 from ${JOBS_OF_WORK} where ${s.open} = 1)`,
    ),
    prepared(
      ledger,
      sql`update ${syncWork} set ${bare(syncWork.token)} = null, ${bare(syncWork.leased_at)} = null, ${bare(syncWork.lease_until)} = null,
            ${bare(syncWork.claim_per_job)} = 0, ${bare(syncWork.jobs)} = (${OPEN}), ${bare(syncWork.runs)} = (${OPEN_RUNS}),
            ${bare(syncWork.due_at)} = (select min(${s.not_before}) from ${JOBS_OF_WORK} where ${s.open} = 1)
          where ${jobsLease.isLeased(held)} returning ${syncWork.due_at}`,
    ),
  ])
  const [row] = left!.results
  return { isNotified: notified!.results.length > 0, isMore: row !== undefined && row.due_at! <= now }
}

/**
 * RFCs with a job that should have been taken by now, because its message was lost, or whose lease ran out, because its worker died.
 */
export const stuckStatement = (ledger: D1Database, now: number, since: number, limit: number) =>
  prepared(
    ledger,
    sql`select ${syncWork.entity}, ${syncWork.is_interactive} from ${syncWork}
        where (${syncWork.token} is null and ${syncWork.due_at} <= ${since}) or ${syncWork.lease_until} < ${now} limit ${limit}`,
  )

/** Makes the jobs of an RFC that are left due now. */
export const hastenWork = (ledger: D1Database, entity: number): D1PreparedStatement =>
  prepared(ledger, sql`update ${syncWork} set ${bare(syncWork.due_at)} = 0 where ${syncWork.entity} = ${entity} and ${syncWork.due_at} > 0`)

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
  /** Whether somebody may wait for its jobs. */
  is_interactive: boolean
  /** Whether it is of a range that was asked for, and of no extractor. */
  is_range?: boolean
}

const [requestS, requestE, p] = [alias(syncJobs, 's'), alias(extractions, 'e'), alias(partitions, 'p')]
const FIRST_REQUESTER = bare(partitions.organization_id)

/** The identifier of the newest job of the requested source and month `w`. One seek, however many jobs there are. */
const NEWEST = sql`(select max(${syncJobs.job_id}) from ${syncJobs}
  where ${syncJobs.entity} = w.value->>0 and ${syncJobs.source} = w.value->>1 and ${syncJobs.month} = w.value->>2)`
/** The condition that `s` is the newest job of the requested source and month `w`. */
const IS_NEWEST = isJob(requestS, sql`w.value->>0`, [sql`w.value->>1`, sql`w.value->>2`, NEWEST])
/** The requested sources and months `w` of a JSON list, each with its newest job `s`. */
const requestedJobs = (json: string | SQL): SQL => sql`json_each(${json}) w cross join ${syncJobs} ${requestS} on ${IS_NEWEST}`
/** The newest job serves a run when it is open, or succeeded after the run's instant. It is joined instead of repeated (decisions.md 5). */
const serves = (instant: number | SQL): SQL =>
  sql`(${requestS.open} = 1 or (${requestS.status} = 'succeeded' and max(coalesce(${requestS.finished_at}, 0), ${requestS.as_of}) >= ${instant}))`
/** Attempts of the job `s` that the run does not share: those that ended in a wait or, of a job that is running or done, all but the last. */
const ATTEMPTS_BEFORE = sql`${requestS.attempts} - (${requestS.status} <> 'queued')`
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

/** A run that finds a finished job joins it, and its organization receives the job's event once, like those that joined earlier. */
const joinFinished = (ledger: D1Database, requested: string, { organization_id, instant, now }: RequestingRun): D1PreparedStatement[] => {
  // Jobs that have finished, serve the run, and do not name the organization yet.
  const found = sql`${requestedJobs(requested)} where ${requestS.open} = 0 and ${serves(instant)} and not exists (
    select 1 from json_each(${requestersOf(requestS)}) o where o.value = ${organization_id})`
  return [
    prepared(
      ledger,
      sql`${INTO_OUTBOX}
          select ${requestS.entity}, ${`${ENDED_JOBS}:${organization_id}`}, ${ENDED_JOBS}, json_array(${organization_id}),
            json_group_array(json_array(${requestS.source}, ${requestS.month}, ${requestS.job_id})), ${now}
          from ${found} group by ${requestS.entity}
          on conflict do update set ${bare(outbox.body)} = ${united(outbox, bare(outbox.body))}, ${bare(outbox.created_at)} = excluded.created_at`,
    ),
    prepared(
      ledger,
      sql`update ${syncJobs} set ${bare(syncJobs.organizations)} = json_insert(${REQUESTERS}, '$[#]', ${organization_id}),
            ${bare(syncJobs.late)} = json_insert(coalesce(${syncJobs.late}, '[]'), '$[#]', ${organization_id})
          where ${[syncJobs.entity, syncJobs.source, syncJobs.month, syncJobs.job_id]} in (
            select ${requestS.entity}, ${requestS.source}, ${requestS.month}, ${requestS.job_id} from ${found})`,
    ),
  ]
}

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
  const { organization_id, run_id, instant, now, is_interactive } = run
  const rows = jsonChunks(requested.map(({ entity, source, month, job_id, not_before }) => [entity, source, month, job_id, not_before]))
  const insertEntities = prepared(
    ledger,
    sql`insert into ${partitions} ${[partitions.entity, partitions.rfc, partitions.organization_id].map(bare)}
        select value->>0, value->>1, ${organization_id} from json_each(${JSON.stringify(entities.map(({ entity, rfc }) => [entity, rfc]))}) where true
        on conflict do update set ${FIRST_REQUESTER} = excluded.${FIRST_REQUESTER} where ${partitions.organization_id} is null`,
  )
  const insertJobs = rows.map((json) =>
    prepared(
      ledger,
      // A clock that is behind makes no job older than the one before.
      sql`insert into ${syncJobs} ${NEW_JOB}
          select w.value->>0, w.value->>1, w.value->>2, max(w.value->>3, coalesce(${requestS.job_id} || '0', '')),
            (select json_array(${organization_id}) from ${partitions} ${p}
              where ${p.entity} = w.value->>0 and ${p.organization_id} <> ${organization_id}), 1,
            ${instant}, w.value->>4, 0, ${now} - ${instant}, 0, 0, 0, 0
          from json_each(${json}) w left join ${syncJobs} ${requestS} on ${IS_NEWEST} where ${requestS.job_id} is null or not ${serves(instant)}`,
    ),
  )
  const [named, mayBeEarlier] = [isNamed(organization_id), mayStartEarlier(organization_id)]
  const join = rows.map((json) =>
    prepared(
      ledger,
      sql`update ${syncJobs} set
            ${bare(syncJobs.organizations)} = case when ${named} then ${syncJobs.organizations}
              else json_insert(${REQUESTERS}, '$[#]', ${organization_id}) end,
            ${bare(syncJobs.not_before)} = case when ${mayBeEarlier} then min(${syncJobs.not_before}, r.not_before) else ${syncJobs.not_before} end,
            ${bare(syncJobs.error_class)} = nullif(${syncJobs.error_class}, 'invalid_credentials')
          from (
            select value->>0 as entity, value->>1 as source, value->>2 as month, value->>4 as not_before, ${NEWEST} as job_id
            from json_each(${json}) w) r
          where ${isJob(syncJobs, sql`r.entity`, [sql`r.source`, sql`r.month`, sql`r.job_id`])}
            and ${syncJobs.open} = 1 and (not ${named} or (${mayBeEarlier} and r.not_before < ${syncJobs.not_before}))`,
    ),
  )
  const work = [syncWork.jobs, syncWork.runs, syncWork.due_at, syncWork.is_interactive] as const
  const [newJobs, newRuns, newDueAt, newIsAwaited] = work.map((column) => sql`excluded.${bare(column)}`)
  const leave = rows.map((json) =>
    prepared(
      ledger,
      sql`insert into ${syncWork} ${[syncWork.entity, ...work].map(bare)}
          select ${requestS.entity}, json_group_array(json_array(${requestS.source}, ${requestS.month}, ${requestS.job_id})), json_array(json_array(${organization_id}, ${run_id})),
            min(${requestS.not_before}), ${Number(is_interactive)}
          from ${requestedJobs(json)} where ${requestS.open} = 1 group by ${requestS.entity}
          on conflict do update set ${bare(syncWork.jobs)} = ${united(syncWork, bare(syncWork.jobs))},
            ${bare(syncWork.runs)} = ${united(syncWork, bare(syncWork.runs))}, ${bare(syncWork.due_at)} = min(${syncWork.due_at}, ${newDueAt}),
            ${bare(syncWork.is_interactive)} = max(${syncWork.is_interactive}, ${newIsAwaited})
          where ${newDueAt} < ${syncWork.due_at} or ${newIsAwaited} > ${syncWork.is_interactive}
          or exists (select 1 from json_each(${newJobs}) where value not in (select value from json_each(${syncWork.jobs})))
          or exists (select 1 from json_each(${newRuns}) where value not in (select value from json_each(${syncWork.runs})))`,
    ),
  )
  const joined = rows.flatMap((json) => joinFinished(ledger, json, run))
  const asked = JSON.stringify(requested.map(({ entity, source, month, job_id, is_gap }) => [entity, source, month, job_id, is_gap]))
  const columns = [
    ...[extractions.organization_id, extractions.entity, extractions.run_id, extractions.n, extractions.instant, extractions.jobs],
    ...[extractions.dispatched, extractions.gap_jobs, extractions.requested_at, extractions.is_range, extractions.attempts_before],
  ]
  const record = prepared(
    ledger,
    sql`with served as materialized (
          select ${requestS.entity}, ${requestS.source}, ${requestS.month}, ${requestS.job_id}, ${requestS.job_id} = w.value->>3 as made, w.value->>4 as is_gap,
            ${ATTEMPTS_BEFORE} as attempts_before
          from ${requestedJobs(asked)} where ${serves(instant)})
        insert into ${extractions} ${columns.map(bare)}
        select ${organization_id}, entity, ${run_id}, 1 + coalesce((
            select ${requestE.n} from ${extractions} ${requestE} where ${requestE.organization_id} = ${organization_id} and ${requestE.entity} = c.entity
            order by ${requestE.run_id} desc limit 1), 0),
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
        on conflict do nothing`,
  )
  const covered = sql`json_each(${JSON.stringify(entities.map(({ entity }) => entity))}) b cross join ${extractions} ${requestE}
    on ${requestE.organization_id} = ${organization_id} and ${requestE.entity} = b.value`
  const recorded = sql`${covered} and ${requestE.run_id} = ${run_id}`
  // An extraction that found everything finished ends at once.
  const end = prepared(
    ledger,
    sql`${INTO_OUTBOX}
        select ${requestE.entity}, ${`${ENDED_JOBS}:${organization_id}`}, ${ENDED_JOBS}, json_array(${organization_id}),
          json_array(json_array(${RUN_ENTRY}, ${organization_id}, ${run_id})), ${now}
        from ${recorded}
        where ${requestE.requested_at} = ${now} and not exists (
          select 1 from json_each(${requestE.jobs}) j cross join json_each(j.value) x cross join json_each(x.value) m
          cross join ${syncJobs} ${requestS} on ${isJob(requestS, requestE.entity, ASKED_FOR)} where ${requestS.open} = 1)
        on conflict do update set ${bare(outbox.body)} = ${united(outbox, bare(outbox.body))}, ${bare(outbox.created_at)} = excluded.created_at`,
  )
  const outcome = prepared(ledger, sql`select ${requestE.entity}, ${requestE.dispatched}, ${requestE.gap_jobs} from ${recorded}`)
  const own = sql`from ${extractions} where ${extractions.organization_id} = ${organization_id} and ${extractions.entity} = b.value
    order by ${extractions.run_id}`
  const prune = prepared(
    ledger,
    sql`delete from ${extractions} where ${[extractions.organization_id, extractions.entity, extractions.run_id]} in (
          select ${requestE.organization_id}, ${requestE.entity}, ${requestE.run_id}
          from ${covered} and ${requestE.run_id} in (select ${extractions.run_id} ${own} limit 2)
          where ${requestE.n} <= (select ${extractions.n} ${own} desc limit 1) - ${KEPT_EXTRACTIONS})`,
  )
  const share = shareDocuments(ledger, run, requested)
  const notify = shareNotifications(ledger, run, requested)
  return [insertEntities, ...insertJobs, ...join, ...leave, ...joined, record, end, ...share, ...notify, prune, outcome]
}

/** Shows the organization what the mailboxes listed whose jobs it found finished. */
function shareNotifications(
  ledger: D1Database,
  { organization_id, instant, now }: RequestingRun,
  requested: readonly RequestedJob[],
): D1PreparedStatement[] {
  const jobs = requested.filter(({ source }) => source === MAILBOX_SOURCE).map(({ entity, source, month }) => [entity, source, month])
  if (jobs.length === 0) return []
  const readers = inlined(
    sql`select ${requestS.entity}, ?2 from ${requestedJobs(sql`?1`)} where ${requestS.open} = 0 and ${serves(sql`?3`)}`,
  )
  return notifyStatements(
    ledger,
    { sql: readers, values: [JSON.stringify(jobs), organization_id, instant] },
    organization_id,
    new Date(now),
  )
}

/** Shares the files of finished jobs with the organization: those of their sources that are current. */
function shareDocuments(
  ledger: D1Database,
  { organization_id, instant, now }: RequestingRun,
  requested: readonly RequestedJob[],
): D1PreparedStatement[] {
  const sources = requested.filter(({ month }) => month === '').map(({ entity, source, month }) => [entity, source, month])
  if (sources.length === 0) return []
  const json = JSON.stringify(sources)
  const { entity, source, organizations, is_current } = documents
  return [
    prepared(
      ledger,
      // The documents of an entity are read once, however many of its sources are shared.
      sql`update ${documents} set ${bare(organizations)} = json_set(${organizations}, '$.' || ${organization_id}, ${now})
          where ${entity} in (select value->>0 from json_each(${json})) and ${is_current} = 1
            and json_extract(${organizations}, '$.' || ${organization_id}) is null
            and (+${entity}, ${source}) in (select ${requestS.entity}, ${requestS.source} from ${requestedJobs(json)} where ${requestS.open} = 0 and ${serves(instant)})`,
    ),
  ]
}

/**
 * Selects the watermark of each entity and source: the instant of the organization's last extraction whose jobs for the source all succeeded,
 * in milliseconds, or null. A job that is forgotten has succeeded (prune-store.ts).
 */
export const watermarkStatement = (ledger: D1Database, organization_id: string, pairs: readonly [number, string][]) =>
  prepared(
    ledger,
    sql`select p.value->>0 as entity, p.value->>1 as source, (
          select ${requestE.instant} from ${extractions} ${requestE}
          where ${requestE.organization_id} = ${organization_id} and ${requestE.entity} = p.value->>0 and ${requestE.is_range} = 0
            and exists (select 1 from json_each(${requestE.jobs}) j where j.value -> (p.value->>1) is not null)
            and not exists (
              select 1 from json_each(${requestE.jobs}) j cross join json_each(j.value -> (p.value->>1)) m
              cross join ${syncJobs} ${requestS} on ${isJob(requestS, requestE.entity, [sql`p.value->>1`, sql`m.value`, sql`j.key`])}
              where ${requestS.status} <> 'succeeded')
          order by ${requestE.run_id} desc limit 1
        ) as instant
        from json_each(${JSON.stringify(pairs)}) p`,
  )
