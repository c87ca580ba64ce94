import { errorInWords } from '../../authority/port/error-words.ts'
import { type StatedRequest, statedOf, statedRequests } from '../../authority/sat/conversation/stated.ts'
import { afterDay } from '../../cfdi/literal-day.ts'
import { type DataStatusRow, dataStatusRows, monthStates } from '../../cfdi/quality/data-status.ts'
import { countStored } from '../../cfdi/summary/summary.ts'
import type { Ctx } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { invalid, notFound } from '../../platform/failures.ts'
import { openCursor, type Page, paginate } from '../../platform/paging/cursor.ts'
import { clock } from '../../platform/time/clock.ts'
import { addMonths, lastDayOf, offsetText } from '../../platform/time/months.ts'
import { openLedger, partitionsToRead, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { earliestOf, lastBegunDay, latestOf, type Window } from '../../taxpayers/visibility/window.ts'
import {
  COVERED_SOURCES,
  type CoverageMonth,
  type CoveragePath,
  type CoverageQuery,
  type CoveredSource,
  type MissingXmlDocument,
  type MissingXmlQuery,
} from './contract.ts'
import { type LatestJob, latestJobs, type MissingXmlRow, missingXmlRows } from './store.ts'

/** The first month of which there are CFDIs to download. */
const EARLIEST_MONTH = '2018-01'

/** A month of a source that the window shows, all or part of it. */
interface MonthOfSource {
  source: CoveredSource
  month: string
}

const directionOf = (source: CoveredSource): 0 | 1 => (source === 'sat_cfdi_issued' ? 0 : 1)
const windowOf = ({ windows }: ScopedLedger, source: CoveredSource): Window => windows[directionOf(source) === 0 ? 'issued' : 'received']

/** The first and the last month that a window shows anything of; null when it shows nothing. */
function monthsIn(ledger: ScopedLedger, source: CoveredSource, now: number): [first: string, last: string] | null {
  const { isEmpty, floor, ceiling } = windowOf(ledger, source)
  if (isEmpty) return null
  return [floor?.slice(0, 7) ?? EARLIEST_MONTH, lastBegunDay(Math.floor((ceiling ?? now) / 1_000)).slice(0, 7)]
}

/** The months of a query that the windows show, the latest first, and of each month the issued documents first. */
function placesOf(ledger: ScopedLedger, { source, from, to }: Partial<CoverageQuery>, now: number): MonthOfSource[] {
  return COVERED_SOURCES.flatMap((one): MonthOfSource[] => {
    const shown = source === undefined || source === one ? monthsIn(ledger, one, now) : null
    if (shown === null) return []
    const [first, last] = [from !== undefined && from > shown[0] ? from : shown[0], to !== undefined && to < shown[1] ? to : shown[1]]
    const wanted: MonthOfSource[] = []
    for (let month = last; month >= first; month = addMonths(month, -1)) wanted.push({ source: one, month })
    return wanted
  }).sort((one, other) => (one.month === other.month ? (one.source < other.source ? -1 : 1) : one.month < other.month ? 1 : -1))
}

/** Counts the months of the windows whose last download lacks something that the authority announced. `now` in milliseconds. */
export function partialMonths(ledger: ScopedLedger, rows: readonly DataStatusRow[], now: number): number {
  const stateOf = monthStates(ledger, rows, now)
  return placesOf(ledger, {}, now).filter(({ source, month }) => stateOf(month, directionOf(source)).status === 'partial').length
}

/**
 * Returns a page with the stored and the missing documents of each month that the windows show. One call to the ledger, whose rows are
 * bounded by the months of the page. Throws Failure 404 fiscal_entity.not_found, 422 coverage.range.
 */
export async function listCoverage(ctx: Ctx, query: CoverageQuery): Promise<Page<CoverageMonth>> {
  const ledger = openLedger(ctx)
  const { from, to, limit, cursor } = query
  if (from !== undefined && to !== undefined && from > to)
    throw invalid('coverage.range', [{ path: 'from', message: 'Must not be after `to`.' }])
  const scope = { list: `coverage:${ledger.entity}`, filters: query }
  const [month, source] = ((await openCursor(ctx, scope, cursor)) ?? []) as [month?: string, source?: string]
  const now = ctx.now.getTime()
  const isLeft = (one: MonthOfSource) => month === undefined || one.month < month || (one.month === month && one.source > source!)
  const wanted = placesOf(ledger, query, now)
    .filter(isLeft)
    .slice(0, limit + 1)
  const views = await viewsOf(ctx, ledger, wanted.slice(0, limit))
  return paginate(
    ctx,
    scope,
    limit,
    wanted,
    (one) => [one.month, one.source],
    (one) => views[wanted.indexOf(one)]!,
  )
}

async function viewsOf(ctx: Ctx, ledger: ScopedLedger, wanted: readonly MonthOfSource[]): Promise<CoverageMonth[]> {
  if (wanted.length === 0) return []
  const now = ctx.now.getTime()
  const [first, last] = [wanted.at(-1)!.month, wanted[0]!.month]
  const directions = ([0, 1] as const).filter((direction) => wanted.some(({ source }) => directionOf(source) === direction))
  const span = { first: `${first}-01`, last: lastDayOf(last), directions }
  const { ofMonth, found } = await countStored(ledger, span, now, [
    latestJobs(ledger, { first, last, now: clock.now() }),
    statedRequests(ledger.entity),
  ])
  const [jobs, requests] = found as [LatestJob[], StatedRequest[]]
  return wanted.map(({ source, month }) => {
    const { announced, with_xml, missingXml, status, succeeded_at } = ofMonth(month, directionOf(source))
    const { floor, ceiling } = windowOf(ledger, source)
    const job = jobs.find((one) => one.source === source && one.month === month)
    const rejected_count = job?.open === 0 ? job.rejected_count : 0
    const progress = progressOf(ctx, job, requests)
    return {
      ...{ source, month, status },
      visible_from: floor !== null && floor > `${month}-01` ? floor : `${month}-01`,
      visible_to: ceiling !== null && ceiling < (latestOf(lastDayOf(month)) + 1) * 1_000 ? iso(ceiling) : null,
      announced_count: announced,
      held_count: announced - missingXml,
      with_xml_count: with_xml,
      metadata_only_count: announced - with_xml,
      rejected_count,
      ...progress,
      last_code: status === 'partial' ? whyPartial(progress.last_code, rejected_count, missingXml) : progress.last_code,
      last_success_at: iso(succeeded_at),
    }
  })
}

const iso = (milliseconds: number | null): string | null => (milliseconds === null ? null : new Date(milliseconds).toISOString())

/** Says what is missing from an incomplete month, where the last code says only that the authority complied. */
function whyPartial(last_code: string | null, rejected: number, missingXml: number): string {
  if (last_code !== null && !last_code.startsWith('5000:')) return last_code
  if (rejected > 0) return 'rejected: Some of what the tax authority delivered could not be kept. The list of the month says what, and why.'
  if (missingXml > 0)
    return 'xml_not_delivered_yet: The tax authority announces documents whose XML is not held. The next run asks for what it has not delivered.'
  return 'incomplete: Not everything of the month has come up to your last run. The next run that covers the month asks for the rest.'
}

type Progress = Pick<CoverageMonth, 'last_code' | 'attempts' | 'waiting_since' | 'next_check_at'>
const NO_PROGRESS: Progress = { last_code: null, attempts: 0, waiting_since: null, next_check_at: null }

/** How far the latest job is, as the organization may know it: nothing of it is from before its own run that created or joined the job. */
function progressOf({ connection, settings }: Ctx, job: LatestJob | undefined, requests: readonly StatedRequest[]): Progress {
  if (job === undefined) return NO_PROGRESS
  // A job that has not ended continues for others while the connection is not active.
  if (job.open === 1 && connection!.state !== 'active') return { ...NO_PROGRESS, last_code: errorInWords('invalid_credentials') }
  const now = clock.now()
  const { source, month, requested_at: since, attempts_before } = job
  const stated = statedOf(requests, { source, month, since, now, factor: settings.authorityWaitFactor })
  const attempts = Math.max(0, job.attempts - attempts_before)
  const isAttempted = attempts > 0 || attempts_before === 0 || job.error_class === 'invalid_credentials'
  const error_class = isAttempted ? job.error_class : null
  const isAsleep = job.error_class === null && job.not_before === job.wait_until
  const isWaiting = job.open === 1 && error_class !== 'invalid_credentials' && (error_class !== null || isAsleep)
  const isLater = isWaiting && job.wait_until !== null && job.wait_until > now
  const next = stated.next_check_at ?? (isLater ? (isAsleep ? job.asked_again_at : job.wait_until) : null)
  return {
    last_code: error_class !== null && !stated.hasFailed ? errorInWords(error_class) : stated.last_code,
    attempts: Math.max(attempts, stated.attempts),
    waiting_since: iso(stated.waiting_since),
    next_check_at: job.open === 1 ? iso(next) : null,
  }
}

/** A document that is not stored whole. Without its metadata, only its UUID is known. */
type Entry = { uuid: string; issued_at: number; code: string | null; row: MissingXmlRow | null }

/**
 * Returns a page of a month's documents that metadata announces and that are not held whole, by when they were issued; those without even
 * metadata come first. One call to the ledger, which reads the month. Throws Failure 404 fiscal_entity.not_found, and
 * coverage_month.not_found for a month that the window does not show.
 */
export async function listMissingXml(
  ctx: Ctx,
  { source, month }: Pick<CoveragePath, 'source' | 'month'>,
  query: MissingXmlQuery,
): Promise<Page<MissingXmlDocument>> {
  const ledger = openLedger(ctx)
  const now = ctx.now.getTime()
  const shown = monthsIn(ledger, source, now)
  if (shown === null || month < shown[0] || month > shown[1]) throw notFound('coverage_month')
  const scope = { list: `coverage:${ledger.entity}:${source}:${month}`, filters: {} }
  const after = ((await openCursor(ctx, scope, query.cursor)) as [number, string] | undefined) ?? [0, '']
  const direction = directionOf(source)
  const [first, last] = [`${month}-01`, lastDayOf(month)]
  const partition = partitionsToRead(ledger).find(({ origin }) => origin === 'authority')!
  const days = [first, afterDay(last)] as const
  const limits = { direction, since: earliestOf(first), until: latestOf(last), days, after, limit: query.limit + 1 }
  const statements = [
    dataStatusRows(ledger),
    latestJobs(ledger, { first: month, last: month, source, now: clock.now() }, true),
    missingXmlRows(partition, limits),
  ]
  const [statusRows, jobs, rows] = await commit<unknown>(ledger.d1, statements)
  const [job] = jobs!.results as LatestJob[]
  const codes = new Map(JSON.parse(job?.known ?? '[]') as [uuid: string, code: string][])
  const unknown = new Map(JSON.parse(job?.unknown ?? '[]') as [uuid: string, code: string][])
  const entries: Entry[] = [
    ...[...unknown].map(([uuid, code]): Entry => ({ uuid, issued_at: 0, code, row: null })),
    ...(rows!.results as MissingXmlRow[]).map((row): Entry => {
      const beyond = row.beyond_limits === 'xml' ? 'cfdi.too_large' : null
      return { ...row, code: codes.get(row.uuid) ?? beyond, row }
    }),
  ]
    .filter(({ issued_at, uuid }) => issued_at > after[0] || (issued_at === after[0] && uuid > after[1]))
    .sort((one, other) => one.issued_at - other.issued_at || (one.uuid < other.uuid ? -1 : 1))
  const { status } = monthStates(ledger, statusRows!.results as DataStatusRow[], now)(month, direction, 1)
  const oldest = ledger.oldestAt(now)
  const view = ({ uuid, code, row }: Entry): MissingXmlDocument => ({
    uuid,
    issued_at: row && `${row.fecha}${offsetText(row.utc_offset)}`,
    estatus: row?.estatus ?? null,
    kind: row?.kind ?? null,
    why:
      direction === 1 && row?.estatus === 'cancelado'
        ? 'cancelled_received'
        : code !== null
          ? 'rejected'
          : status === 'requested'
            ? 'requested'
            : row && row.fecha < oldest
              ? 'unobtainable'
              : 'xml_not_delivered_yet',
    code: direction === 1 && row?.estatus === 'cancelado' ? null : code,
  })
  return paginate(ctx, scope, query.limit, entries, ({ issued_at, uuid }) => [issued_at, uuid], view)
}
