import type { System } from '../platform/context.ts'
import { commit } from '../platform/db/commit.ts'
import { isGuardViolation } from '../platform/db/guard.ts'
import { readRows } from '../platform/db/statement.ts'
import { slotOf } from '../platform/hash.ts'
import { clock } from '../platform/time/clock.ts'
import { ledgerByLedger } from '../platform/work/pages.ts'
import { sendHints } from '../platform/work/send.ts'
import { unverifiedEntities } from '../taxpayers/verification.ts'
import { newJobId } from '../taxpayers/visibility/jobs.ts'
import { organizationsIn, stuckJobs } from './lease-store.ts'
import { IN_ORDER, type RequestingRun, readLastInstant, requestStatements, watermarkStatement } from './request-store.ts'
import { resumeStatements } from './store.ts'
import { enterTurns } from './turns/entering.ts'

/** A message of the downloads queue: the RFC may have jobs that are due. */
export interface DownloadHint {
  shard: number
  entity: number
}

/** The jobs that a run requests for the RFC of one connection. */
export interface ConnectionDemand extends DownloadHint {
  rfc: string
  jobs: readonly { source: string; month: string; is_gap: boolean }[]
}

/** The outcome of a run's request. */
export interface Queued {
  /** Number of RFCs for which it queued at least one new job of its range. */
  dispatched: number
  /** Number of jobs for months before its range, which a connection missed while it was not active. Others may have queued them already. */
  gap_jobs: number
}

/** An organization does not begin the download of a month again within this time, whichever of its runs asks for it. */
export const COOLDOWN_SECONDS = 600

interface RunOfDemands {
  organization_id: string
  run_id: string
  instant: Date
  /** Whether somebody may wait for its jobs. */
  is_interactive: boolean
  /** Whether it is of a range that was asked for, and of no extractor. */
  is_range?: boolean
}

/** The message of a job that is due and still queued after this long was never sent or is lost. */
const UNCLAIMED_AFTER_MS = 60_000
const SWEEP_LIMIT = 1_000

const byShard = <T extends { shard: number }>(things: readonly T[]): Map<number, T[]> => Map.groupBy(things, ({ shard }) => shard)

/**
 * Requests a run's jobs: creates those that no run has requested, joins the others, and records the extraction, in one batch per ledger.
 * New jobs are spread over `spread` seconds. What the organization began to download within the cooldown is joined too, however it ended:
 * making extractors, pausing and linking again download nothing twice. `waiting` are the RFCs of which the run waits for a job.
 *
 * What a run makes readable follows from the runs before it. Once a later one has asked, one that a crash held up can only come after it: then
 * the request is refused, and the result is the first instant in whose name it may ask.
 */
export async function requestJobs(
  { settings }: System,
  { organization_id, run_id, instant, is_interactive, is_range = false }: RunOfDemands,
  demands: readonly ConnectionDemand[],
  spread: number,
): Promise<(Queued & { waiting: ConnectionDemand[] }) | Date> {
  const now = clock.now()
  const spared_since = instant.getTime() - COOLDOWN_SECONDS * 1_000
  const run: RequestingRun = { organization_id, run_id, instant: instant.getTime(), now, spared_since, is_interactive, is_range }
  const queued = { dispatched: 0, gap_jobs: 0, waiting: [] as ConnectionDemand[] }
  for (const [shard, demandsOfShard] of byShard(demands)) {
    const requested = demandsOfShard.flatMap(({ entity, rfc, jobs }) => {
      const not_before = now + 1_000 * slotOf(rfc, spread)
      const job_id = newJobId()
      return jobs.map((job) => ({ entity, ...job, job_id, not_before }))
    })
    if (requested.length === 0) continue
    const ledger = settings.ledgers[shard]!
    const results = await commit<Queued & { waiting?: number }>(ledger, requestStatements(run, demandsOfShard, requested)).catch(
      (error: unknown) => {
        if (!isGuardViolation(error, IN_ORDER)) throw error
      },
    )
    if (!results) {
      const entities = demandsOfShard.map(({ entity }) => entity)
      return new Date((await readLastInstant(ledger, run, entities)) + 1)
    }
    const waiting = new Set(results.flatMap((result) => result.results.map((row) => row.waiting)))
    queued.waiting.push(...demandsOfShard.filter(({ entity }) => waiting.has(entity)))
    for (const { dispatched, gap_jobs } of results.at(-1)!.results) {
      queued.dispatched += dispatched
      queued.gap_jobs += gap_jobs
    }
  }
  return queued
}

/** Returns the instants up to which the organization's extractions succeeded, by `entity|source`. Pairs without one are absent. */
export async function watermarks(
  { settings }: System,
  organization_id: string,
  selected: readonly { connection: DownloadHint; sources: readonly string[] }[],
): Promise<Map<string, Date>> {
  const pairs = selected.flatMap(({ connection, sources }) =>
    sources.map((source) => ({ shard: connection.shard, pair: [connection.entity, source] as [number, string] })),
  )
  const reached = new Map<string, Date>()
  for (const [shard, pairsOfShard] of byShard(pairs)) {
    const query = watermarkStatement(
      organization_id,
      pairsOfShard.map(({ pair }) => pair),
    )
    for (const { entity, source, instant } of await readRows(settings.ledgers[shard]!, query))
      if (instant !== null) reached.set(`${entity}|${source}`, new Date(instant))
  }
  return reached
}

/** Work that nobody waits for has a queue of its own, so that it does not delay the other downloads. */
const queueOf = ({ env }: System, isInteractive: boolean): Queue => (isInteractive ? env.DOWNLOADS : env.DOWNLOADS_SPREAD)

/**
 * Sends hints to the consumer, spread over so many seconds. The sweep repeats hints that are lost. An RFC has the same slot in every
 * spread, so that its downloads stay together. Those that somebody may wait for are worked on in the turns of the `organizations` that do.
 */
export async function announce(
  system: System,
  hints: readonly (DownloadHint & { rfc?: string; organizations?: readonly string[] })[],
  isInteractive = true,
  spread = 0,
): Promise<void> {
  if (isInteractive) await enterTurns(system, hints, 0)
  await sendHints(
    system,
    queueOf(system, isInteractive),
    hints.map(({ shard, entity, rfc = '' }) => ({ body: { shard, entity } satisfies DownloadHint, delaySeconds: slotOf(rfc, spread) })),
  )
}

/** Sends a hint to the consumer that comes after some milliseconds. */
export async function announceLater(
  system: System,
  { shard, entity, organizations }: DownloadHint & { organizations: readonly string[] },
  isInteractive: boolean,
  milliseconds: number,
): Promise<void> {
  const delaySeconds = Math.max(0, Math.ceil(milliseconds / 1_000))
  if (isInteractive) await enterTurns(system, [{ shard, entity, organizations }], clock.now() + delaySeconds * 1_000)
  await queueOf(system, isInteractive).send({ shard, entity } satisfies DownloadHint, { delaySeconds })
}

/** Resumes the RFCs' jobs that wait for a login, after a CIEC was accepted. One statement for each ledger. */
export async function resumeDownloads(system: System, rfcs: readonly DownloadHint[]): Promise<void> {
  for (const [shard, rfcsOfShard] of byShard(rfcs)) {
    const entities = rfcsOfShard.map(({ entity }) => entity)
    const ledger = system.settings.ledgers[shard]!
    const [jobs, work] = await commit<{ entity: number; runs?: string }>(ledger, resumeStatements(entities))
    const resumed = new Set(jobs!.results.map(({ entity }) => entity))
    const runsOf = new Map(work!.results.map(({ entity, runs = '[]' }) => [entity, runs]))
    await announce(
      system,
      [...resumed].map((entity) => ({ shard, entity, organizations: organizationsIn(runsOf.get(entity) ?? '[]') })),
    )
  }
}

/** Announces RFCs with CIECs that are to be verified, after a lost message, a crash or a wait. */
export async function sweepVerifications(system: System): Promise<void> {
  await announce(system, await unverifiedEntities(system, SWEEP_LIMIT))
}

/** Announces jobs again after a lost message or the death of a worker, each in the queue of its kind. A task, whose cursor is a ledger. */
export const sweepJobs = (system: System, cursor = ''): Promise<string | null> =>
  ledgerByLedger(system, cursor, async (shard, ledger) => {
    const now = clock.now()
    const found = await readRows(ledger, stuckJobs(now, now - UNCLAIMED_AFTER_MS, SWEEP_LIMIT))
    const hints = (isInteractive: boolean) =>
      found
        .filter(({ is_interactive }) => (is_interactive === 1) === isInteractive)
        .map(({ entity, runs }) => ({ shard, entity, organizations: organizationsIn(runs) }))
    for (const isInteractive of [true, false]) await announce(system, hints(isInteractive), isInteractive)
  })
