import type { Ctx } from '../../../platform/context.ts'
import { Failure } from '../../../platform/failures.ts'
import { connectionsOfRun } from '../../../taxpayers/taxpayers.ts'
import { requireExtractor } from '../extractors.ts'
import type { ExtractorRun } from './contract.ts'
import { startRun } from './dispatch.ts'

const COOLDOWN_SECONDS = 600

/**
 * Runs an extractor now for all active RFCs (service.md, Run rules). A run that dispatches nothing starts no cooldown. Throws Failure
 * 404 extractor.not_found, 409 extractor.disabled, and 429 extractor.cooldown within ten minutes of the last run.
 */
export async function runExtractor(ctx: Ctx, extractor_id: string): Promise<ExtractorRun> {
  const extractor = await requireExtractor(ctx, extractor_id)
  if (!extractor.is_enabled) throw new Failure('conflict', 'extractor.disabled', 'The extractor is disabled. Enable it first.')
  // Checked before the cooldown, so that concurrent requests that cannot dispatch anything are not told to wait.
  const all = { organization_id: ctx.organization.id, fiscal_entity_id: null }
  if ((await connectionsOfRun(ctx.db, all, '', 1)).length === 0)
    return { run_id: null, status: 'no_connections', connections: 0, dispatched: 0 }
  const cooldown = ctx.env.COOLDOWNS.getByName(extractor_id)
  const acquired = await cooldown.acquire(COOLDOWN_SECONDS, Date.now())
  if (!acquired.acquired) throw tooSoon(acquired.retry_after_seconds)
  try {
    const { run_id, status, connections, dispatched } = await startRun(ctx, { extractor, trigger: 'manual', fiscal_entity_id: null })
    if (status === 'no_connections') await cooldown.release()
    return { run_id, status, connections, dispatched }
  } catch (error) {
    await cooldown.release()
    throw error
  }
}

const tooSoon = (retry_after_seconds: number) =>
  new Failure(
    'too_many_requests',
    'extractor.cooldown',
    `The extractor ran less than 10 minutes ago. Try again in ${retry_after_seconds} s.`,
    {
      retry_after_seconds,
    },
  )
