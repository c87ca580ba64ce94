import { activeKeys, refuseUnknownKeys } from '../../../authority/sources.ts'
import { COOLDOWN_SECONDS } from '../../../downloads/downloads.ts'
import { listRunsOf, type RunGroup, type RunJobPosition, readRunGroups, readRunJobs } from '../../../downloads/states/states.ts'
import { withdrawJobs } from '../../../downloads/withdrawn/withdraw.ts'
import { change } from '../../../platform/audit/audit.ts'
import type { Ctx, System } from '../../../platform/context.ts'
import { idsFrom } from '../../../platform/db/id.ts'
import { Failure, invalid, notFound } from '../../../platform/failures.ts'
import { countHourly } from '../../../platform/locks/hourly.ts'
import { listPage, openCursor, type Page, paginate } from '../../../platform/paging/cursor.ts'
import { isOwn } from '../../../platform/tenant/bound.ts'
import { localDayOf } from '../../../platform/time/calendar.ts'
import { clock } from '../../../platform/time/clock.ts'
import { pageByPage } from '../../../platform/work/pages.ts'
import { notActive, sourcesOf } from '../../../taxpayers/connection.ts'
import { connectionsOfOrganization, findConnection } from '../../../taxpayers/taxpayers.ts'
import type { AskedRange } from '../../tables.ts'
import { requireExtractor } from '../extractors.ts'
import { cancelStatement, deleteRuns, findRuns, type RunRow, runsOfExtractor } from '../store.ts'
import type { CancelledRun, ExtractionDraft, Run, RunJob, RunJobQuery, RunProgress, RunQuery } from './contract.ts'
import { startExtraction } from './dispatch.ts'
import { hasLoginFor } from './preview.ts'
import { EARLIEST } from './scope.ts'

const KEPT_MS = 30 * 86_400_000
const RUNS_A_ROUND = 2_000

const viewRun = ({ organization_id: _, instant, after: __, created_at: ___, moved_at: ____, asked: _____, ...row }: RunRow): Run => ({
  ...row,
  extractor_id: row.extractor_id || null,
  started_at: instant.toISOString(),
})

/** Returns a page of the extractor's runs, newest first. Throws Failure 404 extractor.not_found. */
export async function listRuns(ctx: Ctx, extractor_id: string, query: RunQuery) {
  await requireExtractor(ctx, extractor_id)
  const read = (before: string | undefined, limit: number) => runsOfExtractor(ctx.db, ctx.organization.id, extractor_id, before, limit)
  return listPage(ctx, `runs:${extractor_id}`, query, read, (row) => row.run_id, viewRun)
}

/** Deletes finished runs that are older than 30 days. A task. */
export function pruneRuns(system: System, cursor = ''): Promise<string | null> {
  const before = idsFrom('run', new Date(system.now.getTime() - KEPT_MS))
  return pageByPage(system, 1, cursor, async () => ((await deleteRuns(system.db, before, RUNS_A_ROUND)) < RUNS_A_ROUND ? null : ''))
}

/** A run with its jobs, as far as they are in these groups. */
function view(row: RunRow, groups: readonly RunGroup[]): RunProgress {
  const counted = (status: string) => groups.filter((group) => group.status === status).reduce((sum, { n }) => sum + n, 0)
  const [queued, running, waiting, succeeded, failed] = ['queued', 'running', 'waiting', 'succeeded', 'failed'].map(counted) as [
    ...[number, number, number, number, number],
  ]
  const total = queued + running + waiting + succeeded + failed
  const isOpen = row.status === 'planned' || queued + running + waiting > 0
  const failing = groups.filter(({ error_class }) => error_class !== null).toSorted((a, b) => b.n - a.n)[0]
  const isWithdrawn = !isOpen && total === 0 && row.status === 'cancelled'
  const last = isWithdrawn ? row.moved_at.getTime() : Math.max(0, ...groups.map(({ ended_at }) => ended_at ?? 0))
  return {
    ...viewRun(row),
    ...(row.asked ?? { data_source_keys: null, from: null, to: null }),
    jobs: { queued, running, waiting, succeeded, failed, total },
    outcome: isOpen ? null : isWithdrawn ? 'cancelled' : outcomeOf(succeeded, failed),
    error_class: failing?.error_class ?? null,
    completed_at: isOpen || last === 0 ? null : new Date(last).toISOString(),
  }
}

const outcomeOf = (succeeded: number, failed: number) => {
  if (failed > 0) return succeeded === 0 ? 'failed' : 'partly_failed'
  return succeeded > 0 ? 'succeeded' : 'nothing'
}

/** Finds a run of the organization. Throws Failure 404 run.not_found. */
async function requireRun(ctx: Ctx, run_id: string): Promise<RunRow> {
  const [row] = await findRuns(ctx.db, ctx.organization.id, [run_id])
  if (!row || !isOwn(ctx.organization, row.fiscal_entity_id)) throw notFound('run')
  return row
}

/** Returns a run of the organization with the jobs of all RFCs that it covers. Throws Failure 404 run.not_found. */
export const getRun = async (ctx: Ctx, run_id: string): Promise<RunProgress> => progressOf(ctx, await requireRun(ctx, run_id))

/** Returns a run as `getRun` does. */
async function progressOf(ctx: Ctx, row: RunRow): Promise<RunProgress> {
  const rfcs = await connectionsOfOrganization(ctx.db, ctx.organization, row.fiscal_entity_id)
  const asked = rfcs.map(({ entity, shard, state }) => ({ entity, shard, isActive: state === 'active' }))
  return view(row, await readRunGroups(ctx.settings.ledgers, ctx.organization.id, asked, [row.run_id]))
}

/** Returns a page of the jobs of a run, of all RFCs that it covers. Throws Failure 404 run.not_found. */
export async function listRunJobs(ctx: Ctx, run_id: string, query: RunJobQuery): Promise<Page<RunJob>> {
  const { fiscal_entity_id } = await requireRun(ctx, run_id)
  const scope = { list: `run_jobs:${run_id}`, filters: query }
  const after = ((await openCursor(ctx, scope, query.cursor)) as RunJobPosition | undefined) ?? null
  const rfcs = await connectionsOfOrganization(ctx.db, ctx.organization, fiscal_entity_id)
  const asked = rfcs.map(({ state, ...rfc }) => ({ ...rfc, isActive: state === 'active' }))
  const rows = await readRunJobs(ctx, run_id, asked, { after, status: query.status ?? null, limit: query.limit + 1 })
  return paginate(
    ctx,
    scope,
    query.limit,
    rows,
    ({ position }) => position,
    ({ job }) => job,
  )
}

/** Returns a page of the runs that covered an RFC, newest first, each with the jobs of this RFC. Throws Failure 404 fiscal_entity.not_found. */
export async function listEntityRuns(ctx: Ctx, query: RunQuery): Promise<Page<RunProgress>> {
  const { connection, organization, settings } = ctx
  if (!connection) throw notFound('fiscal_entity')
  const { entity, shard, state } = connection
  const read = async (before: string | undefined, limit: number) => {
    const known = await listRunsOf(settings.ledgers[shard]!, organization.id, entity)
    const ids = known.filter((id) => before === undefined || id < before).slice(0, limit)
    const [rows, groups] = await Promise.all([
      findRuns(ctx.db, organization.id, ids),
      readRunGroups(settings.ledgers, organization.id, [{ entity, shard, isActive: state === 'active' }], ids),
    ])
    return rows.map((row) =>
      view(
        // How many other RFCs a run covers is nothing that a credential of this one knows.
        isOwn(organization, row.fiscal_entity_id) ? row : { ...row, connections: 0, dispatched: 0, gap_jobs: 0 },
        groups.filter(({ run_id }) => run_id === row.run_id),
      ),
    )
  }
  return listPage(
    ctx,
    `entity_runs:${entity}`,
    query,
    read,
    ({ run_id }) => run_id,
    (run) => run,
  )
}

const MEXICO = 'America/Mexico_City'

const cooldownOf = ({ env }: Ctx, fiscal_entity_id: string) => env.COOLDOWNS.getByName(`extraction:${fiscal_entity_id}`)

/**
 * Downloads a range of one RFC at once. Throws Failure 404 for a connection that is absent or not active, 422 for sources and days that are
 * not available, and 429 extraction.cooldown within ten minutes of the last one of the RFC and organization.hourly_limit.
 */
export async function extractRange(ctx: Ctx, draft: ExtractionDraft): Promise<RunProgress> {
  const { connection } = ctx
  if (connection?.state !== 'active') throw notActive(ctx, connection)
  const asked = await askedOf(ctx, connection.fiscal_entity_id, draft)
  const cooldown = cooldownOf(ctx, connection.fiscal_entity_id)
  const acquired = await cooldown.acquire(COOLDOWN_SECONDS, clock.now())
  if (!acquired.acquired) {
    const { retry_after_seconds } = acquired
    throw new Failure(
      'too_many_requests',
      'extraction.cooldown',
      `A range of this RFC was asked for less than 10 minutes ago. Try again in ${retry_after_seconds} s.`,
      { retry_after_seconds },
    )
  }
  try {
    await countHourly(ctx, 'runs')
    return await getRun(ctx, await startExtraction(ctx, connection.fiscal_entity_id, asked))
  } catch (error) {
    await cooldown.release()
    throw error
  }
}

async function askedOf(ctx: Ctx, fiscal_entity_id: string, { data_source_keys, from, to }: ExtractionDraft): Promise<AskedRange> {
  refuseUnknownKeys(data_source_keys, 'data_source_keys', activeKeys(ctx))
  const row = await findConnection(ctx.db, ctx.organization, fiscal_entity_id)
  const enabled: readonly string[] = row ? sourcesOf(row, activeKeys(ctx)) : []
  const [disabled, ...others] = data_source_keys.flatMap((key, n) => {
    const message = `Must be enabled for the connection. PATCH /v1/fiscal-entities/${fiscal_entity_id} enables it.`
    return enabled.includes(key) ? [] : [{ path: `data_source_keys[${n}]`, message }]
  })
  if (disabled) throw invalid('data_source.not_enabled', [disabled, ...others])
  const hasLogin = row ? hasLoginFor(ctx, row) : () => true
  const closed = data_source_keys.findIndex((key) => !hasLogin(key))
  if (closed >= 0)
    throw invalid('data_source.no_login', [
      {
        path: `data_source_keys[${closed}]`,
        message: `Nothing of ${data_source_keys[closed]} would be downloaded: the connection has no verified login for it. The \`warnings\` of GET /v1/fiscal-entities/{fiscal_entity_id} say which one is missing.`,
      },
    ])
  const today = localDayOf(ctx.now, MEXICO)
  const last = to ?? today
  if (from < EARLIEST) throw invalid('extraction.range', [{ path: 'from', message: `Must not be before ${EARLIEST}.` }])
  if (last > today) throw invalid('extraction.range', [{ path: 'to', message: `Must not be after today, ${today} in Mexico City.` }])
  if (from > last)
    throw invalid('extraction.range', [
      { path: 'from', message: to === undefined ? `Must not be after today, ${today} in Mexico City.` : 'Must not be after `to`.' },
    ])
  return { data_source_keys: [...new Set(data_source_keys)] as AskedRange['data_source_keys'], from, to: last }
}

/**
 * Ends a run: it asks for nothing more, and its downloads that have not begun and that nobody else wants are withdrawn. Lifts the cooldown
 * of a range of which nothing was tried. Throws Failure 404 run.not_found.
 */
export async function cancelRun(ctx: Ctx, run_id: string): Promise<CancelledRun> {
  const row = await requireRun(ctx, run_id)
  const before = await progressOf(ctx, row)
  // A run that has ended stays as it is.
  const statements = before.outcome === null ? [cancelStatement(ctx.db, run_id, clock.date())] : []
  await change(ctx, { action: 'run.cancelled', resource_id: run_id, begins: true }, statements)
  const rfcs = await connectionsOfOrganization(ctx.db, ctx.organization, row.fiscal_entity_id)
  const { withdrawn, tried } = await withdrawJobs(ctx, { organization_id: ctx.organization.id, run_id }, rfcs)
  const run = await getRun(ctx, run_id)
  // A repetition does not know what the first request withdrew.
  const isFirst = row.status !== 'cancelled'
  if (isFirst && run.outcome === 'cancelled' && withdrawn === before.jobs.total && tried === 0) await liftCooldown(ctx, row)
  return { ...run, withdrawn_jobs: withdrawn }
}

async function liftCooldown(ctx: Ctx, { trigger, fiscal_entity_id, created_at }: RunRow): Promise<void> {
  if (trigger === 'extraction' && fiscal_entity_id !== null)
    await cooldownOf(ctx, fiscal_entity_id).release(created_at.getTime() + COOLDOWN_SECONDS * 1_000)
}
