import type { System } from '../platform/context.ts'
import { newId } from '../platform/db/id.ts'
import { errorMessage } from '../platform/log.ts'
import { type Asking, requestStatements, watermarkStatement } from './request-store.ts'
import { resumeStatement, stuckStatement } from './store.ts'

/** "There may be work for this RFC": all that a message of the downloads queue says. */
export interface DownloadHint {
  shard: number
  entity: number
}

/** What a run wants of one connection's RFC. */
export interface Demand extends DownloadHint {
  rfc: string
  jobs: readonly { source: string; month: string }[]
}

interface RunOfDemand {
  organization_id: string
  run_id: string
  instant: Date
}

const MESSAGES_A_BATCH = 100
/** A queued job that nobody took up after this long was never announced, or its message is lost. */
const UNANNOUNCED_AFTER_MS = 60_000
const SWEEP_LIMIT = 1_000

const byShard = <T extends { shard: number }>(things: readonly T[]): Map<number, T[]> => Map.groupBy(things, ({ shard }) => shard)

/**
 * Queues what a run wants and nobody has, joins what somebody has, and records both: one call for each ledger.
 * Answers for how many RFCs this run queued something new.
 */
export async function requestJobs({ settings }: System, run: RunOfDemand, demands: readonly Demand[], spread: number): Promise<number> {
  const now = Date.now()
  const asking: Asking = { organization_id: run.organization_id, run_id: run.run_id, instant: run.instant.getTime(), now }
  let dispatched = 0
  for (const [shard, here] of byShard(demands)) {
    const wanted = here.flatMap(({ entity, rfc, jobs }) => {
      const not_before = now + 1_000 * delayOf(rfc, spread)
      return jobs.map((job) => ({ entity, ...job, job_id: newId('job'), not_before }))
    })
    if (wanted.length === 0) continue
    const ledger = settings.ledgers[shard]!
    const results = await ledger.batch<{ dispatched: number }>(requestStatements(ledger, asking, here, wanted))
    dispatched += results.at(-1)!.results.filter((row) => row.dispatched === 1).length
  }
  return dispatched
}

/** How far the organization's extractions of (entity, source) reached with success, by `entity|source`. */
export async function watermarks(
  { settings }: System,
  organization_id: string,
  asked: readonly { connection: DownloadHint; sources: readonly string[] }[],
): Promise<Map<string, Date>> {
  const pairs = asked.flatMap(({ connection, sources }) =>
    sources.map((source) => ({ shard: connection.shard, pair: [connection.entity, source] as [number, string] })),
  )
  const reached = new Map<string, Date>()
  for (const [shard, here] of byShard(pairs)) {
    const { results } = await watermarkStatement(
      settings.ledgers[shard]!,
      organization_id,
      here.map(({ pair }) => pair),
    ).all<{
      entity: number
      source: string
      instant: number | null
    }>()
    for (const { entity, source, instant } of results) if (instant !== null) reached.set(`${entity}|${source}`, new Date(instant))
  }
  return reached
}

/** Where in a spread of so many seconds an RFC has its place: always the same, so that its downloads stay together. */
function delayOf(rfc: string, spread: number): number {
  if (spread === 0) return 0
  let hash = 0x811c9dc5
  for (const character of rfc) hash = Math.imul(hash ^ character.codePointAt(0)!, 0x01000193) >>> 0
  return hash % spread
}

/**
 * Tells the consumer of work, a hint that the sweep repeats where it is missed: a send that fails is nobody's failure. Spread work
 * goes through a queue of its own, so that what somebody waits for is not behind it.
 */
export async function announce({ env, requestId }: System, calls: readonly (DownloadHint & { rfc?: string })[], spread = 0): Promise<void> {
  const queue = spread === 0 ? env.DOWNLOADS : env.DOWNLOADS_SPREAD
  const messages = calls.map(({ shard, entity, rfc = '' }) => ({
    body: { shard, entity } satisfies DownloadHint,
    delaySeconds: delayOf(rfc, spread),
  }))
  try {
    for (let at = 0; at < messages.length; at += MESSAGES_A_BATCH) await queue.sendBatch(messages.slice(at, at + MESSAGES_A_BATCH))
  } catch (error) {
    console.error(JSON.stringify({ level: 'error', request_id: requestId, message: 'Work was not announced.', error: errorMessage(error) }))
  }
}

/** A CIEC was accepted: jobs that waited for a login go on. */
export async function resumeDownloads(system: System, { shard, entity }: DownloadHint): Promise<void> {
  const ledger = system.settings.ledgers[shard]!
  const { meta } = await resumeStatement(ledger, entity).run()
  if (meta.changes > 0) await announce(system, [{ shard, entity }])
}

/** Announces again what got stuck: jobs whose message is lost, and those whose worker died. */
export async function sweepJobs(system: System): Promise<void> {
  const now = Date.now()
  for (const [shard, ledger] of system.settings.ledgers.entries()) {
    const { results } = await stuckStatement(ledger, now, now - UNANNOUNCED_AFTER_MS, SWEEP_LIMIT).all<{ entity: number }>()
    if (results.length > 0)
      await announce(
        system,
        results.map(({ entity }) => ({ shard, entity })),
      )
  }
}
