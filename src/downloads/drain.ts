import { authorityOf } from '../authority/adapters.ts'
import { loginsOf } from '../authority/logins.ts'
import { AuthorityFailed, type DataSourceKey, type Login, LoginRejected, type Package } from '../authority/port/authority.ts'
import { type IngestTarget, ingestMetadata, ingestXmlPackage, type Outcomes, rejectedOf, type SliceOutcome } from '../cfdi/ingest/ingest.ts'
import { PackageRejected } from '../cfdi/package/central-record.ts'
import { MOST_LISTED, MonthMetadata, type Rejection } from '../cfdi/package/rejections.ts'
import { countMissingXml } from '../cfdi/summary/missing-xml.ts'
import { keepDocuments } from '../documents/documents.ts'
import type { Notify } from '../documents/mailbox/fetch.ts'
import { keepNotifications } from '../documents/mailbox/keep.ts'
import { readersOfFetched } from '../documents/mailbox/mirrored.ts'
import { refreshListed } from '../lists/listed/counterparties.ts'
import type { System } from '../platform/context.ts'
import { Unavailable } from '../platform/failures.ts'
import { log } from '../platform/log.ts'
import { wakeRelay } from '../platform/outbox/outbox.ts'
import { BudgetUsedUp } from '../platform/work/budget.ts'
import { type DownloadLogin, Logins } from '../taxpayers/login.ts'
import { rejectLogin } from '../taxpayers/login-answers.ts'
import { verifyOutstanding } from '../taxpayers/verification.ts'
import { isShortOf, isWhole } from '../taxpayers/visibility/coverage.ts'
import { countSlice } from '../taxpayers/visibility/slice-counts.ts'
import { readBoundaries, readLastRun } from './counts/counts-store.ts'
import { announce, type DownloadHint, queueOf, resumeDownloads } from './downloads.ts'
import { handOverStatements, type JobKey, jobsLease, type LeasedJobs, releaseLease, takeLease } from './lease-store.ts'
import { cancellationStatements } from './missed-cancellations.ts'
import { requestsOf, waitingSince } from './progress-store.ts'
import {
  claimJob,
  commitJob,
  continueWithoutStatement,
  finishJobStatements,
  interruptStatement,
  type Job,
  type Progress,
  parkStatement,
  progressStatements,
  requeueStatement,
  retryStatement,
  sleepStatement,
} from './store.ts'

/** Jobs per message at most. The next message continues, so that RFCs take turns. */
const JOBS_A_MESSAGE = 25

interface JobEnd {
  /** Whether the job changed something. */
  isChanged?: boolean
  /** Statements of the same commit. */
  more?: readonly D1PreparedStatement[]
  until?: number
  joined?: number
  isIncomplete?: boolean
}

/** Has the lease on the jobs of an RFC while it runs them. */
class DownloadLease {
  readonly held: LeasedJobs
  /** Whether something is to be relayed that the relay was not called for. */
  hasUnrelayedChanges = false
  /** Whether documents came that may have new counterparties. */
  hasNew = false
  /** Whether the lease before ran out. */
  claimPerJob = false
  /** Whether somebody may wait for the RFC's jobs. */
  isInteractive = true
  /** When the first of the jobs that wait for the authority is to be tried again, in milliseconds. */
  asleepUntil = Number.POSITIVE_INFINITY
  #until = 0

  readonly system: System
  readonly hint: DownloadHint
  /** Learns of those who can read a document of the mailbox that no event tells of. */
  readonly notify: Notify
  readonly ledger: D1Database
  readonly logins: Logins

  constructor(system: System, hint: DownloadHint, notify: Notify) {
    this.system = system
    this.hint = hint
    this.notify = notify
    this.held = { entity: hint.entity, token: crypto.randomUUID() }
    this.ledger = system.settings.ledgers[hint.shard]!
    this.logins = new Logins(system, hint.entity)
  }

  /** Takes the lease. Returns the jobs that are due; null when somebody else has it, or nothing is due. */
  async take(): Promise<JobKey[] | null> {
    this.#until = jobsLease.end
    const lease = await takeLease(this.ledger, this.held, Date.now(), JOBS_A_MESSAGE)
    this.claimPerJob = lease?.claimPerJob ?? false
    this.isInteractive = lease?.isInteractive ?? true
    return lease?.jobs ?? null
  }

  /** Extends the lease when half of it has passed. */
  async extend(): Promise<void> {
    if (this.#until - Date.now() > jobsLease.milliseconds / 2) return
    this.#until = jobsLease.end
    await jobsLease.extend(this.ledger, this.held).run()
  }

  /** Commits the end of a job. What changed something is relayed at once. */
  async finish(job: Job, error_class: string | null, { isChanged = false, more = [], ...end }: JobEnd = {}): Promise<void> {
    const now = Date.now()
    const statements = [...more, ...finishJobStatements(this.ledger, job, error_class, now, end)]
    await commitJob(this.ledger, job, [...statements, ...(isChanged ? handOverStatements(this.ledger, job, now) : [])])
    if (!isChanged) return
    this.hasUnrelayedChanges = false
    await wakeRelay(this.system, this.hint.shard)
  }

  /** Ends the lease. Returns whether another job is due. */
  async release(): Promise<boolean> {
    const { isNotified, isMore } = await releaseLease(this.ledger, this.held, Date.now())
    if (isNotified || this.hasUnrelayedChanges) await wakeRelay(this.system, this.hint.shard)
    return isMore
  }
}

/** The most statements of a job before and after its slices, and of a slice that has to be read again a few times. */
const JOB_STATEMENTS = 30
const SLICE_STATEMENTS = 100
const MAX_ATTEMPTS = 12
const FIRST_WAIT_MS = 5_000
const LONGEST_WAIT_MS = 15 * 60_000
/** The platform delays no message for longer. */
const LONGEST_DELAY_SECONDS = 12 * 3_600
/** Documents issued longer than this before the download are counted by day and not one by one, which limits the size of the job's row. */
const COUNTED_ONE_BY_ONE_MS = 6 * 3_600_000
/** Jobs that wait for a login try again after this long, in case the resumption after an accepted CIEC is lost. */
const PARKED_MS = 60 * 60_000

/** The wait in milliseconds after so many attempts: 5 s, 10 s, 20 s … 15 min. */
const waitAfter = (attempts: number): number => Math.min(FIRST_WAIT_MS * 2 ** (attempts - 1), LONGEST_WAIT_MS)

/**
 * Verifies the CIECs of an RFC that are to be verified, and runs its due jobs one after the other, under one lease. Leases and retries use
 * the real clock. A job succeeds, returns to the queue with a wait (the authority is unavailable, or an error occurred), or fails after twelve
 * attempts, or as soon as the authority will not deliver it. A job that the authority is not done with sleeps. One for whose organizations there is no verified CIEC is parked. When the budget ends, the job that is running returns to the
 * queue and another invocation continues with it. The lease fences the progress and the end of jobs, and `cfdi_commits` fences slices:
 * when two workers run the same job, each document is stored once and one of them finishes the job. `notify` learns of those who can read a
 * document of the mailbox that comes late, of which no event tells.
 */
export async function drain(system: System, hint: DownloadHint, notify: Notify): Promise<void> {
  if (await verifyOutstanding(atNow(system), hint.entity)) await resumeDownloads(system, [hint])
  const worker = new DownloadLease(system, hint, notify)
  const due = await worker.take()
  if (!due) return
  let isMore = true
  try {
    for (let done = 0; done < JOBS_A_MESSAGE && due.length > 0 && system.budget.allows(JOB_STATEMENTS + SLICE_STATEMENTS); done++) {
      const end = await runJob(worker, due[0]!)
      if (end === 'lost') break
      if (end === 'over') due.shift()
    }
    // The lease is still held, so that whoever takes it after a crash does this.
    if (worker.hasNew || worker.claimPerJob) await refreshListed(system, hint.entity)
  } finally {
    isMore = await worker.release()
  }
  if (isMore) return announce(system, [hint], worker.isInteractive)
  const sleep = Math.ceil((worker.asleepUntil - Date.now()) / 1_000)
  if (sleep <= LONGEST_DELAY_SECONDS) await queueOf(system, worker.isInteractive).send(hint, { delaySeconds: Math.max(0, sleep) })
}

/** Runs a job of the lease. It is over unless it is to be tried again at once; `lost` when another worker has the lease. */
async function runJob(worker: DownloadLease, key: JobKey): Promise<'over' | 'again' | 'lost'> {
  // Yields between jobs: the local runtime answers no other request while a handler never waits.
  await scheduler.wait(1)
  const { system, ledger, hint } = worker
  await worker.extend()
  const { held, claimPerJob } = worker
  const claimed = await claimJob(ledger, { ...held, now: Date.now(), claimPerJob }, key)
  if (!claimed) return 'over'
  let job = claimed
  try {
    const credential = await loginFor(worker, job)
    // An organization that has left since then is notified of the job like one that left while it ran.
    if (credential) job = { ...job, started_at: Math.min(job.started_at, credential.read_at) }
    if (job.attempts > MAX_ATTEMPTS) {
      // Every attempt killed its worker.
      if (credential) job = await continueWithout(ledger, job, credential)
      await worker.finish(job, 'internal_error')
      return 'over'
    }
    if (!credential) {
      await park(worker, job)
      return 'over'
    }
    try {
      job = await continueWithout(ledger, job, credential)
      await download(worker, job, credential.login)
    } catch (error) {
      if (jobsLease.isLost(error)) throw error
      if (error instanceof BudgetUsedUp) {
        await commitJob(ledger, job, [interruptStatement(ledger, job)])
        return 'again'
      }
      if (error instanceof LoginRejected) {
        worker.logins.forget()
        await rejectLogin(atNow(system), hint.entity, credential, await waitingSince(ledger, job))
        // Another organization that asked for the job may have another CIEC.
        await commitJob(ledger, job, [retryStatement(ledger, job)])
        return 'again'
      }
      if (error instanceof AuthorityFailed) {
        log.error(system, 'The authority does not deliver a download.', { job: job.job_id, error_class: error.error_class }, error)
        await worker.finish(job, error.error_class)
      } else await postpone(worker, job, error)
    }
    return 'over'
  } catch (error) {
    // The worker that has the lease now continues with the RFC.
    if (jobsLease.isLost(error)) return 'lost'
    throw error
  }
}

const atNow = (system: System): System => ({ ...system, now: new Date() })

/** The organizations that asked for a job, also those that wait for a login while it goes on for others. */
const organizationsOf = ({ organizations, deferred }: Job): string[] => [
  ...new Set([...(JSON.parse(organizations) as string[]), ...Object.keys(JSON.parse(deferred) as object)]),
]

/**
 * Goes on with a job for the organizations that have a verified CIEC, as if the others had not asked for it. These wait for theirs, as they
 * would if they were alone.
 */
async function continueWithout(ledger: D1Database, job: Job, { organizations }: DownloadLogin): Promise<Job> {
  const named = JSON.parse(job.organizations) as string[]
  const absent = named.filter((one) => !organizations.includes(one))
  const back = organizations.filter((one) => !named.includes(one))
  if (absent.length + back.length === 0) return job
  const [, separated] = await commitJob(ledger, job, [continueWithoutStatement(ledger, job, { absent, back })])
  return { ...job, ...(separated!.results[0] as Pick<Job, 'deferred'>) }
}

/** A verified login of an organization that asked for the job; null when there is none. */
async function loginFor({ system, hint, logins, claimPerJob }: DownloadLease, job: Job): Promise<DownloadLogin | null> {
  if (claimPerJob) logins.forget()
  const first = job.month === '' ? loginsOf(system).documentKind : null
  const login = await logins.of(organizationsOf(job), first)
  // A refusal, just now, may have left only CIECs that are to be verified.
  if (login || !(await verifyOutstanding(atNow(system), hint.entity))) return login
  logins.forget()
  return logins.of(organizationsOf(job), first)
}

/** Makes the jobs of the same organizations wait for an accepted CIEC, and resumes them if one was accepted meanwhile. */
async function park({ system, ledger, hint, logins }: DownloadLease, job: Job): Promise<void> {
  await commitJob(ledger, job, [parkStatement(ledger, job, Date.now() + PARKED_MS)])
  logins.forget()
  if ((await logins.of(organizationsOf(job))) !== null) await resumeDownloads(system, [hint])
}

/** Puts a job back into the queue after a failed attempt, with a wait, or fails it after the last attempt. */
async function postpone(worker: DownloadLease, job: Job, error: unknown): Promise<void> {
  const { system, ledger, hint } = worker
  const error_class = error instanceof Unavailable ? error.error_class : 'internal_error'
  log.error(system, 'An attempt of a download job failed.', { job: job.job_id, attempts: job.attempts, error_class }, error)
  if (job.attempts >= MAX_ATTEMPTS) return worker.finish(job, error_class)
  const wait = waitAfter(job.attempts)
  await commitJob(ledger, job, [requeueStatement(ledger, job, error_class, Date.now() + wait)])
  await queueOf(system, worker.isInteractive).send(hint, { delaySeconds: Math.ceil(wait / 1_000) })
}

const NOTHING: Progress = { created: 0, updated: 0, cancelled: 0, rejected: 0, counts: null, rejected_files: [] }

async function download(worker: DownloadLease, job: Job, login: Login): Promise<void> {
  const { system, ledger } = worker
  // The present of its run goes on: a cron can be tried with a later time.
  const now = new Date(Date.now() + Math.max(0, job.as_of - job.created_at))
  if (job.month !== '') return downloadMonth(worker, job, login, now)
  const step = await (await authorityOf(system)).documents({
    ...{ shard: worker.hint.shard, entity: job.entity, login, source: job.source as DataSourceKey, now },
    asked_at: new Date(job.created_at),
  })
  if (step.state === 'waiting') return sleep(worker, job, step)
  const { statements, created } = await keepDocuments(system, ledger, { ...job, rfc: login.rfc }, step.files, () => worker.extend())
  const received = await keepNotifications({ ledger, files: system.env.FILES, mailbox: step.mailbox, now }, job, login)
  const progress = created === 0 ? [] : progressStatements(ledger, job, { ...NOTHING, created })
  await worker.finish(job, null, {
    isChanged: created > 0 || received.isChanged,
    more: [...statements, ...received.statements, ...progress],
  })
  if (received.hasLate) await notifyLate(worker, job, now)
}

/** Puts a job to sleep with which the authority is not done. */
async function sleep(
  worker: DownloadLease,
  job: Job,
  { ask_again_at, part }: { ask_again_at: Date; part?: { lists: number } },
): Promise<void> {
  const again = ask_again_at.getTime()
  await commitJob(worker.ledger, job, [sleepStatement(worker.ledger, job, again, part?.lists)])
  worker.asleepUntil = Math.min(worker.asleepUntil, again)
}

/** Tells of late documents of the mailbox. The job is over: a failure is left to the daily review of storage, as a crash is. */
async function notifyLate({ system, ledger, notify }: DownloadLease, { entity }: Job, since: Date): Promise<void> {
  try {
    await notify(system, await readersOfFetched(system, ledger, entity, since))
  } catch (error) {
    log.error(system, 'Late documents of a mailbox could not be told of. The daily review finds them.', { entity }, error)
  }
}

/**
 * Downloads a month of CFDIs: reads the metadata, ingests the XML slice by slice, and then ingests the rows of the documents that only the
 * metadata has and of those that it reports as cancelled.
 */
async function downloadMonth(worker: DownloadLease, job: Job, login: Login, now: Date): Promise<void> {
  const { system, ledger } = worker
  const { source, entity, month, created_at } = job
  const direction = source === 'sat_cfdi_issued' ? 0 : 1
  const step = await (await authorityOf(system)).step({
    ...{ shard: worker.hint.shard, entity, login, direction: direction === 0 ? 'issued' : 'received', month, until: now },
    ...{ asked_at: new Date(Math.max(created_at, job.as_of)), is_complete: isWhole(JSON.parse(job.covered ?? '[]')) },
    is_interactive: worker.isInteractive,
  })
  const delivered = step.state === 'ready' ? step : step.part
  if (delivered === undefined) return sleep(worker, job, step as Extract<typeof step, { state: 'waiting' }>)
  const { until, packages } = delivered
  let isChanged = job.ingested > 0
  let rejected: readonly Rejection[] = []
  const oneByOneFrom = Math.max(job.as_of, until.getTime() - COUNTED_ONE_BY_ONE_MS)
  let boundaries: readonly number[] | undefined
  // One slice at least is committed, however long it took to read what is there already.
  let isBegun = false
  const withRejected = (more: readonly Rejection[]) => [...rejected, ...more].slice(0, MOST_LISTED)
  const target: IngestTarget = {
    ledger,
    files: system.env.FILES,
    entity,
    rfc: login.rfc,
    now: new Date(),
    provenance: 'authority',
    beforeSlice: async () => {
      if (isBegun) system.budget.require(SLICE_STATEMENTS)
      else system.budget.requireStatements(SLICE_STATEMENTS)
      await worker.extend()
    },
    // Also when the attempt before ended without a word.
    passesOverStored: job.is_continued > 0 || isChanged,
    sideStatements: async (outcome) => {
      if (isIdle(outcome)) return []
      // New documents of a job that did not wait are only divided where they are counted one by one.
      const isDivided = job.as_of < oneByOneFrom || outcome.updated + outcome.cancelled > 0
      if (isDivided) boundaries ??= await readBoundaries(ledger, job)
      const counts = countSlice(outcome.changes, oneByOneFrom, boundaries ?? [])
      const rejected_files = withRejected(rejectedOf(outcome.entries))
      isChanged = true
      worker.hasNew ||= outcome.created > 0
      worker.hasUnrelayedChanges ||= outcome.cancellations.length > 0
      return [
        ...progressStatements(ledger, job, { ...outcome, counts, rejected_files }),
        ...cancellationStatements(ledger, job.entity, outcome.cancellations, until, requestsOf(job)),
      ]
    },
  }
  const metadata = new MonthMetadata({ rfc: login.rfc, direction, month })
  const ingest = async (outcomes: Outcomes, isXml: boolean) => {
    for await (const { entries } of outcomes) {
      isBegun = true
      rejected = withRejected(rejectedOf(entries))
      if (isXml) metadata.deliver(entries)
      await worker.extend()
    }
  }
  const unread = () => {
    const { count, first } = metadata.rejected
    const progress = { ...NOTHING, rejected: count, rejected_files: withRejected(first) }
    return count === 0 ? [] : progressStatements(ledger, job, progress)
  }
  let isShared = false
  const add = async ({ kind, bytes, shared, discard }: Package) => {
    isShared ||= shared !== undefined
    await worker.extend()
    try {
      if (kind === 'metadata') await metadata.add(bytes, shared)
      else await ingest(ingestXmlPackage(target, bytes, metadata.statuses, shared && { month, ...shared }), true)
    } catch (error) {
      if (!(error instanceof PackageRejected)) throw error
      metadata.rejected.add({ name: error.file, line: null, code: error.code, uuid: null })
      await ledger.batch(unread())
      await discard?.()
      throw error
    }
  }
  let failed: AuthorityFailed | null = null
  try {
    for await (const one of packages) await add(one)
  } catch (error) {
    if (!(error instanceof AuthorityFailed)) throw error
    failed = error
  }
  await ingest(
    ingestMetadata(target, () => metadata.rowsLeft()),
    false,
  )
  if (step.state === 'waiting') {
    worker.hasUnrelayedChanges ||= isChanged
    return sleep(worker, job, step)
  }
  const hasRejected = rejected.length + metadata.rejected.count > 0
  // What the authority announces and does not deliver shows in what is stored only.
  const isIncomplete = !step.is_whole || hasRejected || (isShared && (await countMissingXml(ledger, entity, direction, month)) > 0)
  const error_class = failed?.error_class ?? null
  await worker.finish(job, error_class, {
    isChanged: isChanged || hasRejected,
    more: unread(),
    until: until.getTime(),
    // Only the answer of an authority that took long can be older than a run that joined the job.
    joined: isShortOf(until.getTime(), now.getTime(), month) ? await readLastRun(ledger, job) : 0,
    isIncomplete,
  })
}

const isIdle = ({ created, updated, cancelled, rejected }: SliceOutcome): boolean => created + updated + cancelled + rejected === 0
