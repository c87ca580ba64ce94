import type { Notify } from '../documents/mailbox/fetch.ts'
import type { System } from '../platform/context.ts'
import type { Statement } from '../platform/db/commit.ts'
import { changesOf } from '../platform/db/statement.ts'
import { wakeRelay } from '../platform/outbox/outbox.ts'
import { clock } from '../platform/time/clock.ts'
import { Logins } from '../taxpayers/login.ts'
import type { DownloadHint } from './downloads.ts'
import { handOverStatements, type JobKey, jobsLease, type LeasedJobs, releaseLease, takeLease } from './lease-store.ts'
import { commitJob, finishJobStatements, type Job, sleepStatement } from './store.ts'

interface JobEnd {
  /** Whether the job changed something. */
  isChanged?: boolean
  /** Statements of the same commit. */
  more?: readonly Statement[]
  until?: number
  joined?: number
  isIncomplete?: boolean
}

/** Has the lease on the jobs of an RFC while it runs them. */
export class DownloadLease {
  readonly held: LeasedJobs
  /** Whether something is to be relayed that the relay was not called for. */
  hasUnrelayedChanges = false
  /** Whether documents came that may have new counterparties. */
  hasNew = false
  /** Whether the lease before ran out. */
  claimPerJob = false
  /** Whether somebody may wait for the RFC's jobs. */
  isInteractive = true
  /** The organizations whose runs wait for them. */
  organizations: readonly string[] = []
  /** When the first of the jobs that wait for the authority is to be tried again, in milliseconds. */
  asleepUntil = Number.POSITIVE_INFINITY
  #until = 0

  readonly system: System
  readonly hint: DownloadHint
  /** Gets the readers of a document of the mailbox that no event reports. */
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

  /** Takes the lease. Returns the jobs that are due, at most `limit`; null when somebody else has it, or nothing is due. */
  async take(limit: number): Promise<JobKey[] | null> {
    this.#until = jobsLease.end
    const lease = await takeLease(this.ledger, this.held, clock.now(), limit)
    this.claimPerJob = lease?.claimPerJob ?? false
    this.isInteractive = lease?.isInteractive ?? true
    this.organizations = lease?.organizations ?? []
    return lease?.jobs ?? null
  }

  /** Extends the lease when half of it has passed. */
  async extend(): Promise<void> {
    if (this.#until - clock.now() > jobsLease.milliseconds / 2) return
    this.#until = jobsLease.end
    await changesOf(this.ledger, jobsLease.extend(this.held))
  }

  /** Commits the end of a job. Changes are relayed at once. */
  async finish(job: Job, error_class: string | null, { isChanged = false, more = [], ...end }: JobEnd = {}): Promise<void> {
    const now = clock.now()
    const statements = [...more, ...finishJobStatements(job, error_class, now, end)]
    await commitJob(this.ledger, job, [...statements, ...(isChanged ? handOverStatements(job, now) : [])])
    if (!isChanged) return
    this.hasUnrelayedChanges = false
    await wakeRelay(this.system, this.hint.shard)
  }

  /** Puts a job to sleep that the authority has not finished. */
  async sleep(job: Job, { ask_again_at, part }: { ask_again_at: Date; part?: { lists: number } }): Promise<void> {
    const again = ask_again_at.getTime()
    await commitJob(this.ledger, job, [sleepStatement(job, again, part?.lists)])
    this.asleepUntil = Math.min(this.asleepUntil, again)
  }

  /** Ends the lease. Returns whether another job is due. */
  async release(): Promise<boolean> {
    const { isNotified, isMore } = await releaseLease(this.ledger, this.held, clock.now())
    if (isNotified || this.hasUnrelayedChanges) await wakeRelay(this.system, this.hint.shard)
    return isMore
  }
}
