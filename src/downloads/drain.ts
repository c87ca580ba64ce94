import { authorityOf } from '../authority/adapters.ts'
import { type Login, LoginRejected } from '../authority/port/authority.ts'
import type { DataSourceKey } from '../authority/port/catalog.ts'
import { ingestMetadata, ingestXmlPackage, metadataOf, type SliceOutcome, type Target } from '../cfdi/ingest/ingest.ts'
import type { MetadataRow } from '../cfdi/package/metadata.ts'
import { keepDocuments } from '../documents/documents.ts'
import { Unavailable } from '../failures.ts'
import { insertOutboxEvents, wakeRelay } from '../outbox/outbox.ts'
import type { System } from '../platform/context.ts'
import { errorMessage } from '../platform/log.ts'
import { loginOf, rejectCiec } from '../taxpayers/login.ts'
import { countSlice } from '../visibility/visible-counts.ts'
import { cancellationEvents } from './cancellation-events.ts'
import { announce, type DownloadHint, resumeDownloads } from './downloads.ts'
import { claimStatement, finishJobStatements, isClaimLost, type Job, parkStatement, progressStatement, requeueStatement } from './store.ts'

/** A job's lease and the lane's hold, prolonged with every slice that changes something. */
const LEASE_MS = 30_000
/** Jobs done on one message; then the next message goes on, so that no invocation nears the platform's limits. */
const JOBS_A_MESSAGE = 30
const MAX_ATTEMPTS = 12
const FIRST_WAIT_MS = 5_000
const LONGEST_WAIT_MS = 15 * 60_000
/** Of a job that waited for days only the last hours are told apart by the second: a row holds so much. */
const TOLD_APART_MS = 6 * 3_600_000
/** Jobs that wait for a login look again by themselves, should the word that one was accepted be lost. */
const PARKED_MS = 60 * 60_000

/** Waits grow with the attempts: 5 s, 10 s, 20 s … 15 min. */
const waitAfter = (attempts: number): number => Math.min(FIRST_WAIT_MS * 2 ** (attempts - 1), LONGEST_WAIT_MS)

/**
 * Does an RFC's queued jobs, one after the other, under its lane. Leases and retries are on the real clock. What becomes of a job:
 * settled; or put back with a wait (the authority is unavailable, or something broke); or, after twelve attempts, failed. A rejected
 * login parks all of the RFC's jobs. Claims and settlements are fenced by the job's token, slices by the book's version: of two workers
 * that do the same, each document is kept once and one settles.
 */
export async function drain(system: System, { shard, entity }: DownloadHint): Promise<void> {
  const lane = system.env.MUTEXES.getByName(String(entity))
  const holder = crypto.randomUUID()
  if (!(await lane.enter(holder, LEASE_MS))) return
  let isMore = true
  try {
    for (let done = 0; done < JOBS_A_MESSAGE && isMore; done++)
      isMore = await workOnNext(system, shard, entity, () => lane.enter(holder, LEASE_MS))
  } finally {
    isMore = (await lane.leave(holder)) || isMore
    await wakeRelay(system, shard)
  }
  if (isMore) await announce(system, [{ shard, entity }])
}

type Prolong = () => Promise<boolean>

/** Claims and does one job. False when there is none that can be done now. */
async function workOnNext(system: System, shard: number, entity: number, prolong: Prolong): Promise<boolean> {
  // Between jobs others have their turn: the local runtime answers no request while one that never waits goes on.
  await scheduler.wait(1)
  const ledger = system.settings.ledgers[shard]!
  const started = Date.now()
  const { results } = await claimStatement(ledger, entity, crypto.randomUUID(), started, started + LEASE_MS).all<Job>()
  const [job] = results
  if (!job) return false
  if (job.attempts > MAX_ATTEMPTS) {
    // It took its worker along every time, and would again.
    await ledger.batch(finishJobStatements(ledger, job, 'internal_error', Date.now()))
    return true
  }
  const login = await loginOf(system, entity)
  if (!login) {
    await park(system, { shard, entity })
    return false
  }
  await prolong()
  try {
    await fetchJob(system, ledger, job, login, prolong)
    return true
  } catch (error) {
    // Whoever has the claim now goes on with the RFC.
    if (isClaimLost(error)) return false
    if (error instanceof LoginRejected) {
      await rejectCiec({ ...system, now: new Date() }, entity, login)
      await wakeRelay(system, 'control')
      // Another organization's CIEC may be newer than the one that was rejected.
      if ((await loginOf(system, entity)) === null) await park(system, { shard, entity })
      else await requeueStatement(ledger, job, 'invalid_credentials', Date.now()).run()
      return true
    }
    await postpone(system, { shard, entity }, job, error)
    return true
  }
}

/** Nobody can log in: the RFC's jobs wait until somebody can, also when somebody could while this was written. */
async function park(system: System, call: DownloadHint): Promise<void> {
  await parkStatement(system.settings.ledgers[call.shard]!, call.entity, Date.now() + PARKED_MS).run()
  if ((await loginOf(system, call.entity)) !== null) await resumeDownloads(system, call)
}

async function postpone(system: System, call: DownloadHint, job: Job, error: unknown): Promise<void> {
  const ledger = system.settings.ledgers[call.shard]!
  const error_class = error instanceof Unavailable ? error.error_class : 'internal_error'
  console.error(
    JSON.stringify({
      level: 'error',
      request_id: system.requestId,
      job: job.job_id,
      attempts: job.attempts,
      error_class,
      error: errorMessage(error),
    }),
  )
  if (job.attempts >= MAX_ATTEMPTS) {
    await ledger.batch(finishJobStatements(ledger, job, error_class, Date.now()))
    return
  }
  const wait = waitAfter(job.attempts)
  await requeueStatement(ledger, job, error_class, Date.now() + wait).run()
  await system.env.DOWNLOADS.send(call, { delaySeconds: Math.ceil(wait / 1_000) })
}

async function fetchJob(system: System, ledger: D1Database, job: Job, login: Login, prolong: Prolong): Promise<void> {
  const now = new Date(Math.max(Date.now(), job.as_of))
  const authority = authorityOf(system)
  if (job.month !== '') return fetchMonth(system, ledger, job, login, now, prolong)
  const files = await authority.documents(login, job.source as DataSourceKey, now)
  const { statements, created } = await keepDocuments({ ledger, files: system.env.FILES, now: new Date() }, job, files)
  const progress = progressStatement(
    ledger,
    job,
    { created, updated: 0, cancelled: 0, rejected: 0, first_issued_at: null, last_issued_at: null, tally: null },
    Date.now() + LEASE_MS,
  )
  await ledger.batch([...statements, progress, ...finishJobStatements(ledger, job, null, Date.now())])
}

/**
 * A month of CFDIs: what the metadata reports first, then the XML slice by slice, then the documents that only the metadata has and
 * those whose status it says has changed.
 */
async function fetchMonth(system: System, ledger: D1Database, job: Job, login: Login, until: Date, prolong: Prolong): Promise<void> {
  const target: Target = {
    ledger,
    files: system.env.FILES,
    entity: job.entity,
    rfc: login.rfc,
    now: new Date(),
    provenance: 'authority',
    sideStatements: (outcome) =>
      isIdle(outcome)
        ? []
        : [
            progressStatement(
              ledger,
              job,
              { ...outcome, tally: countSlice(outcome.changes, Math.max(job.as_of, until.getTime() - TOLD_APART_MS)) },
              Date.now() + LEASE_MS,
            ),
            ...insertOutboxEvents(
              ledger,
              outcome.cancellations.flatMap((it) => cancellationEvents(job.entity, it, until)),
              Date.now(),
            ),
          ],
  }
  const reported = new Map<string, MetadataRow>()
  const direction = job.source === 'sat_cfdi_issued' ? 'issued' : 'received'
  for await (const { kind, bytes } of authorityOf(system).download({ login, direction, month: job.month, until })) {
    if (kind === 'metadata') for (const row of metadataOf(bytes).rows) reported.set(row.uuid, row)
    else
      for await (const outcome of ingestXmlPackage(target, bytes, reported)) {
        for (const { uuid, status } of outcome.entries)
          if (uuid !== null && status !== 'rejected' && reported.get(uuid)?.cancelled === false) reported.delete(uuid)
        await prolong()
      }
  }
  for await (const _ of ingestMetadata(target, reported.values())) await prolong()
  await ledger.batch(finishJobStatements(ledger, job, null, Date.now()))
}

const isIdle = ({ created, updated, cancelled, rejected }: SliceOutcome): boolean => created + updated + cancelled + rejected === 0
