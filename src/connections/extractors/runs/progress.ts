import { type RunJobPlace, readRunJobs } from '../../../downloads/states/run-jobs.ts'
import { listRunsOf, type RunGroup, readRunGroups } from '../../../downloads/states/states.ts'
import type { Ctx } from '../../../platform/context.ts'
import { notFound } from '../../../platform/failures.ts'
import { openCursor, type Page, paginate } from '../../../platform/paging/cursor.ts'
import { connectionsOfOrganization } from '../../../taxpayers/taxpayers.ts'
import type { RunJob, RunJobQuery, RunProgress, RunQuery } from './contract.ts'
import { viewRun } from './history.ts'
import { findRuns, type RunRow } from './store.ts'

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
export async function requireRun(ctx: Ctx, run_id: string): Promise<RunRow> {
  const [row] = await findRuns(ctx.db, ctx.organization.id, [run_id])
  if (!row) throw notFound('run')
  return row
}

/** Returns a run of the organization with the jobs of all RFCs that it covers. Throws Failure 404 run.not_found. */
export const getRun = async (ctx: Ctx, run_id: string): Promise<RunProgress> => progressOf(ctx, await requireRun(ctx, run_id))

/** Returns a run as `getRun` does. */
export async function progressOf(ctx: Ctx, row: RunRow): Promise<RunProgress> {
  const rfcs = await connectionsOfOrganization(ctx.db, ctx.organization.id, row.fiscal_entity_id)
  const asked = rfcs.map(({ entity, shard, state }) => ({ entity, shard, isActive: state === 'active' }))
  return view(row, await readRunGroups(ctx.settings.ledgers, ctx.organization.id, asked, [row.run_id]))
}

/** Returns a page of the jobs of a run, of all RFCs that it covers. Throws Failure 404 run.not_found. */
export async function listRunJobs(ctx: Ctx, run_id: string, query: RunJobQuery): Promise<Page<RunJob>> {
  const { fiscal_entity_id } = await requireRun(ctx, run_id)
  const scope = { list: `run_jobs:${run_id}`, filters: query }
  const after = ((await openCursor(ctx, scope, query.cursor)) as RunJobPlace | undefined) ?? null
  const rfcs = await connectionsOfOrganization(ctx.db, ctx.organization.id, fiscal_entity_id)
  const asked = rfcs.map(({ state, ...rfc }) => ({ ...rfc, isActive: state === 'active' }))
  const rows = await readRunJobs(ctx, run_id, asked, { after, status: query.status ?? null, limit: query.limit + 1 })
  return paginate(
    ctx,
    scope,
    query.limit,
    rows,
    ({ place }) => place,
    ({ job }) => job,
  )
}

/** Returns a page of the runs that covered an RFC, newest first, each with the jobs of this RFC. Throws Failure 404 fiscal_entity.not_found. */
export async function listEntityRuns(ctx: Ctx, query: RunQuery): Promise<Page<RunProgress>> {
  const { connection, organization, settings } = ctx
  if (!connection) throw notFound('fiscal_entity')
  const { entity, shard, state } = connection
  const scope = { list: `entity_runs:${entity}`, filters: query }
  const [before] = ((await openCursor(ctx, scope, query.cursor)) ?? []).map(String)
  const known = await listRunsOf(settings.ledgers[shard]!, organization.id, entity)
  const ids = known.filter((id) => before === undefined || id < before).slice(0, query.limit + 1)
  const [rows, groups] = await Promise.all([
    findRuns(ctx.db, organization.id, ids),
    readRunGroups(settings.ledgers, organization.id, [{ entity, shard, isActive: state === 'active' }], ids),
  ])
  const groupsOf = Map.groupBy(groups, ({ run_id }) => run_id)
  return paginate(
    ctx,
    scope,
    query.limit,
    rows,
    (row) => [row.run_id],
    (row) => view(row, groupsOf.get(row.run_id) ?? []),
  )
}
