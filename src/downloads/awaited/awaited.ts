import { deleteFetch } from '../../authority/fetcher/fetches.ts'
import { deleteUploads } from '../../authority/fetcher/states.ts'
import type { System } from '../../platform/context.ts'
import { commit, type Statement } from '../../platform/db/commit.ts'
import { changesOf, readFirst, readRows } from '../../platform/db/statement.ts'
import { clock } from '../../platform/time/clock.ts'
import { pageByPage } from '../../platform/work/pages.ts'
import { announce } from '../downloads.ts'
import { waitingSince } from '../progress-store.ts'
import { type OverFetch, openJob, overFetches, wakeStatements } from './awaited-store.ts'

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
