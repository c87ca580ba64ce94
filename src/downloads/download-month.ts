import type { SQL } from 'drizzle-orm'
import { authorityOf } from '../authority/adapters.ts'
import { AuthorityFailed, type Login, type Package } from '../authority/port/authority.ts'
import { isBeyondLimits, noteBeyondLimits } from '../cfdi/ingest/beyond-limits.ts'
import {
  CONFLICT,
  type IngestTarget,
  ingestMetadata,
  ingestXmlPackage,
  readStored,
  rejectedOf,
  type SliceOutcome,
} from '../cfdi/ingest/ingest.ts'
import { PackageRejected } from '../cfdi/package/central-record.ts'
import { MOST_LISTED, MonthMetadata, type Rejection } from '../cfdi/package/rejections.ts'
import { countMissingXml } from '../cfdi/summary/missing-xml.ts'
import { commit, type Statement } from '../platform/db/commit.ts'
import { clock } from '../platform/time/clock.ts'
import { isShortOf, isWhole } from '../taxpayers/visibility/coverage.ts'
import { countSlice } from '../taxpayers/visibility/slice-counts.ts'
import { readBoundaries, readLastRun } from './counts/counts-store.ts'
import type { DownloadLease } from './download-lease.ts'
import { cancellationStatements } from './missed-cancellations.ts'
import { requestsOf } from './progress-store.ts'
import { type Job, NO_PROGRESS, progressStatements } from './store.ts'

/** The most statements of a slice that has to be read again a few times. */
export const SLICE_STATEMENTS = 100
/** Documents issued longer than this before the download are counted by day and not one by one, which limits the size of the job's row. */
const COUNTED_ONE_BY_ONE_MS = 6 * 3_600_000

/**
 * Downloads a month of CFDIs: reads the metadata, ingests the XML slice by slice, and then ingests the rows of the documents that only the
 * metadata has and of those that it reports as cancelled. A part of a month that the authority is not done with is ingested likewise, and
 * then the job sleeps.
 */
export async function downloadMonth(worker: DownloadLease, job: Job, login: Login, now: Date): Promise<void> {
  const step = await (await authorityOf(worker.system)).step({
    ...{ shard: worker.hint.shard, entity: job.entity, login, direction: directionOf(job), month: job.month, until: now },
    ...{ asked_at: new Date(Math.max(job.created_at, job.as_of)), is_complete: isWhole(JSON.parse(job.covered ?? '[]')) },
    is_interactive: worker.isInteractive,
  })
  if (step.state === 'waiting' && step.part === undefined) return worker.sleep(job, step)
  const delivered = step.state === 'ready' ? step : step.part!
  const month = new MonthDownload(worker, job, login.rfc, delivered.until)
  const failed = await month.ingest(delivered.packages)
  if (step.state === 'waiting') {
    worker.hasUnrelayedChanges ||= month.isChanged
    return worker.sleep(job, step)
  }
  const { until } = delivered
  await worker.finish(job, failed?.error_class ?? null, {
    isChanged: month.isChanged || month.hasRejected,
    more: [...month.unreadStatements(), ...month.beyondLimits()],
    until: until.getTime(),
    // Only the answer of an authority that took long can be older than a run that joined the job.
    joined: isShortOf(until.getTime(), now.getTime(), job.month) ? await readLastRun(worker.ledger, job) : 0,
    isIncomplete: !step.is_whole || (await month.lacksRejected()) || (await month.misses()),
  })
}

const directionOf = ({ source }: Job) => (source === 'sat_cfdi_issued' ? 'issued' : 'received')
/** The documents of a job that are noted as beyond the limits; the next job notes more. */
const MOST_BEYOND_LIMITS = 10_000

const isIdle = ({ created, updated, cancelled, rejected }: SliceOutcome): boolean => created + updated + cancelled + rejected === 0

/** The ingest of the packages of a month. */
class MonthDownload {
  /** Whether the job has changed anything, also in an earlier attempt. */
  isChanged: boolean
  readonly #worker: DownloadLease
  readonly #job: Job
  readonly #until: Date
  readonly #metadata: MonthMetadata
  readonly #target: IngestTarget
  readonly #oneByOneFrom: number
  /** The first files of XML packages and rows of metadata that were not kept. */
  #rejected: readonly Rejection[] = []
  #boundaries: readonly number[] | null = null
  /** The documents whose XML is beyond the limits of the service. */
  readonly #beyondLimits = new Set<string>()
  /** Whether a slice is committed. */
  #isBegun = false
  /** Whether a package has documents of other months too. */
  #isShared = false

  constructor(worker: DownloadLease, job: Job, rfc: string, until: Date) {
    this.#worker = worker
    this.#job = job
    this.#until = until
    this.isChanged = job.ingested > 0
    this.#oneByOneFrom = Math.max(job.as_of, until.getTime() - COUNTED_ONE_BY_ONE_MS)
    this.#metadata = new MonthMetadata({ rfc, direction: directionOf(job) === 'issued' ? 0 : 1, month: job.month })
    this.#target = {
      ledger: worker.ledger,
      files: worker.system.env.FILES,
      entity: job.entity,
      rfc,
      now: clock.date(),
      provenance: 'authority',
      beforeSlice: () => this.#beforeSlice(),
      // Also when the attempt before ended without a word.
      passesOverStored: job.is_continued > 0 || this.isChanged,
      sideStatements: (outcome) => this.#progressOf(outcome),
    }
  }

  /**
   * Ingests the packages, and then the documents that only the metadata has. Returns why the authority did not deliver all of them; null
   * when it did.
   */
  async ingest(packages: AsyncIterable<Package>): Promise<AuthorityFailed | null> {
    let failed: AuthorityFailed | null = null
    try {
      for await (const one of packages) await this.#add(one)
    } catch (error) {
      if (!(error instanceof AuthorityFailed)) throw error
      failed = error
    }
    for await (const outcome of ingestMetadata(this.#target, () => this.#metadata.rowsLeft())) await this.#note(outcome)
    return failed
  }

  get hasRejected(): boolean {
    return this.#rejected.length + this.#metadata.rejected.count > 0
  }

  /** Whether something was rejected that has not come whole since, such as in another package. */
  async lacksRejected(): Promise<boolean> {
    if (!this.hasRejected) return false
    const isFile = ({ line, code }: Rejection) => line === null && code !== CONFLICT.code
    if (this.#metadata.rejected.count > 0 || !this.#rejected.every(isFile)) return true
    const uuids = this.#rejected.flatMap(({ uuid }) => uuid ?? [])
    // What a file was that nobody can name, the announced documents without XML tell.
    const isNamed = this.#rejected.length < MOST_LISTED && uuids.length === this.#rejected.length
    if (!isNamed && (await this.#countMissing()) > 0) return true
    const stored = await readStored(this.#worker.ledger, this.#job.entity, uuids)
    return uuids.some((uuid) => (stored.get(uuid)?.xml_crc ?? null) === null)
  }

  /** Whether the authority announces documents whose XML it has not delivered. Only the stored documents show it. */
  async misses(): Promise<boolean> {
    return this.#isShared && (await this.#countMissing()) > 0
  }

  #countMissing(): Promise<number> {
    const { entity, month } = this.#job
    return countMissingXml(this.#worker.ledger, entity, directionOf(this.#job) === 'issued' ? 0 : 1, month)
  }

  /** Notes the documents whose XML can never be kept, so that it is not asked for again. */
  beyondLimits(): SQL[] {
    return this.#beyondLimits.size === 0 ? [] : [noteBeyondLimits(this.#job.entity, [...this.#beyondLimits])]
  }

  /** Adds the rows of metadata that cannot be read to the job. */
  unreadStatements(): Statement[] {
    const { count, first } = this.#metadata.rejected
    if (count === 0) return []
    return progressStatements(this.#job, {
      ...NO_PROGRESS,
      rejected: count,
      rejected_files: this.#withRejected(first),
    })
  }

  async #add({ kind, bytes, shared, discard }: Package): Promise<void> {
    this.#isShared ||= shared !== undefined
    await this.#worker.extend()
    try {
      if (kind === 'metadata') return await this.#metadata.add(bytes, shared)
      const ofMonth = shared && { month: this.#job.month, ...shared }
      for await (const outcome of ingestXmlPackage(this.#target, bytes, this.#metadata.statuses, ofMonth)) {
        this.#metadata.deliver(outcome.entries)
        await this.#note(outcome)
      }
    } catch (error) {
      if (!(error instanceof PackageRejected)) throw error
      this.#metadata.rejected.add({ name: error.file, line: null, code: error.code, uuid: null })
      await commit(this.#worker.ledger, this.unreadStatements())
      await discard?.()
      throw error
    }
  }

  async #note({ entries }: SliceOutcome): Promise<void> {
    this.#isBegun = true
    const rejected = rejectedOf(entries)
    this.#rejected = this.#withRejected(rejected)
    for (const { uuid, code, line } of rejected)
      if (uuid !== null && line === null && isBeyondLimits(code) && this.#beyondLimits.size < MOST_BEYOND_LIMITS)
        this.#beyondLimits.add(uuid)
    await this.#worker.extend()
  }

  /** Commits at least one slice, however long it took to read the stored documents. */
  async #beforeSlice(): Promise<void> {
    const { budget } = this.#worker.system
    if (this.#isBegun) budget.require(SLICE_STATEMENTS)
    else budget.requireStatements(SLICE_STATEMENTS)
    await this.#worker.extend()
  }

  /** The progress of the job that commits with a slice. */
  async #progressOf(outcome: SliceOutcome): Promise<Statement[]> {
    if (isIdle(outcome)) return []
    const { ledger } = this.#worker
    // New documents of a job that did not wait are only divided where they are counted one by one.
    if (this.#job.as_of < this.#oneByOneFrom || outcome.updated + outcome.cancelled > 0)
      this.#boundaries ??= await readBoundaries(ledger, this.#job)
    const counts = countSlice(outcome.changes, this.#oneByOneFrom, this.#boundaries ?? [])
    this.isChanged = true
    this.#worker.hasNew ||= outcome.created > 0
    this.#worker.hasUnrelayedChanges ||= outcome.cancellations.length > 0
    return [
      ...progressStatements(this.#job, { ...outcome, counts, rejected_files: this.#withRejected(rejectedOf(outcome.entries)) }),
      ...cancellationStatements(this.#job.entity, outcome.cancellations, this.#until, requestsOf(this.#job)),
    ]
  }

  #withRejected(more: readonly Rejection[]): Rejection[] {
    return [...this.#rejected, ...more].slice(0, MOST_LISTED)
  }
}
