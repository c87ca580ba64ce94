import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { deleteFetch } from '../authority/fetcher/fetches.ts'
import { deleteUploads } from '../authority/fetcher/states.ts'
import { fetches } from '../authority/fetcher/tables.ts'
import { entities } from '../cfdi/tables.ts'
import type { System } from '../platform/context.ts'
import { commit, type Statement } from '../platform/db/commit.ts'
import { bare, changesOf, readFirst, readRows } from '../platform/db/statement.ts'
import { clock } from '../platform/time/clock.ts'
import { pageByPage } from '../platform/work/pages.ts'
import { requestersOf } from '../taxpayers/visibility/jobs.ts'
import { announce } from './downloads.ts'
import { syncJobs } from './jobs/tables.ts'
import { hastenWork } from './lease-store.ts'
import { waitingSince } from './progress-store.ts'

const [s, f] = [alias(syncJobs, 's'), alias(fetches, 'f')]

/** The requesters of a job `s`, including those that wait for a login, as a JSON array. */
export const ALL_REQUESTERS: SQL = sql`(
  select json_group_array(value) from (
    select value from json_each(${requestersOf(s)}) union select key from json_each(${s.deferred})))`

/** An open job: its RFC, and who asked for it, also those that wait for a login, as a JSON array. Null when there is none. */
const openJob = (entity: number, source: string, month: string) =>
  sql<{ organizations: string; job_id: string; rfc: string }>`select ${ALL_REQUESTERS} as organizations, ${s.job_id}, (
            select ${entities.rfc} from ${entities} where ${entities.entity} = ${s.entity}) as rfc
        from ${syncJobs} ${s} where ${s.entity} = ${entity} and ${s.source} = ${source} and ${s.month} = ${month} and ${s.open} = 1
        order by ${s.job_id} desc limit 1`

interface OverFetch {
  fetch: number
  entity: number
  source: string
  month: string
  files: string
  is_open: number
}

/** Fetches that are over and whose jobs have ended, or sleep although they could go on; with whether the job is open. */
const overFetches = (now: number, limit: number): SQL<OverFetch> =>
  sql<OverFetch>`select ${f.fetch}, ${f.entity}, ${f.source}, ${f.month}, ${f.files}, ${s.job_id} is not null as is_open
        from ${fetches} ${f} indexed by fetches_over
        left join ${syncJobs} ${s} on ${s.entity} = ${f.entity} and ${s.source} = ${f.source} and ${s.month} = ${f.month} and ${s.open} = 1
        where ${f.state} in ('complete', 'failed') and (${s.job_id} is null or (${s.not_before} > ${now} and ${s.error_class} is null))
        limit ${limit}`

/** Makes an open job due now, unless it waits for a login or after an error. */
const wakeStatements = ({ entity, source, month }: { entity: number; source: string; month: string }): SQL[] => [
  sql`update ${syncJobs} set ${bare(syncJobs.not_before)} = 0 where ${syncJobs.entity} = ${entity} and ${syncJobs.source} = ${source}
        and ${syncJobs.month} = ${month} and ${syncJobs.open} = 1 and ${syncJobs.error_class} is null`,
  hastenWork(entity),
]

/** A job that waits for an external fetcher. */
interface AwaitingJob {
  shard: number
  entity: number
  source: string
  month: string
}

/** The RFC of a job and the organizations that asked for it; null when it is not open any more. */
export async function awaitingJob({ settings }: System, { shard, entity, source, month }: AwaitingJob) {
  const job = await readFirst(settings.ledgers[shard]!, openJob(entity, source, month))
  return job && { ...job, organizations: JSON.parse(job.organizations) as string[] }
}

/** Since which run each organization has waited for downloads that end with a job, as `rejectLogin` gets it. */
export const stoppedWith = ({ settings }: System, { shard, ...job }: AwaitingJob & { job_id: string }): Promise<Map<string, number>> =>
  waitingSince(settings.ledgers[shard]!, job)

/** Commits statements, and has a job run in the same commit. */
export async function wakeJob(system: System, job: AwaitingJob, statements: readonly Statement[] = []): Promise<D1Result[]> {
  const ledger = system.settings.ledgers[job.shard]!
  const results = await commit(ledger, [...statements, ...wakeStatements(job)])
  await announce(system, [job])
  return results
}

const SWEEP_LIMIT = 50
/** The most statements of a ledger: three for each fetch. */
const SWEEP_STATEMENTS = 3 * SWEEP_LIMIT + 1

/**
 * Wakes jobs that fell asleep while the fetcher was done, and forgets its fetches for jobs that have ended. A task, whose cursor is a
 * ledger.
 */
export const sweepFetches = async (system: System, cursor = ''): Promise<string | null> =>
  system.settings.fetcherKeys === null
    ? null
    : pageByPage(system, SWEEP_STATEMENTS, cursor, async (from, fail) => {
        const shard = Number(from)
        const ledger = system.settings.ledgers[shard]!
        for (const row of await readRows(ledger, overFetches(clock.now(), SWEEP_LIMIT))) await settle(system, shard, row).catch(fail)
        return shard + 1 < system.settings.ledgers.length ? `${shard + 1}` : null
      })

async function settle(system: System, shard: number, row: OverFetch): Promise<void> {
  if (row.is_open) {
    await wakeJob(system, { ...row, shard })
    return
  }
  await deleteUploads(system, row)
  await changesOf(system.settings.ledgers[shard]!, deleteFetch(row.fetch))
}

/** Where uploads of the fetcher are in the bucket. */
export const FETCHED = 'fetcher/'
/** No job waits for so long. */
const KEPT_MS = 9 * 86_400_000
const PAGE = 500

/** Deletes uploads that a crash left without a note. A task, whose cursor is a cursor of the bucket. */
export async function pruneUploads({ env }: System, cursor = ''): Promise<string | null> {
  const listed = await env.FILES.list({ prefix: FETCHED, limit: PAGE, ...(cursor === '' ? {} : { cursor }) })
  const old = listed.objects.filter(({ uploaded }) => uploaded.getTime() < Date.now() - KEPT_MS).map(({ key }) => key)
  if (old.length > 0) await env.FILES.delete(old)
  return listed.truncated ? listed.cursor : null
}
