import { errorInWords } from '../authority/port/error-words.ts'
import type { Rejection } from '../cfdi/package/rejections.ts'
import type { Ctx } from '../platform/context.ts'
import { readRows } from '../platform/db/statement.ts'
import { notFound } from '../platform/failures.ts'
import { openCursor, paginate } from '../platform/paging/cursor.ts'
import type { Connection } from '../platform/tenant/tenant.ts'
import { shownJobId } from '../taxpayers/visibility/jobs.ts'
import { NOTHING, shows, type Window, windowsOf } from '../taxpayers/visibility/window.ts'
import type { JobState, SyncJob, SyncJobQuery } from './contract.ts'
import { countJobs, type JobCounts, windowOf } from './counts/counts.ts'
import { type JobPosition, type JobRow, jobsOfOrganization } from './progress-store.ts'

/** The connection of the request, in any state. Throws Failure 404 fiscal_entity.not_found. */
function requireConnection(ctx: Ctx): Connection {
  if (!ctx.connection) throw notFound('fiscal_entity')
  return ctx.connection
}

const iso = (milliseconds: number | null): string | null => (milliseconds === null ? null : new Date(milliseconds).toISOString())

/** The files that a job did not keep. Windows hide those with a date, like any document; undated ones are reported to all requesters. */
function rejectedFiles({ rejected_files, finished_at }: JobRow, window: Window): SyncJob['rejected_files'] {
  if (rejected_files === null || finished_at === null || window.isEmpty) return []
  return (JSON.parse(rejected_files) as (Rejection & { fecha?: string; issued_at: number })[])
    .filter(({ fecha, issued_at }) => fecha === undefined || shows(window, { fecha, issued_at }))
    .map(({ name, line, code }) => ({ name, line, code }))
}

/**
 * The state shown for a job that has not ended when the connection ceases to be active: it waits for a login, whatever it does for others.
 */
export const WAITING = { attempts: 0, rejected_count: 0, error_class: 'invalid_credentials', started_at: null } as const

type StateRow = Omit<JobRow, 'rejected_count' | 'rejected_files' | 'first_run'>

/** The state of a job as the organization may know it: nothing of it is from before its own run that created or joined the job. */
export async function viewState(ctx: Ctx, fiscal_entity_id: string, row: StateRow): Promise<JobState> {
  const since = (milliseconds: number | null) => iso(milliseconds === null ? null : Math.max(milliseconds, row.requested_at))
  const attempts = Math.max(0, row.attempts - row.attempts_before)
  // A login is refused after the run: joining a job that waits for a login ends the wait.
  const isAttempted = attempts > 0 || row.attempts_before === 0 || row.error_class === 'invalid_credentials'
  const error_class = isAttempted ? row.error_class : null
  // A job that waits for a new CIEC has no scheduled attempt. One without an error waits for the authority, unless somebody joined it since.
  const isAsleep = row.error_class === null && row.not_before === row.wait_until
  const isWaiting = row.status === 'waiting' && error_class !== 'invalid_credentials' && (error_class !== null || isAsleep)
  const next = isAsleep ? row.asked_again_at : row.wait_until
  return {
    job_id: await shownJobId(fiscal_entity_id, row.source, row.month, row.known_as),
    data_source_key: row.source,
    period: row.month || null,
    status: row.status,
    attempts,
    error_class,
    last_code: error_class === null ? null : errorInWords(error_class),
    next_attempt_at: isWaiting && row.wait_until !== null && row.wait_until > ctx.now.getTime() ? iso(next) : null,
    created_at: new Date(row.requested_at).toISOString(),
    started_at: isAttempted ? since(row.started_at) : null,
    finished_at: since(row.finished_at),
  }
}

const view = async (ctx: Ctx, { fiscal_entity_id }: Connection, row: JobRow, counts: JobCounts, window: Window): Promise<SyncJob> => ({
  ...(await viewState(ctx, fiscal_entity_id, row)),
  created_count: counts.created_count,
  updated_count: counts.updated_count,
  cancelled_count: counts.cancelled_count,
  rejected_count: window.isEmpty ? 0 : row.rejected_count,
  rejected_files: rejectedFiles(row, window),
})

/**
 * Whether the connection was active when the job began, like the counts of its event (delivery/relay/feed-events.ts). Later downloads are
 * not counted before the connection is active again.
 */
const wasActive = ({ state, inactive_since }: Connection, { started_at, finished_at }: JobRow): boolean => {
  const began_at = started_at ?? finished_at
  return state === 'active' || inactive_since === null || (began_at !== null && began_at < inactive_since)
}

/** Returns a page of the jobs that the organization's runs created or joined for the RFC, those of the newest run first. */
export async function listSyncJobs(ctx: Ctx, query: SyncJobQuery) {
  const connection = requireConnection(ctx)
  const { entity, shard } = connection
  const scope = { list: `sync_jobs:${entity}`, filters: query }
  const after = ((await openCursor(ctx, scope, query.cursor)) as JobPosition | undefined) ?? null
  const isActive = connection.state === 'active'
  const page = { after, status: query.status ?? null, isActive, limit: query.limit + 1 }
  const ledger = ctx.settings.ledgers[shard]!
  const { id: organization_id, extractor_count } = ctx.organization
  const found = await readRows(ledger, jobsOfOrganization(organization_id, entity, page))
  const rows = found.map((row) => (isActive || row.open === 0 ? row : { ...row, ...WAITING }))
  const ownWindows = windowsOf(extractor_count, connection)
  const jobs = rows.map((row) => ({
    ...{ entity, source: row.source, month: row.month, job_id: row.job_id, organization_id },
    windows: wasActive(connection, row) ? ownWindows : NOTHING,
  }))
  const counts = await countJobs(ledger, jobs)
  const shown = await Promise.all(
    rows.map(async (row, n) => ({ row, job: await view(ctx, connection, row, counts[n]!, windowOf(jobs[n]!)) })),
  )
  const positionOf = ({ row: { first_run, source, month } }: { row: JobRow }): JobPosition => [first_run, source, month]
  return paginate(ctx, scope, query.limit, shown, positionOf, ({ job }) => job)
}
