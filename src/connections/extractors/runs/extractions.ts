import { activeKeys, refuseUnknownKeys } from '../../../authority/sources.ts'
import { withdrawJobs } from '../../../downloads/withdrawn/withdraw.ts'
import { change } from '../../../platform/audit/audit.ts'
import type { Ctx } from '../../../platform/context.ts'
import { Failure, invalid } from '../../../platform/failures.ts'
import { localDayOf } from '../../../platform/time/calendar.ts'
import { notActive } from '../../../taxpayers/connection.ts'
import { sourcesOf } from '../../../taxpayers/sources.ts'
import { connectionsOfOrganization, findConnection } from '../../../taxpayers/taxpayers.ts'
import type { CancelledRun, ExtractionDraft, RunProgress } from './contract.ts'
import { startExtraction } from './dispatch.ts'
import { getRun, progressOf, requireRun } from './progress.ts'
import { EARLIEST } from './scope.ts'
import { hasLoginFor } from './selection.ts'
import { cancelStatement, type RunRow } from './store.ts'
import type { AskedRange } from './tables.ts'

const COOLDOWN_SECONDS = 600
const MEXICO = 'America/Mexico_City'

const cooldownOf = ({ env }: Ctx, fiscal_entity_id: string) => env.COOLDOWNS.getByName(`extraction:${fiscal_entity_id}`)

/**
 * Downloads a range of one RFC at once. Throws Failure 404 for a connection that is absent or not active, 422 for sources and days that cannot be
 * asked for, and 429 extraction.cooldown within ten minutes of the last one of the RFC.
 */
export async function extractRange(ctx: Ctx, draft: ExtractionDraft): Promise<RunProgress> {
  const { connection } = ctx
  if (connection?.state !== 'active') throw notActive(ctx, connection)
  const asked = await askedOf(ctx, connection.fiscal_entity_id, draft)
  const cooldown = cooldownOf(ctx, connection.fiscal_entity_id)
  const acquired = await cooldown.acquire(COOLDOWN_SECONDS, Date.now())
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
    return await getRun(ctx, await startExtraction(ctx, connection.fiscal_entity_id, asked))
  } catch (error) {
    await cooldown.release()
    throw error
  }
}

async function askedOf(ctx: Ctx, fiscal_entity_id: string, { data_source_keys, from, to }: ExtractionDraft): Promise<AskedRange> {
  refuseUnknownKeys(data_source_keys, 'data_source_keys', activeKeys(ctx))
  const row = await findConnection(ctx.db, ctx.organization.id, fiscal_entity_id)
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
 * Ends a run: what it has not asked for yet is not asked for, and its downloads that have not begun and that nobody else wants are withdrawn.
 * Lifts the cooldown of a range of which nothing was tried. Throws Failure 404 run.not_found.
 */
export async function cancelRun(ctx: Ctx, run_id: string): Promise<CancelledRun> {
  const row = await requireRun(ctx, run_id)
  const before = await progressOf(ctx, row)
  // A run that has ended stays as it is.
  const statements = before.outcome === null ? [cancelStatement(ctx.db, run_id, new Date())] : []
  await change(ctx, { action: 'run.cancelled', resource_id: run_id, begins: true }, statements)
  const rfcs = await connectionsOfOrganization(ctx.db, ctx.organization.id, row.fiscal_entity_id)
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
