import { authorityOf } from '../authority/adapters.ts'
import { type Login, LoginRejected } from '../authority/port/authority.ts'
import type { DataSourceKey } from '../authority/port/catalog.ts'
import { type IngestTarget, ingestMetadata, ingestXmlPackage, type Outcomes, rejectedOf, type SliceOutcome } from '../cfdi/ingest/ingest.ts'
import { PackageRejected } from '../cfdi/package/directory.ts'
import { MonthMetadata } from '../cfdi/package/month-metadata.ts'
import { MOST_LISTED, type Rejection } from '../cfdi/package/rejections.ts'
import { keepDocuments } from '../documents/documents.ts'
import { Unavailable } from '../failures.ts'
import { insertOutboxEvents, wakeRelay } from '../outbox/outbox.ts'
import type { System } from '../platform/context.ts'
import { BudgetUsedUp } from '../platform/db/budget.ts'
import { log } from '../platform/log.ts'
import { type DownloadLogin, loginOf } from '../taxpayers/login.ts'
import { rejectCiec, verifyOutstanding } from '../taxpayers/verification.ts'
import { countSlice } from '../visibility/slice-counts.ts'
import { cancellationBody, cancellationEvent } from './cancellation-events.ts'
import { announce, type DownloadHint, resumeDownloads } from './downloads.ts'
import { insertCancellations } from './missed-store.ts'
import {
  claimStatement,
  finishJobStatements,
  interruptStatement,
  isClaimLost,
  type Job,
  type Progress,
  parkStatement,
  progressStatement,
  requeueStatement,
  retryStatement,
  separateStatement,
} from './store.ts'

/** How long a job is leased and the RFC's mutex is held. Each slice extends both. */
const LEASE_MS = 30_000
/** Jobs per message at most. The next message continues, so that RFCs take turns. */
const JOBS_A_MESSAGE = 25
/** The most statements of a job before and after its slices, and of a slice that has to be read again a few times. */
const JOB_STATEMENTS = 30
const SLICE_STATEMENTS = 100
const MAX_ATTEMPTS = 12
const FIRST_WAIT_MS = 5_000
const LONGEST_WAIT_MS = 15 * 60_000
/** Documents issued longer than this before the download are counted by day and not one by one, which limits the size of the job's row. */
const COUNTED_ONE_BY_ONE_MS = 6 * 3_600_000
/** Jobs that wait for a login try again after this long, in case the resumption after an accepted CIEC is lost. */
const PARKED_MS = 60 * 60_000

/** The wait in milliseconds after so many attempts: 5 s, 10 s, 20 s … 15 min. */
const waitAfter = (attempts: number): number => Math.min(FIRST_WAIT_MS * 2 ** (attempts - 1), LONGEST_WAIT_MS)

/**
 * Verifies the CIECs of an RFC that are to be verified, and runs its due jobs one after the other, while holding its mutex. Leases and
 * retries use the real clock. A job succeeds, returns to the queue with a wait (the authority is unavailable, or an error occurred), or fails
 * after twelve attempts. A job for whose organizations there is no verified CIEC is parked. When the budget ends, the job that is running
 * returns to the queue and another invocation continues with it. The job's token fences its progress and its end, and `cfdi_commits`
 * fences slices: when two workers run the same job, each document is stored once and one of them finishes the job.
 */
export async function drain(system: System, { shard, entity }: DownloadHint): Promise<void> {
  const mutex = system.env.MUTEXES.getByName(String(entity))
  const holder = crypto.randomUUID()
  if (!(await mutex.enter(holder, LEASE_MS))) return
  let isMore = true
  try {
    if (await verifyOutstanding(atNow(system), entity)) await resumeDownloads(system, [{ shard, entity }])
    for (let done = 0; done < JOBS_A_MESSAGE && isMore && system.budget.allows(JOB_STATEMENTS + SLICE_STATEMENTS); done++)
      isMore = await runNextJob(system, shard, entity, () => mutex.enter(holder, LEASE_MS))
  } finally {
    isMore = (await mutex.leave(holder)) || isMore
    await wakeRelay(system, shard)
  }
  if (isMore) await announce(system, [{ shard, entity }])
}

/** Extends the time for which the mutex is held. */
type Extend = () => Promise<boolean>

/** Claims and runs one job. Returns false when no job can run now. */
async function runNextJob(system: System, shard: number, entity: number, extend: Extend): Promise<boolean> {
  // Yields between jobs: the local runtime answers no other request while a handler never waits.
  await scheduler.wait(1)
  const ledger = system.settings.ledgers[shard]!
  const started = Date.now()
  const { results } = await claimStatement(ledger, entity, crypto.randomUUID(), started, started + LEASE_MS).all<Job>()
  const [claimed] = results
  if (!claimed) return false
  let job = claimed
  if (job.attempts > MAX_ATTEMPTS) {
    // Every attempt killed its worker.
    await ledger.batch(finishJobStatements(ledger, job, 'internal_error', Date.now()))
    return true
  }
  const credential = await loginFor(system, job)
  if (!credential) {
    await park(system, { shard, entity }, job)
    return true
  }
  await extend()
  try {
    job = await separate(ledger, job, credential)
    await runJob(system, ledger, job, credential.login, extend)
    return true
  } catch (error) {
    // The worker that holds the claim now continues with the RFC.
    if (isClaimLost(error)) return false
    if (error instanceof BudgetUsedUp) {
      await interruptStatement(ledger, job).run()
      return true
    }
    if (error instanceof LoginRejected) {
      await rejectCiec(atNow(system), entity, credential, job.as_of)
      // Another organization that asked for the job may have another CIEC.
      await retryStatement(ledger, job).run()
      return true
    }
    await postpone(system, { shard, entity }, job, error)
    return true
  }
}

const atNow = (system: System): System => ({ ...system, now: new Date() })

/** The organizations that asked for a job, also those that wait for a login while it goes on for others. */
const organizationsOf = ({ organizations, carried }: Job): string[] => [
  ...new Set([...(JSON.parse(organizations) as string[]), ...Object.keys(JSON.parse(carried) as object)]),
]

/**
 * Goes on with a job for the organizations that have a verified CIEC, as if the others had not asked for it. These wait for theirs, as they
 * would if they were alone.
 */
async function separate(ledger: D1Database, job: Job, { organizations }: DownloadLogin): Promise<Job> {
  const named = JSON.parse(job.organizations) as string[]
  const waiting = organizationsOf(job).filter((one) => !organizations.includes(one))
  const absent = named.filter((one) => waiting.includes(one))
  const back = organizations.filter((one) => !named.includes(one))
  if (absent.length + back.length > 0) await separateStatement(ledger, job, { absent, back }).run()
  return { ...job, hasWaiting: waiting.length > 0 }
}

/** A verified login of an organization that asked for the job; null when there is none. */
async function loginFor(system: System, job: Job): Promise<DownloadLogin | null> {
  const login = await loginOf(system, job.entity, organizationsOf(job))
  // A refusal, just now, may have left only CIECs that are to be verified.
  if (login || !(await verifyOutstanding(atNow(system), job.entity))) return login
  return loginOf(system, job.entity, organizationsOf(job))
}

/** Makes the jobs of the same organizations wait for an accepted CIEC, and resumes them if one was accepted meanwhile. */
async function park(system: System, hint: DownloadHint, job: Job): Promise<void> {
  await parkStatement(system.settings.ledgers[hint.shard]!, job, Date.now() + PARKED_MS).run()
  if ((await loginOf(system, hint.entity, organizationsOf(job))) !== null) await resumeDownloads(system, [hint])
}

/** Puts a job back into the queue after a failed attempt, with a wait, or fails it after the last attempt. */
async function postpone(system: System, hint: DownloadHint, job: Job, error: unknown): Promise<void> {
  const ledger = system.settings.ledgers[hint.shard]!
  const error_class = error instanceof Unavailable ? error.error_class : 'internal_error'
  log.error(system, 'An attempt of a download job failed.', { job: job.job_id, attempts: job.attempts, error_class }, error)
  if (job.attempts >= MAX_ATTEMPTS) {
    await ledger.batch(finishJobStatements(ledger, job, error_class, Date.now()))
    return
  }
  const wait = waitAfter(job.attempts)
  await requeueStatement(ledger, job, error_class, Date.now() + wait).run()
  await system.env.DOWNLOADS.send(hint, { delaySeconds: Math.ceil(wait / 1_000) })
}

const NOTHING: Progress = { created: 0, updated: 0, cancelled: 0, rejected: 0, counts: null, rejected_files: [] }

async function runJob(system: System, ledger: D1Database, job: Job, login: Login, extend: Extend): Promise<void> {
  const now = new Date(Math.max(Date.now(), job.as_of))
  const authority = authorityOf(system)
  if (job.month !== '') return downloadMonth(system, ledger, job, login, now, extend)
  const files = await authority.documents(login, job.source as DataSourceKey, now)
  const { statements, created } = await keepDocuments({ ledger, files: system.env.FILES, now: new Date() }, job, files)
  const progress = progressStatement(ledger, job, { ...NOTHING, created }, Date.now() + LEASE_MS)
  await ledger.batch([...statements, progress, ...finishJobStatements(ledger, job, null, Date.now())])
}

/**
 * Downloads a month of CFDIs: reads the metadata, ingests the XML slice by slice, and then ingests the rows of the documents that only the
 * metadata has and of those that it reports as cancelled.
 */
async function downloadMonth(system: System, ledger: D1Database, job: Job, login: Login, until: Date, extend: Extend): Promise<void> {
  let rejected: readonly Rejection[] = []
  const withRejected = (more: readonly Rejection[]) => [...rejected, ...more].slice(0, MOST_LISTED)
  const target: IngestTarget = {
    ledger,
    files: system.env.FILES,
    entity: job.entity,
    rfc: login.rfc,
    now: new Date(),
    provenance: 'authority',
    beforeSlice: () => system.budget.require(SLICE_STATEMENTS),
    passesOverStored: job.is_continued === 1,
    sideStatements: (outcome) => {
      if (isIdle(outcome)) return []
      const counts = countSlice(outcome.changes, Math.max(job.as_of, until.getTime() - COUNTED_ONE_BY_ONE_MS))
      const rejected_files = withRejected(rejectedOf(outcome.entries))
      const progress = progressStatement(ledger, job, { ...outcome, counts, rejected_files }, Date.now() + LEASE_MS)
      return [progress, ...cancellationStatements(ledger, job, outcome, until)]
    },
  }
  const metadata = new MonthMetadata()
  const ingest = async (outcomes: Outcomes, isXml: boolean) => {
    for await (const { entries } of outcomes) {
      rejected = withRejected(rejectedOf(entries))
      if (isXml) metadata.deliver(entries)
      await extend()
    }
  }
  const unread = () => {
    const { count, first } = metadata.rejected
    const progress = { ...NOTHING, rejected: count, rejected_files: withRejected(first) }
    return count === 0 ? [] : [progressStatement(ledger, job, progress, Date.now() + LEASE_MS)]
  }
  const direction = job.source === 'sat_cfdi_issued' ? 'issued' : 'received'
  for await (const { kind, bytes } of authorityOf(system).download({ login, direction, month: job.month, until })) {
    try {
      if (kind === 'metadata') await metadata.add(bytes)
      else await ingest(ingestXmlPackage(target, bytes, metadata.statuses), true)
    } catch (error) {
      if (!(error instanceof PackageRejected)) throw error
      metadata.rejected.add({ name: error.file, line: null, code: error.code, uuid: null })
      await ledger.batch(unread())
      throw error
    }
  }
  await ingest(
    ingestMetadata(target, () => metadata.rowsLeft()),
    false,
  )
  const end = { until: until.getTime(), isIncomplete: rejected.length + metadata.rejected.count > 0 }
  await ledger.batch([...unread(), ...finishJobStatements(ledger, job, null, Date.now(), end)])
}

/** Announces the cancellations of a slice, and keeps them for those whose connections are not active. */
function cancellationStatements(
  ledger: D1Database,
  { entity, as_of }: Job,
  { cancellations }: SliceOutcome,
  until: Date,
): D1PreparedStatement[] {
  const now = Date.now()
  const bodies = cancellations.map((cancellation) => cancellationBody(cancellation, until.getTime(), as_of))
  const events = bodies.map((body) => cancellationEvent(entity, body))
  return [...insertOutboxEvents(ledger, events, now), ...insertCancellations(ledger, entity, bodies, now)]
}

const isIdle = ({ created, updated, cancelled, rejected }: SliceOutcome): boolean => created + updated + cancelled + rejected === 0
