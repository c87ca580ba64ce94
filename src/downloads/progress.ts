import { notFound } from '../failures.ts'
import type { Ctx } from '../platform/context.ts'
import { openCursor, paginate } from '../platform/paging/cursor.ts'
import type { Connection } from '../platform/tenant.ts'
import type { SyncJob, SyncJobQuery, SyncStatus } from './contract.ts'
import { type JobRow, jobCounts, jobsOfOrganization } from './progress-store.ts'

/** The connection of the request, in any state (decisions.md 4). Throws Failure 404 fiscal_entity.not_found. */
function requireConnection(ctx: Ctx): Connection {
  if (!ctx.connection) throw notFound('fiscal_entity')
  return ctx.connection
}

const iso = (milliseconds: number | null): string | null => (milliseconds === null ? null : new Date(milliseconds).toISOString())

/** Returns the progress of the downloads that the organization's runs created or joined for the RFC. */
export async function getSync(ctx: Ctx): Promise<SyncStatus> {
  const { entity, shard, fiscal_entity_id } = requireConnection(ctx)
  const counts = await jobCounts(ctx.settings.ledgers[shard]!, ctx.organization.id, entity)
  const of = (status: string) => counts.find((row) => row.status === status)
  const [queued, running, succeeded, failed] = ['queued', 'running', 'succeeded', 'failed'].map((status) => of(status)?.n ?? 0) as [
    number,
    number,
    number,
    number,
  ]
  const total = queued + running + succeeded + failed
  return {
    fiscal_entity_id,
    status: queued + running > 0 ? 'running' : 'idle',
    jobs: { queued, running, succeeded, failed, total },
    percent: total === 0 ? 100 : Math.floor((100 * (succeeded + failed)) / total),
    last_success_at: iso(of('succeeded')?.last ?? null),
    last_failure_at: iso(of('failed')?.last ?? null),
  }
}

const view =
  (now: number) =>
  (row: JobRow): SyncJob => ({
    job_id: row.job_id,
    data_source_key: row.source,
    period: row.month || null,
    status: row.status,
    attempts: row.attempts,
    created_count: row.created_count,
    updated_count: row.updated_count,
    cancelled_count: row.cancelled_count,
    rejected_count: row.rejected_count,
    error_class: row.error_class,
    // A job that waits for a new CIEC has no scheduled attempt.
    next_attempt_at:
      row.status === 'queued' && row.not_before > now && row.error_class !== 'invalid_credentials' ? iso(row.not_before) : null,
    created_at: new Date(row.created_at).toISOString(),
    started_at: iso(row.started_at),
    finished_at: iso(row.finished_at),
  })

/** Returns a page of the jobs that the organization's runs created or joined for the RFC, newest first. */
export async function listSyncJobs(ctx: Ctx, query: SyncJobQuery) {
  const { entity, shard } = requireConnection(ctx)
  const scope = { list: `sync_jobs:${entity}`, filters: query }
  const [before] = (await openCursor(ctx, scope, query.cursor)) ?? []
  const page = { before: before === undefined ? null : String(before), status: query.status ?? null, limit: query.limit + 1 }
  const rows = await jobsOfOrganization(ctx.settings.ledgers[shard]!, ctx.organization.id, entity, page)
  return paginate(ctx, scope, query.limit, rows, (row) => [row.job_id], view(ctx.now.getTime()))
}
