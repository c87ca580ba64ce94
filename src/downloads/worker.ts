import type { Tell } from '../documents/mailbox/fetch.ts'
import type { System } from '../platform/context.ts'
import { wakeRelay } from '../platform/outbox/outbox.ts'
import { Logins } from '../taxpayers/login.ts'
import type { DownloadHint } from './downloads.ts'
import { extendLease, handOverStatements, type JobKey, releaseLease, takeLease } from './lease-store.ts'
import { commitJob, finishJobStatements, type Job } from './store.ts'

/** How long an RFC's jobs are leased. The lease is extended when half of it has passed. */
const LEASE_MS = 30_000
/** Jobs per message at most. The next message continues, so that RFCs take turns. */
export const JOBS_A_MESSAGE = 25

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
export class Worker {
  readonly token = crypto.randomUUID()
  /** Whether something is to be relayed that the relay was not called for. */
  isSilent = false
  /** Whether documents came that may have new counterparties. */
  hasNew = false
  /** Whether the lease before ran out. */
  isCareful = false
  /** Whether somebody may wait for the RFC's jobs. */
  isAwaited = true
  /** When the first of the jobs that wait for the authority is to be tried again, in milliseconds. */
  asleepUntil = Number.POSITIVE_INFINITY
  #until = 0

  readonly system: System
  readonly hint: DownloadHint
  /** Learns of those who can read a document of the mailbox that no event tells of. */
  readonly tell: Tell
  readonly ledger: D1Database
  readonly logins: Logins

  constructor(system: System, hint: DownloadHint, tell: Tell) {
    this.system = system
    this.hint = hint
    this.tell = tell
    this.ledger = system.settings.ledgers[hint.shard]!
    this.logins = new Logins(system, hint.entity)
  }

  /** Takes the lease. Returns the jobs that are due; null when somebody else has it, or nothing is due. */
  async take(): Promise<JobKey[] | null> {
    const now = Date.now()
    this.#until = now + LEASE_MS
    const of = { entity: this.hint.entity, token: this.token, now, until: this.#until, limit: JOBS_A_MESSAGE }
    const lease = await takeLease(this.ledger, of)
    this.isCareful = lease?.isCareful ?? false
    this.isAwaited = lease?.isAwaited ?? true
    return lease?.jobs ?? null
  }

  /** Extends the lease when half of it has passed. */
  async extend(): Promise<void> {
    const now = Date.now()
    if (this.#until - now > LEASE_MS / 2) return
    this.#until = now + LEASE_MS
    await extendLease(this.ledger, this.hint.entity, this.token, this.#until).run()
  }

  /** Commits the end of a job. What changed something is relayed at once. */
  async finish(job: Job, error_class: string | null, { isChanged = false, more = [], ...end }: JobEnd = {}): Promise<void> {
    const now = Date.now()
    const statements = [...more, ...finishJobStatements(this.ledger, job, error_class, now, end)]
    await commitJob(this.ledger, job, [...statements, ...(isChanged ? handOverStatements(this.ledger, job.entity, this.token, now) : [])])
    if (!isChanged) return
    this.isSilent = false
    await wakeRelay(this.system, this.hint.shard)
  }

  /** Ends the lease. Returns whether another job is due. */
  async release(): Promise<boolean> {
    const { isTold, isMore } = await releaseLease(this.ledger, this.hint.entity, this.token, Date.now())
    if (isTold || this.isSilent) await wakeRelay(this.system, this.hint.shard)
    return isMore
  }
}
