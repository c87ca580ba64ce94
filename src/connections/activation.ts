import { markDue } from '../copies/due.ts'
import { announce, resumeDownloads } from '../downloads/downloads.ts'
import { announceUntold } from '../downloads/missed-cancellations.ts'
import { resolveStatement } from '../platform/alerts/alerts.ts'
import { keyOfInvalid } from '../platform/alerts/kinds.ts'
import { type Ctx, eventsOf } from '../platform/context.ts'
import { commit } from '../platform/db/commit.ts'
import { log } from '../platform/log.ts'
import type { ConnectionRow } from '../taxpayers/taxpayers.ts'
import { planRuns, startPlanned } from './extractors/runs/dispatch.ts'

type Runs = Awaited<ReturnType<typeof planRuns>>['runs']

/**
 * What activating a connection changes, and the runs that it starts: of extractors for new connections the first time, and of extractors
 * for reactivated connections later.
 */
export async function planActivation(ctx: Ctx, fiscal_entity_id: string, first_active_at: Date | null) {
  const trigger = first_active_at === null ? 'connection_created' : 'connection_reactivated'
  const planned = await planRuns(ctx, trigger, [fiscal_entity_id])
  return { changes: { state: 'active', first_active_at: first_active_at ?? ctx.now, active_since: ctx.now } as const, planned }
}

/**
 * Starts planned runs, downloads that waited for a login, the verification of other logins, telling what was missed since the connection
 * was active before, and copying it to storage connectors. A failure is logged and does not fail the request, because all of it is
 * committed and the next sweep starts it.
 */
export async function startDownloads(
  ctx: Ctx,
  row: Pick<ConnectionRow, 'connection' | 'organization_id' | 'fiscal_entity_id' | 'entity' | 'shard' | 'untold'>,
  runs: Runs,
  areOthersOutstanding: boolean,
): Promise<void> {
  try {
    if (areOthersOutstanding) await announce(ctx, [{ entity: row.entity, shard: row.shard }])
    await startPlanned(ctx, runs)
    await resumeDownloads(ctx, [row])
    if (row.untold !== null) await announceUntold(ctx, [row])
    await commit(eventsOf(ctx).$client, [markDue(eventsOf(ctx).$client, row.organization_id, row.fiscal_entity_id)])
  } catch (error) {
    log.error(ctx, 'Downloads of an activated connection could not be started. The next sweep starts them.', {}, error)
  }
}

/**
 * Resolves the alert of a connection that has a valid login again, or is unlinked, so that nobody reads of it what is over. A failure is logged and does not
 * fail the request: the sweep of every quarter of an hour resolves it, and one that is raised late.
 */
export async function resolveInvalid(ctx: Ctx, { organization_id, fiscal_entity_id }: ConnectionRow): Promise<void> {
  const d1 = eventsOf(ctx).$client
  try {
    await commit(d1, [resolveStatement(d1, [[organization_id, keyOfInvalid(fiscal_entity_id)]], new Date())])
  } catch (error) {
    log.error(
      ctx,
      'The alert of a connection that is valid again or unlinked could not be resolved. The next sweep resolves it.',
      {},
      error,
    )
  }
}
