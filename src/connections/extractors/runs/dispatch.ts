import { announce, COOLDOWN_SECONDS, type ConnectionDemand, type Queued, requestJobs, watermarks } from '../../../downloads/downloads.ts'
import { change } from '../../../platform/audit/audit.ts'
import type { Ctx, System } from '../../../platform/context.ts'
import { commit, type Statement } from '../../../platform/db/commit.ts'
import { newId } from '../../../platform/db/id.ts'
import { Failure } from '../../../platform/failures.ts'
import { slotOf } from '../../../platform/hash.ts'
import { countHourly } from '../../../platform/locks/hourly.ts'
import { clock } from '../../../platform/time/clock.ts'
import { each } from '../../../platform/work/pages.ts'
import { type Message, sendHints } from '../../../platform/work/send.ts'
import { canLogIn, dueAt, isVerified } from '../../../taxpayers/login.ts'
import { activeOf, type ConnectionRow, connectionsOfRun, countActiveConnections } from '../../../taxpayers/taxpayers.ts'
import { verifyOutstanding } from '../../../taxpayers/verification.ts'
import { widenWindows } from '../../../taxpayers/widen-windows.ts'
import type { AskedRange } from '../../tables.ts'
import { requireExtractor } from '../extractors.ts'
import type { ExtractorRow } from '../store.ts'
import {
  enabledExtractors,
  findExtractorOfRun,
  finishRun,
  insertRun,
  insertRuns,
  markRun,
  plannedRuns,
  postponeRun,
  type RunRow,
  saveCheckpoint,
  unfinishedRuns,
} from '../store.ts'
import type { ExtractorRun } from './contract.ts'
import { isCfdiSource, sourcesFetched } from './preview.ts'
import { askedRange, boundedBy, firstOf, gapStart, monthsOf, rangeOf, sweptMonths } from './scope.ts'

export interface RunOutcome extends Queued {
  run_id: string
  /** `no_connections` when the organization has no active RFC, which is not an error. */
  status: 'dispatched' | 'no_connections'
  /** Number of RFCs that the run covered. */
  connections: number
}

/** Connections dispatched in one round of calls. An invocation has the statements for them, even when each is in its own ledger. */
const PAGE = 25
/** The statements of a run besides those that `pageStatements` counts. */
const RUN_STATEMENTS = 7
/** A planned run that has not moved for this long was left unfinished by a crash. */
const UNFINISHED_AFTER_MS = 30_000
const SWEEP_LIMIT = 100
/** Runs that one queue message names. */
export const RUNS_A_MESSAGE = 20

/** The most statements of a page, done in two parts: the windows, and in each ledger the watermarks and the jobs. */
const pageStatements = (page: readonly ConnectionRow[]): number => 2 * (1 + 16 * new Set(page.map(({ shard }) => shard)).size)

const newRun = (
  ctx: System,
  extractor: Pick<ExtractorRow, 'organization_id' | 'extractor_id'>,
  trigger: RunRow['trigger'],
  fiscal_entity_id: string | null,
): RunRow => ({
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
  gap_jobs: 0,
  after: '',
  created_at: clock.date(),
  moved_at: clock.date(),
  asked: null,
})

/**
 * Returns the runs that start when connections become active, and the statements that insert them in the commit of that change. Scheduled
 * extractors run for both triggers.
 */
export async function planRuns(ctx: Ctx, trigger: 'connection_created' | 'connection_reactivated', fiscal_entity_ids: readonly string[]) {
  const enabled = await enabledExtractors(ctx.db, ctx.organization.id)
  const triggered = enabled.filter(({ trigger_kind }) => trigger_kind === trigger || trigger_kind === 'schedule')
  const runs = fiscal_entity_ids.flatMap((id) => triggered.map((extractor) => newRun(ctx, extractor, trigger, id)))
  return { runs, statements: insertRuns(runs) satisfies Statement[] }
}

/** The messages of the dispatch queue that name these planned runs. */
export function runMessages(runs: readonly Pick<RunRow, 'run_id'>[]): Message<{ runs: string[] }>[] {
  const ids = runs.map(({ run_id }) => run_id)
  return Array.from({ length: Math.ceil(ids.length / RUNS_A_MESSAGE) }, (_, n) => ({
    body: { runs: ids.slice(n * RUNS_A_MESSAGE, (n + 1) * RUNS_A_MESSAGE) },
  }))
}

/** Announces planned runs to the consumer. The sweep dispatches them if a message is lost. */
export const announceRuns = (system: System, runs: readonly Pick<RunRow, 'run_id'>[]): Promise<void> =>
  sendHints(system, system.env.DISPATCH, runMessages(runs))

/** Dispatches those of the named runs that are still planned. */
export async function dispatchRuns(system: System, run_ids: readonly string[]): Promise<void> {
  await startPlanned(system, await plannedRuns(system.db, run_ids))
}

/**
 * Dispatches planned runs one after the other, so that later runs join the jobs of earlier ones. Sends on the runs beyond the budget of the
 * invocation.
 */
export async function startPlanned(system: System, runs: readonly RunRow[]): Promise<void> {
  const left: RunRow[] = []
  let isOver = false
  await each(runs, async (run) => {
    if (isOver) left.push(run)
    else isOver = !(await dispatch(system, run)).isDone
  })
  await announceRuns(system, left)
}

/**
 * Commits a run of the extractor, for one connection or all of the organization's, and dispatches it. When the budget ends first, the
 * outcome counts all RFCs of the run, and those dispatched so far.
 */
async function startRun(
  ctx: Ctx,
  { extractor, trigger, fiscal_entity_id }: { extractor: ExtractorRow; trigger: RunRow['trigger']; fiscal_entity_id: string | null },
): Promise<RunOutcome> {
  const run = newRun(ctx, extractor, trigger, fiscal_entity_id)
  await change(ctx, { action: 'extractor.run', resource_id: extractor.extractor_id }, [insertRun(ctx.db, run)])
  const { isDone, ...outcome } = await dispatch(ctx, run)
  if (isDone) return outcome
  const [active] = await countActiveConnections(ctx.db, { id: ctx.organization.id })
  return { ...outcome, connections: Math.max(outcome.connections, active!.n) }
}

/** Commits a run that downloads a range of one RFC at once, and dispatches it as far as its login is verified. */
export async function startExtraction(ctx: Ctx, fiscal_entity_id: string, asked: AskedRange): Promise<string> {
  const run = { ...newRun(ctx, { organization_id: ctx.organization.id, extractor_id: '' }, 'extraction', fiscal_entity_id), asked }
  await change(ctx, { action: 'fiscal_entity.extraction', resource_id: fiscal_entity_id, changed: Object.keys(asked) }, [
    insertRun(ctx.db, run),
  ])
  await dispatch(ctx, run)
  return run.run_id
}

/** The downloads of a run. */
type Plan = Pick<ExtractorRow, 'data_source_keys' | 'scope' | 'scope_months' | 'timezone'> & { asked: AskedRange | null }

async function planOf(system: System, { asked, extractor_id }: RunRow): Promise<Plan | null> {
  if (asked) return { ...asked, asked, scope: 'full_history', scope_months: null, timezone: 'America/Mexico_City' }
  const extractor = await findExtractorOfRun(system.db, extractor_id)
  return extractor ? { ...extractor, asked } : null
}

/**
 * Dispatches a run: requests its jobs, widens the windows of the sources that it fetches, announces the jobs, and finally records the
 * outcome. When the budget ends first, the run saves its checkpoint and sends itself on; the returned outcome counts the dispatches so far.
 * It may be repeated after a crash at any point, because jobs are joined rather than duplicated and windows only widen. A connection
 * without a verified login is left out, and the same commit plans a run of that connection alone for the time of its next verification.
 * Like a draft, a connection with which nobody can log in is left out.
 */
async function dispatch(system: System, run: RunRow): Promise<RunOutcome & { isDone: boolean }> {
  const extractor = await planOf(system, run)
  let { after, connections, dispatched, gap_jobs } = run
  const unverified: ConnectionRow[] = []
  const laterRuns = () => insertRuns(unverified.map((row) => laterRun(run, row)))
  const cover = async (page: readonly ConnectionRow[]): Promise<void> => {
    const verified = page.filter((row) => isVerified(row))
    const queued = extractor && verified.length > 0 ? await dispatchPage(system, run, extractor, verified) : undefined
    const left = page.filter((row) => !isVerified(row) || queued?.unwidened.has(row.connection))
    unverified.push(...left)
    connections += page.length - left.length
    dispatched += queued?.dispatched ?? 0
    gap_jobs += queued?.gap_jobs ?? 0
  }
  for (;;) {
    const read = extractor ? await connectionsOfRun(system.db, run, after, PAGE) : []
    if (!system.budget.allows(pageStatements(read) + RUN_STATEMENTS)) {
      const counts = { connections, dispatched, gap_jobs }
      await commit(system.db.$client, [saveCheckpoint(system.db, run, { after, ...counts }, clock.date()), ...laterRuns()])
      await announceRuns(system, [run])
      return { run_id: run.run_id, status: 'dispatched', ...counts, isDone: false }
    }
    const able = read.filter((row) => canLogIn(system, row))
    await cover(able.filter((row) => isVerified(row)))
    // Done last, so that no RFC waits for the authority's answers about the logins of others.
    await cover(await newlyVerified(system, able))
    if (read.length < PAGE || run.fiscal_entity_id !== null) break
    after = read.at(-1)!.fiscal_entity_id
  }
  const outcome = { status: connections === 0 ? 'no_connections' : 'dispatched', connections, dispatched, gap_jobs } as const
  if (run.fiscal_entity_id !== null && unverified.length > 0)
    await commit(system.db.$client, [postponeRun(system.db, run.run_id, nextVerification(unverified[0]!))])
  else
    await commit(system.db.$client, [
      finishRun(system.db, run, outcome),
      ...(connections > 0 && run.extractor_id !== '' ? [markRun(system.db, run)] : []),
      ...laterRuns(),
    ])
  return { run_id: run.run_id, ...outcome, isDone: true }
}

type Widening = Parameters<typeof widenWindows>[1][number]

/** RFCs of a page whose logins a run verifies itself. The others are verified by the sweep. */
const VERIFIED_A_PAGE = 10

/** Verifies the logins of a page that are due, as far as the authority answers, and returns the connections that were unverified. */
async function newlyVerified(system: System, page: readonly ConnectionRow[]): Promise<readonly ConnectionRow[]> {
  const unverified = page.filter((row) => !isVerified(row))
  const due = unverified.filter((row) => nextVerification(row).getTime() <= clock.now()).slice(0, VERIFIED_A_PAGE)
  if (due.length === 0) return unverified
  for (const { entity } of due) await verifyOutstanding({ ...system, now: clock.date() }, entity)
  return activeOf(system.db, unverified)
}

const nextVerification = (row: ConnectionRow): Date => dueAt(row) ?? clock.date()

/** The run of one connection that makes up for a run that left it out. The sweep dispatches it. */
const laterRun = (run: RunRow, row: ConnectionRow): RunRow => ({
  ...run,
  run_id: newId('run'),
  local_date: null,
  fiscal_entity_id: row.fiscal_entity_id,
  moved_at: nextVerification(row),
})

/**
 * Returns the queued jobs, and the connections whose windows did not widen, because another login has been accepted or refused since. The
 * first run after a connection became active again also requests the months since its last extraction that lie before the run's range, and
 * the whole range of runs that a refused login stopped.
 */
async function dispatchPage(
  system: System,
  run: RunRow,
  extractor: Plan,
  page: readonly ConnectionRow[],
): Promise<Queued & { unwidened: Set<number> }> {
  const fetched = sourcesFetched(system, extractor.data_source_keys)
  const selected = page.map((connection) => ({ connection, sources: fetched(connection) }))
  const reached = extractor.scope === 'since_watermark' ? await watermarks(system, run.organization_id, selected) : undefined
  // The sandbox delivers everything with the months of the range.
  const isSwept = system.settings.taxAuthority === 'sat'
  const wider = { issued: [] as Widening[], received: [] as Widening[] }
  const demands: ConnectionDemand[] = selected.map(({ connection, sources }) => {
    const jobs = sources.flatMap((source) => {
      if (!isCfdiSource(source)) return [{ source, month: '', is_gap: false }]
      const watermark = reached?.get(`${connection.entity}|${source}`) ?? null
      const range = extractor.asked
        ? askedRange(extractor.asked, run.instant)
        : rangeOf(extractor.scope, extractor.scope_months, run.instant, extractor.timezone, watermark)
      const direction = source === 'sat_cfdi_issued' ? 'issued' : 'received'
      const gap = gapStart(range, connection[`${direction}_to`], connection.active_since)
      const reaching = extractor.asked ? range.from : firstOf([range.from, gap, connection[`${direction}_revoked`]])
      const from = boundedBy(reaching, connection.access_from)
      // All of what was asked for is before what a consent allows.
      if (extractor.asked && from > extractor.asked.to) return []
      wider[direction].push({ connection: connection.connection, from, to: run.instant.getTime(), last: extractor.asked?.to ?? null })
      const months = monthsOf({ ...range, from }, extractor.timezone)
      const again =
        isSwept && !extractor.asked
          ? sweptMonths({ ...range, from }, connection[`${direction}_from`], connection[`${direction}_to`], slotOf(connection.rfc, 7))
          : []
      return [
        ...months.map((month) => ({ source, month, is_gap: month < range.from.slice(0, 7) })),
        ...again.map((month) => ({ source, month, is_gap: false })),
      ]
    })
    return { entity: connection.entity, shard: connection.shard, rfc: connection.rfc, jobs }
  })
  const is_interactive = run.trigger !== 'schedule'
  const spread = is_interactive ? 0 : system.settings.spreadSeconds
  const queued = await requestJobs(system, { ...run, is_interactive, is_range: extractor.asked !== null }, demands, spread)
  if (queued instanceof Date) return dispatchPage(system, { ...run, instant: queued }, extractor, page)
  const directions = (['issued', 'received'] as const).filter((direction) => wider[direction].length > 0)
  const unwidened = new Set(directions.flatMap((direction) => wider[direction].map(({ connection }) => connection)))
  if (directions.length > 0) {
    const now = clock.now()
    const statements = directions.map((direction) => widenWindows(direction, wider[direction], now))
    const widened = await commit<{ connection: number }>(system.db.$client, statements)
    for (const { connection } of widened.flatMap(({ results }) => results)) unwidened.delete(connection)
  }
  const organizations = [run.organization_id]
  await announce(
    system,
    queued.waiting.map((rfc) => ({ ...rfc, organizations })),
    is_interactive,
    spread,
  )
  return { ...queued, unwidened }
}

/** Announces runs that a crash left planned, and those whose message is lost. */
export async function sweepRuns(system: System): Promise<void> {
  await announceRuns(system, await unfinishedRuns(system.db, new Date(clock.now() - UNFINISHED_AFTER_MS), SWEEP_LIMIT))
}

/**
 * Runs an extractor now for all active RFCs. A run that dispatches nothing starts no cooldown. Throws Failure
 * 404 extractor.not_found, 409 extractor.disabled, and 429 extractor.cooldown within ten minutes of the last run and
 * organization.hourly_limit.
 */
export async function runExtractor(ctx: Ctx, extractor_id: string): Promise<ExtractorRun> {
  const extractor = await requireExtractor(ctx, extractor_id)
  if (!extractor.is_enabled) throw new Failure('conflict', 'extractor.disabled', 'The extractor is disabled. Enable it first.')
  // Checked before the cooldown, so that concurrent requests with nothing to dispatch need not wait.
  const all = { organization_id: ctx.organization.id, fiscal_entity_id: null }
  if ((await connectionsOfRun(ctx.db, all, '', 1)).length === 0)
    return { run_id: null, status: 'no_connections', connections: 0, dispatched: 0 }
  const cooldown = ctx.env.COOLDOWNS.getByName(extractor_id)
  const acquired = await cooldown.acquire(COOLDOWN_SECONDS, clock.now())
  if (!acquired.acquired) throw tooSoon(acquired.retry_after_seconds)
  try {
    await countHourly(ctx, 'runs')
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
