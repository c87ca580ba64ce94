import type { Ctx, System } from '../../platform/context.ts'
import { readFirst, readRows } from '../../platform/db/statement.ts'
import { Failure, notFound } from '../../platform/failures.ts'
import { wakeRelay } from '../../platform/outbox/outbox.ts'
import type { Connection } from '../../platform/tenant/tenant.ts'
import { clock } from '../../platform/time/clock.ts'
import { shownJobId } from '../../taxpayers/visibility/jobs.ts'
import { announce } from '../downloads.ts'
import { handOverStatements, type JobKey, releaseLease, takeOver } from '../lease-store.ts'
import { jobsOfOrganization } from '../progress-store.ts'
import { commitJob, finishJobStatements, readOpenJob } from '../store.ts'

/** More jobs than an organization is shown of an RFC. */
const JOBS = 10_000
/** How often it is tried again while a worker has the jobs of the RFC, and the time between. */
const TRIES = 20
const BETWEEN_MS = 100

/** Returns the job that a connection knows by an identifier, and whether it has ended. Throws Failure 404 sync_job.not_found. */
export async function findJob(
  { settings, organization }: Ctx,
  connection: Connection,
  job_id: string,
): Promise<{ key: JobKey; isEnded: boolean }> {
  const { shard, entity, fiscal_entity_id } = connection
  const page = { after: null, status: null, isActive: true, limit: JOBS }
  for (const job of await readRows(settings.ledgers[shard]!, jobsOfOrganization(organization.id, entity, page)))
    if ((await shownJobId(fiscal_entity_id, job.source, job.month, job.known_as)) === job_id)
      return { key: [job.source, job.month, job.job_id], isEnded: job.open === 0 }
  throw notFound('sync_job')
}

/**
 * Ends a job as failed, for all who asked for it, as a worker would after its last attempt. Throws Failure 409 sync_job.ended when it has ended,
 * and sync_job.running while a worker has the jobs of the RFC.
 */
export async function failJob(
  system: System,
  { shard, entity }: Pick<Connection, 'shard' | 'entity'>,
  key: JobKey,
  error_class: string,
): Promise<void> {
  const ledger = system.settings.ledgers[shard]!
  const held = { entity, token: crypto.randomUUID() }
  const isFree = () => takeOver(ledger, held, clock.now())
  let isTaken = await isFree()
  for (let n = 0; n < TRIES && !isTaken; n++) {
    await scheduler.wait(BETWEEN_MS)
    isTaken = await isFree()
  }
  const now = clock.now()
  if (!isTaken)
    throw new Failure('conflict', 'sync_job.running', 'A worker has the downloads of this fiscal entity at the moment. Try again.')
  try {
    const job = await readFirst(ledger, readOpenJob({ ...held, now }, key))
    if (!job) throw jobEnded()
    await commitJob(ledger, job, [...finishJobStatements(job, error_class, now), ...handOverStatements(held, now)])
  } finally {
    const { isMore } = await releaseLease(ledger, held, clock.now())
    await wakeRelay(system, shard)
    if (isMore) await announce(system, [{ shard, entity }], true)
  }
}

export const jobEnded = (): Failure =>
  new Failure('conflict', 'sync_job.ended', 'The download has ended. Run an extractor, and fail a job that is queued or waiting.')
