import { authorityOf } from '../authority/adapters.ts'
import { loginsOf } from '../authority/logins.ts'
import { AuthorityFailed, type DataSourceKey, type Login, LoginRejected } from '../authority/port/authority.ts'
import { keepDocuments } from '../documents/documents.ts'
import type { Notify } from '../documents/mailbox/fetch.ts'
import { keepNotifications } from '../documents/mailbox/keep.ts'
import { readersOfFetched } from '../documents/mailbox/mirrored.ts'
import { refreshListed } from '../lists/listed/counterparties.ts'
import type { System } from '../platform/context.ts'
import { Unavailable } from '../platform/failures.ts'
import { log } from '../platform/log.ts'
import { clock } from '../platform/time/clock.ts'
import { BudgetUsedUp } from '../platform/work/budget.ts'
import type { DownloadLogin } from '../taxpayers/login.ts'
import { rejectLogin } from '../taxpayers/login-answers.ts'
import { verifyOutstanding } from '../taxpayers/verification.ts'
import { DownloadLease } from './download-lease.ts'
import { downloadMonth, SLICE_STATEMENTS } from './download-month.ts'
import { announce, announceLater, type DownloadHint, resumeDownloads } from './downloads.ts'
import { type JobKey, jobsLease } from './lease-store.ts'
import { waitingSince } from './progress-store.ts'
import {
  claimJob,
  commitJob,
  continueWithoutStatement,
  interruptStatement,
  type Job,
  NO_PROGRESS,
  parkStatement,
  progressStatements,
  requeueStatement,
  retryStatement,
} from './store.ts'

/** Jobs per message at most. The next message continues, so that RFCs take turns. */
const JOBS_A_MESSAGE = 25

/** The most statements of a job before and after its slices. */
const JOB_STATEMENTS = 30
const MAX_ATTEMPTS = 12
const FIRST_WAIT_MS = 5_000
const LONGEST_WAIT_MS = 15 * 60_000
/** The platform delays no message for longer. */
const LONGEST_DELAY_MS = 12 * 3_600_000
/** Jobs that wait for a login try again after this long, in case the resumption after an accepted CIEC is lost. */
const PARKED_MS = 60 * 60_000

/** The wait in milliseconds after so many attempts: 5 s, 10 s, 20 s … 15 min. */
const waitAfter = (attempts: number): number => Math.min(FIRST_WAIT_MS * 2 ** (attempts - 1), LONGEST_WAIT_MS)

/**
 * Verifies the CIECs of an RFC that are to be verified, and runs its due jobs one after the other, under one lease. A job succeeds, returns to the queue with a wait (the authority is unavailable, or an error occurred), or fails after
 * twelve attempts, or as soon as the authority will not deliver it. A job that the authority has not finished sleeps. One whose
 * organizations have no verified CIEC is parked. When the budget ends, the job that is running returns to the queue and another invocation
 * continues with it. The lease fences the progress and the end of jobs, and `cfdi_commits` fences slices: when two workers run the same
 * job, each document is stored once and one of them finishes the job. `notify` gets the readers of a late document of the mailbox, which no
 * event reports.
 */
export async function drain(system: System, hint: DownloadHint, notify: Notify): Promise<void> {
  if (await verifyOutstanding(atNow(system), hint.entity)) await resumeDownloads(system, [hint])
  const worker = new DownloadLease(system, hint, notify)
  const due = await worker.take(JOBS_A_MESSAGE)
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
  const { organizations, isInteractive } = worker
  if (isMore) return announce(system, [{ ...hint, organizations }], isInteractive)
  const sleep = worker.asleepUntil - clock.now()
  if (sleep <= LONGEST_DELAY_MS) await announceLater(system, { ...hint, organizations }, isInteractive, sleep)
}

/** Runs a job of the lease. It is over unless it is to be tried again at once; `lost` when another worker has the lease. */
async function runJob(worker: DownloadLease, key: JobKey): Promise<'over' | 'again' | 'lost'> {
  // Yields between jobs: the local runtime answers no other request while a handler never waits.
  await scheduler.wait(1)
  const { system, ledger, hint } = worker
  await worker.extend()
  const { held, claimPerJob } = worker
  const claimed = await claimJob(ledger, { ...held, now: clock.now(), claimPerJob }, key)
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
        await commitJob(ledger, job, [interruptStatement(job)])
        return 'again'
      }
      if (error instanceof LoginRejected) {
        worker.logins.forget()
        await rejectLogin(atNow(system), hint.entity, credential, await waitingSince(ledger, job))
        // Another organization that asked for the job may have another CIEC.
        await commitJob(ledger, job, [retryStatement(job)])
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

const atNow = (system: System): System => ({ ...system, now: clock.date() })

/** The organizations that asked for a job, including those that wait for a login while it continues for others. */
const organizationsOf = ({ organizations, deferred }: Job): string[] => [
  ...new Set([...(JSON.parse(organizations) as string[]), ...Object.keys(JSON.parse(deferred) as object)]),
]

/**
 * Continues a job for the organizations that have a verified CIEC, as if the others had not asked for it. The others wait for theirs, as
 * they would if they were alone.
 */
async function continueWithout(ledger: D1Database, job: Job, { organizations }: DownloadLogin): Promise<Job> {
  const named = JSON.parse(job.organizations) as string[]
  const absent = named.filter((one) => !organizations.includes(one))
  const back = organizations.filter((one) => !named.includes(one))
  if (absent.length + back.length === 0) return job
  const [, continued] = await commitJob(ledger, job, [continueWithoutStatement(job, { absent, back })])
  return { ...job, ...(continued!.results[0] as Pick<Job, 'deferred'>) }
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

/** Makes the jobs of the same organizations wait for an accepted CIEC, and resumes them if one has been accepted since. */
async function park({ system, ledger, hint, logins }: DownloadLease, job: Job): Promise<void> {
  await commitJob(ledger, job, [parkStatement(job, clock.now() + PARKED_MS)])
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
  await commitJob(ledger, job, [requeueStatement(job, error_class, clock.now() + wait)])
  await announceLater(system, { ...hint, organizations: worker.organizations }, worker.isInteractive, wait)
}

async function download(worker: DownloadLease, job: Job, login: Login): Promise<void> {
  const { system, ledger } = worker
  // Continues the clock of its run: a cron can be tried with a later time.
  const now = new Date(clock.now() + Math.max(0, job.as_of - job.created_at))
  if (job.month !== '') return downloadMonth(worker, job, login, now)
  const step = await (await authorityOf(system)).documents({
    ...{ shard: worker.hint.shard, entity: job.entity, login, source: job.source as DataSourceKey, now },
    asked_at: new Date(job.created_at),
  })
  if (step.state === 'waiting') return worker.sleep(job, step)
  const { statements, created } = await keepDocuments(system, ledger, { ...job, rfc: login.rfc }, step.files, () => worker.extend())
  const received = await keepNotifications({ ledger, files: system.env.FILES, mailbox: step.mailbox, now }, job, login)
  const progress = created === 0 ? [] : progressStatements(job, { ...NO_PROGRESS, created })
  await worker.finish(job, null, {
    isChanged: created > 0 || received.isChanged,
    more: [...statements, ...received.statements, ...progress],
  })
  if (received.hasLate) await notifyLate(worker, job, now)
}

/** Reports late documents of the mailbox. The job is over: a failure is left to the daily review of storage, as a crash is. */
async function notifyLate({ system, ledger, notify }: DownloadLease, { entity }: Job, since: Date): Promise<void> {
  try {
    await notify(system, await readersOfFetched(system, ledger, entity, since))
  } catch (error) {
    log.error(system, 'Late documents of a mailbox could not be told of. The daily review finds them.', { entity }, error)
  }
}
