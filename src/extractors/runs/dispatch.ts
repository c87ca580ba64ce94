import { authorityOf } from '../../authority/adapters.ts'
import type { DataSourceKey } from '../../authority/port/catalog.ts'
import { announce, type Demand, requestJobs, watermarks } from '../../downloads/downloads.ts'
import { change } from '../../platform/audit/audit.ts'
import type { Ctx, System } from '../../platform/context.ts'
import { commit, type Statement } from '../../platform/db/commit.ts'
import { newId } from '../../platform/db/id.ts'
import { each } from '../../platform/each.ts'
import { errorMessage } from '../../platform/log.ts'
import { sourcesOf } from '../../taxpayers/sources.ts'
import { type ConnectionRow, connectionsOfRun, widenWindows } from '../../taxpayers/taxpayers.ts'
import type { ExtractorRow } from '../store.ts'
import { monthsOf, rangeOf } from './scope.ts'
import {
  enabledExtractors,
  findExtractorOfRun,
  finishRun,
  insertRun,
  insertRuns,
  markRun,
  plannedRuns,
  type RunRow,
  unfinishedRuns,
} from './store.ts'

export interface RunOutcome {
  /** `no_connections` when the organization has no active RFC: not an error. */
  status: 'dispatched' | 'no_connections'
  /** RFCs that the run covered. */
  connections: number
  /** RFCs for which it queued at least one new download. */
  dispatched: number
}

/** Connections handled in one round of calls. */
const PAGE = 50
/** A planned run that is older than this was left by a crash. */
const LEFT_AFTER_MS = 30_000

const newRun = (ctx: System, extractor: ExtractorRow, trigger: RunRow['trigger'], fiscal_entity_id: string | null): RunRow => ({
  run_id: newId('run'),
  organization_id: extractor.organization_id,
  extractor_id: extractor.extractor_id,
  trigger,
  local_date: null,
  fiscal_entity_id,
  instant: ctx.now,
  status: 'planned',
  connections: 0,
  dispatched: 0,
  created_at: new Date(),
})

/** The runs that connections' becoming active causes, as rows to commit with that change. `schedule` extractors run on both. */
export async function planRuns(ctx: Ctx, trigger: 'connection_created' | 'connection_reactivated', fiscal_entity_ids: readonly string[]) {
  const enabled = await enabledExtractors(ctx.db, ctx.organization.id)
  const caused = enabled.filter(({ trigger_kind }) => trigger_kind === trigger || trigger_kind === 'schedule')
  const runs = fiscal_entity_ids.flatMap((id) => caused.map((extractor) => newRun(ctx, extractor, trigger, id)))
  return { runs, statements: insertRuns(ctx.db, runs) satisfies Statement[] }
}

/** Runs carried out on one message. */
const RUNS_A_MESSAGE = 20
/** What one `sendBatch` takes. */
const MESSAGES_A_BATCH = 100

/** Has planned runs carried out by the consumer: a hint, the sweep finds them as well. */
export async function announceRuns({ env }: System, runs: readonly RunRow[]): Promise<void> {
  const ids = runs.map(({ run_id }) => run_id)
  const messages: { body: { runs: string[] } }[] = []
  for (let at = 0; at < ids.length; at += RUNS_A_MESSAGE) messages.push({ body: { runs: ids.slice(at, at + RUNS_A_MESSAGE) } })
  for (let at = 0; at < messages.length; at += MESSAGES_A_BATCH) await env.DISPATCH.sendBatch(messages.slice(at, at + MESSAGES_A_BATCH))
}

/** Carries out those of these runs that are still planned. */
export async function carryOutRuns(system: System, run_ids: readonly string[]): Promise<void> {
  await startPlanned(system, await plannedRuns(system.db, run_ids))
}

/** Does what planned runs say, one after the other: what the first queues, the next joins. */
export const startPlanned = (system: System, runs: readonly RunRow[]): Promise<void> => each(runs, (run) => carryOut(system, run))

/** Runs an extractor now, for one connection or for all of the organization's. The plan is committed first. */
export async function startRun(
  ctx: Ctx,
  { extractor, trigger, fiscal_entity_id }: { extractor: ExtractorRow; trigger: RunRow['trigger']; fiscal_entity_id: string | null },
): Promise<RunOutcome> {
  const run = newRun(ctx, extractor, trigger, fiscal_entity_id)
  await change(ctx, { action: 'extractor.run', resource_id: extractor.extractor_id }, [insertRun(ctx.db, run)])
  return carryOut(ctx, run)
}

/**
 * Dispatches a run: jobs and their announcement first, windows after, the run's outcome last. Repeated after a crash at any point
 * it changes nothing that was done: jobs are joined, not doubled, and windows only widen.
 */
async function carryOut(system: System, run: RunRow): Promise<RunOutcome> {
  const extractor = await findExtractorOfRun(system.db, run.extractor_id)
  let after = ''
  let connections = 0
  let dispatched = 0
  for (;;) {
    const page = extractor ? await connectionsOfRun(system.db, run, after, PAGE) : []
    if (extractor && page.length > 0) dispatched += await dispatchPage(system, run, extractor, page)
    connections += page.length
    if (page.length < PAGE || run.fiscal_entity_id !== null) break
    after = page.at(-1)!.fiscal_entity_id
  }
  const outcome: RunOutcome = { status: connections === 0 ? 'no_connections' : 'dispatched', connections, dispatched }
  await commit(system.db.$client, [finishRun(system.db, run.run_id, outcome), ...(connections > 0 ? [markRun(system.db, run)] : [])])
  return outcome
}

const isCfdiSource = (source: DataSourceKey): boolean => source === 'sat_cfdi_issued' || source === 'sat_cfdi_received'

async function dispatchPage(system: System, run: RunRow, extractor: ExtractorRow, page: readonly ConnectionRow[]): Promise<number> {
  const active = authorityOf(system).sources
  const asked = page.map((connection) => {
    const enabled = sourcesOf(connection, active)
    return { connection, sources: extractor.data_source_keys.filter((key) => enabled.includes(key) && active.includes(key)) }
  })
  const reached = extractor.scope === 'since_watermark' ? await watermarks(system, run.organization_id, asked) : undefined
  const wider: { connection: number; from: string; to: number }[] = []
  const demands: Demand[] = asked.map(({ connection, sources }) => {
    const jobs = sources.flatMap((source) => {
      if (!isCfdiSource(source)) return [{ source, month: '' }]
      const watermark = reached?.get(`${connection.entity}|${source}`) ?? null
      const range = rangeOf(extractor.scope, extractor.scope_months, run.instant, extractor.timezone, watermark)
      wider.push({ connection: connection.connection, from: range.from, to: run.instant.getTime() })
      return monthsOf(range, extractor.timezone).map((month) => ({ source, month }))
    })
    return { entity: connection.entity, shard: connection.shard, rfc: connection.rfc, jobs }
  })
  const spread = run.trigger === 'schedule' ? spreadOf(system.env) : 0
  const queued = await requestJobs(system, run, demands, spread)
  if (wider.length > 0) await commit(system.db.$client, [widenWindows(system.db, earliest(wider))])
  await announce(system, demands, spread)
  return queued
}

/** Seconds over which scheduled downloads are spread, so that midnight is no wall for the authority. */
const spreadOf = ({ SPREAD_SECONDS }: Env): number => Number(SPREAD_SECONDS)

/** One row for each connection: two sources of one connection may reach back differently. */
function earliest(rows: readonly { connection: number; from: string; to: number }[]) {
  const widest = new Map<number, { connection: number; from: string; to: number }>()
  for (const row of rows) {
    const known = widest.get(row.connection)
    if (!known || row.from < known.from) widest.set(row.connection, row)
  }
  return [...widest.values()]
}

/** Finishes runs that a crash left planned. */
export async function finishRuns(system: System): Promise<void> {
  for (const run of await unfinishedRuns(system.db, new Date(Date.now() - LEFT_AFTER_MS), PAGE)) {
    try {
      await carryOut(system, run)
    } catch (error) {
      console.error(JSON.stringify({ level: 'error', request_id: system.requestId, run: run.run_id, error: errorMessage(error) }))
    }
  }
}
