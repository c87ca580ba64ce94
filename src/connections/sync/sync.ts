import { takesCiecs } from '../../authority/port/login.ts'
import { type Latest, latestChanges } from '../../cfdi/changes/latest.ts'
import { partialMonths } from '../../downloads/completeness/coverage.ts'
import { type JobStates, readJobStates } from '../../downloads/states/states.ts'
import type { Ctx } from '../../platform/context.ts'
import { notFound } from '../../platform/failures.ts'
import { openCursor, type Page, sealCursor } from '../../platform/paging/cursor.ts'
import type { Connection } from '../../platform/tenant/tenant.ts'
import { clock } from '../../platform/time/clock.ts'
import { canLogIn, dueAt, isVerified } from '../../taxpayers/login.ts'
import {
  type ConnectionRow,
  findConnection,
  isInvalid,
  listWithGrantedRanges,
  type StoredGrantedRanges,
} from '../../taxpayers/taxpayers.ts'
import { openLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import type { Extractor } from '../extractors/contract.ts'
import { listExtractors } from '../extractors/extractors.ts'
import { rangeOf } from '../extractors/runs/scope.ts'
import type { AttentionQuery, PortfolioAttention, SyncQuery, SyncStatus } from './contract.ts'
import { inWords, judge } from './state.ts'

/** Connections that are judged together, and how often a request does that at most to fill its page. */
const ROUND = 100
const ROUNDS = 5
/** A connection that became active is covered by its first run within this time. */
const BEGINNING_MS = 2 * 60_000

/** Returns how far the downloads of the RFC that the request names are. Throws Failure 404 fiscal_entity.not_found. */
export async function getSync(ctx: Ctx): Promise<SyncStatus> {
  const row = ctx.connection && (await findConnection(ctx.db, ctx.organization, ctx.connection.fiscal_entity_id))
  if (!row) throw notFound('fiscal_entity')
  return (await viewsOf(ctx, [row]))[0]!
}

/**
 * Returns a page of the organization's connections with how far their downloads are, by fiscal_entity_id. With a state, connections are judged
 * until the page is full, at most 500 of them; has_more then says whether there are more to judge. Throws Failure 404
 * fiscal_entity.not_found when the fiscal entity of the filter is not linked.
 */
export async function listSync(ctx: Ctx, query: SyncQuery): Promise<Page<SyncStatus>> {
  const { state, fiscal_entity_id, limit, cursor } = query
  const scope = { list: 'sync', filters: query }
  let after = (await openCursor(ctx, scope, cursor))?.map(String)[0]
  const data: SyncStatus[] = []
  let has_more = true
  for (let round = 0; round < ROUNDS && has_more && data.length < limit; round++) {
    const size = state === undefined ? limit : ROUND
    const read = await rowsOf(ctx, fiscal_entity_id, after, size + 1)
    const rows = read.slice(0, size)
    const views = await viewsOf(ctx, rows)
    has_more = read.length > size
    const isMeant = (view: SyncStatus) => state === undefined || view.state === state
    for (const view of views) {
      if (data.length === limit && isMeant(view)) {
        has_more = true
        break
      }
      after = view.fiscal_entity_id
      if (isMeant(view)) data.push(view)
    }
  }
  return { data, has_more, next_cursor: has_more && after !== undefined ? await sealCursor(ctx, scope, [after]) : null }
}

/**
 * Returns the connections that need somebody or of which a month is incomplete, among the next `limit` ones. Two calls to the control plane,
 * and one to each ledger.
 */
export async function listAttention(ctx: Ctx, query: AttentionQuery): Promise<Page<PortfolioAttention>> {
  const { limit, cursor } = query
  const scope = { list: 'portfolio.attention', filters: query }
  const [after] = ((await openCursor(ctx, scope, cursor)) ?? []).map(String)
  const read = await listWithGrantedRanges(ctx.db, ctx.organization, after, limit + 1)
  const rows = read.slice(0, limit)
  const has_more = read.length > limit
  return {
    data: (await viewsOf(ctx, rows, async () => new Map()))
      .filter(({ state, partial_months }) => state === 'blocked' || partial_months > 0)
      .map(({ taxpayer_name: _, latest_change_at: __, ...one }) => one),
    has_more,
    next_cursor: has_more ? await sealCursor(ctx, scope, [rows.at(-1)!.fiscal_entity_id]) : null,
  }
}

async function rowsOf({ db, organization }: Ctx, id: string | undefined, after: string | undefined, limit: number): Promise<Row[]> {
  if (id === undefined) return listWithGrantedRanges(db, organization, after, limit)
  if (after !== undefined) return []
  const row = await findConnection(db, organization, id)
  if (!row) throw notFound('fiscal_entity')
  return [row]
}

type Row = ConnectionRow & StoredGrantedRanges

/** Views of connections. The number of calls does not depend on theirs. */
async function viewsOf(ctx: Ctx, rows: readonly Row[], latestOf = latestChanges): Promise<SyncStatus[]> {
  if (rows.length === 0) return []
  const asked = rows.map(({ entity, shard, state, issued_to, received_to }) => ({
    ...{ entity, shard, isActive: state === 'active' },
    sources: [...(issued_to ? ['sat_cfdi_issued'] : []), ...(received_to ? ['sat_cfdi_received'] : [])],
  }))
  const [states, extractors] = await Promise.all([readJobStates(ctx.settings.ledgers, ctx.organization.id, asked), listExtractors(ctx)])
  const connections = new Map(rows.map((row) => [row.connection, connectionOf(row)]))
  const latest = await latestOf(
    ctx,
    rows.map((row) => ({
      connection: connections.get(row.connection)!,
      widened: [time(row.widened_at), time(row.widened_before)],
    })),
  )
  return rows.map((row) => {
    const known = states.get(row.entity)!
    const partial =
      row.state === 'active'
        ? partialMonths(openLedger({ ...ctx, connection: connections.get(row.connection)! }), known.coverage, ctx.now.getTime())
        : 0
    return view(ctx, row, known, extractors, latest.get(row.connection) ?? NOTHING_YET, partial)
  })
}

const time = (date: Date | null): number | null => date?.getTime() ?? null

const NOTHING_YET: Latest = { at: null, name: null }

const connectionOf = (row: Row): Connection => ({
  ...row,
  ...{ first_active_at: time(row.first_active_at), inactive_since: null, imported_at: time(row.imported_at) },
  ...{ issued_to: time(row.issued_to), received_to: time(row.received_to) },
  ...{ listed: null, listed_version: 0 },
})

const iso = (milliseconds: number | null): string | null => (milliseconds === null ? null : new Date(milliseconds).toISOString())
const firstOf = (instants: readonly number[]): number | null => (instants.length === 0 ? null : Math.min(...instants))

function view(
  ctx: Ctx,
  row: ConnectionRow,
  jobs: JobStates,
  extractors: readonly Extractor[],
  latest: Latest,
  partial_months: number,
): SyncStatus {
  const isActive = row.state === 'active'
  const scheduled = isActive
    ? extractors.flatMap((one) => (one.next_run_at === null ? [] : [{ ...one, at: Date.parse(one.next_run_at) }]))
    : []
  const next_run_at = firstOf(scheduled.map(({ at }) => at))
  const retried_at = firstOf(scheduled.filter((one) => reachesFailed(one, one.at, jobs)).map(({ at }) => at))
  const takesCiec = takesCiecs(ctx.settings)
  const judged = judge({
    ...{ connection: row.state, paused_by: row.paused_by, groups: jobs.groups, next_run_at, retried_at },
    isVerified: isVerified(row),
    // Without a fetcher nobody asks about a CIEC.
    verified_at: time(dueAt(takesCiec ? row : { ...row, ciec_verify_at: null })),
    lacksFetcher: row.ciec !== null && !canLogIn(ctx, row),
    isBeginning: isBeginning(ctx, row, extractors),
  })
  const of = (status: string) => jobs.groups.filter((group) => group.status === status)
  const counted = (status: string) => of(status).reduce((sum, { n }) => sum + n, 0)
  const lastOf = (status: string) => Math.max(...of(status).map(({ ended_at }) => ended_at ?? 0))
  const [queued, running, waiting, succeeded, failed] = ['queued', 'running', 'waiting', 'succeeded', 'failed'].map(counted) as [
    ...[number, number, number, number, number],
  ]
  const total = queued + running + waiting + succeeded + failed
  const { timezone } = ctx.organization
  const around = {
    now: clock.now(),
    invalid_reason: isInvalid(row) ? row.invalid_reason : null,
    next_run_at,
    downloaded_to: jobs.downloaded_to,
    timezone,
    total,
    partial_months,
    takesCiec,
  }
  const [summary, message_es] = inWords(judged, around)
  return {
    ...{ fiscal_entity_id: row.fiscal_entity_id, rfc: row.rfc, name: row.name, taxpayer_name: latest.name },
    ...{ connection_status: row.state as SyncStatus['connection_status'] },
    state: judged.state,
    status: queued + running + waiting > 0 ? 'running' : 'idle',
    error_class: judged.error_class,
    attempts: judged.attempts,
    next_attempt_at: iso(judged.next_attempt_at),
    next_run_at: iso(next_run_at),
    ...{ summary, message_es },
    jobs: { queued, running, waiting, succeeded, failed, total },
    partial_months,
    percent: total === 0 ? 100 : Math.floor((100 * (succeeded + failed)) / total),
    latest_change_at: iso(latest.at),
    last_success_at: succeeded > 0 ? iso(lastOf('succeeded')) : null,
    last_failure_at: failed > 0 ? iso(lastOf('failed')) : null,
    downloaded_to: iso(jobs.downloaded_to),
  }
}

/** Whether extractors run for a connection that became active a moment ago, and none has yet. */
function isBeginning({ now }: Ctx, row: ConnectionRow, extractors: readonly Extractor[]): boolean {
  const [since, last_run] = [time(row.active_since), Math.max(time(row.issued_to) ?? 0, time(row.received_to) ?? 0)]
  if (since === null || last_run >= since || now.getTime() - since >= BEGINNING_MS) return false
  const trigger = since === time(row.first_active_at) ? 'connection_created' : 'connection_reactivated'
  return extractors.some(({ is_enabled, trigger_kind }) => is_enabled && (trigger_kind === trigger || trigger_kind === 'schedule'))
}

/** Whether the run of an extractor at an instant asks again for everything that failed. */
function reachesFailed({ scope, scope_months, timezone, data_source_keys }: Extractor, at: number, { groups }: JobStates): boolean {
  const { from } = rangeOf(scope, scope_months, new Date(at), timezone, null)
  return groups
    .filter(({ status }) => status === 'failed')
    .every(
      ({ sources, first_month }) =>
        (JSON.parse(sources) as string[]).every((source) => data_source_keys.includes(source as (typeof data_source_keys)[number])) &&
        (first_month === null || first_month >= from.slice(0, 7)),
    )
}
