import { type VisibleRange, visibleRangesBetween } from '../../cfdi/mirrored/visible-ranges.ts'
import { combinedWindowOf, earliestOf, latestOf, type Window, type Windows } from '../../taxpayers/visibility/window.ts'
import { countJobs } from '../counts/counts.ts'
import {
  type AskedCell,
  type BroughtSince,
  countShownDocuments,
  countStored,
  type EndedJob,
  type LowerFloor,
  readAskedBefore,
  readBroughtSince,
  readEndedExtractions,
  readLastRuns,
  readLater,
  type StoredCount,
  type TogetherJob,
} from './extraction-ends-store.ts'

/** An extraction that has ended, with its requests for CFDIs. */
export interface ReadableQuestion {
  entity: number
  organization_id: string
  run_id: string
  /** In milliseconds. */
  instant: number
  /** Its jobs of CFDIs. */
  jobs: readonly EndedJob[]
  /** The jobs of the earlier extractions of the same instant, and one entry for each that has none left; empty for the first one. */
  together: readonly TogetherJob[]
  /** When runs widened the windows, in milliseconds. */
  instants: readonly number[]
  /** The windows before an instant and since then. */
  windowsOf(instant: number): readonly [before: Windows, after: Windows]
}

/** How many CFDIs became readable with an extraction, and how many readable ones changed. */
export interface Readable {
  readable: number
  updated: number
  cancelled: number
}

/** A month of a source that an extraction asked for, and the last run before it that did. */
interface Cell {
  question: ReadableQuestion
  job: EndedJob
  direction: 0 | 1
  /** The results of the jobs since the one of that run; null when that is the same one, or this one is forgotten. */
  brought: BroughtSince | null
  /** The instant of that run; the end of its job when only that is known; −∞ without such a run. */
  after: number
  /** When its job ended; −∞ without such a run. */
  limit: number
}

const SOURCES = ['sat_cfdi_issued', 'sat_cfdi_received']
const DAY_SECONDS = 86_400
const NEVER = Number.NEGATIVE_INFINITY

/**
 * Counts the CFDIs that became readable with extractions, in the same order. No CFDI counts for two runs of an organization.
 *
 * Of the run whose window first showed a CFDI and the later ones that asked for its month, the CFDI counts for the first one by whose limit
 * it had been stored. The limit of a run is the end of its download of that month, or its instant if it did not ask for the month. Of the
 * runs of one instant, the window of the first one shows more.
 *
 * The results of the jobs since the last run that asked for the month are added up without reading documents. Documents that the window
 * newly shows and that were stored by the limit of that run are added. Documents that count for a run in between are subtracted. At most
 * three statements.
 */
async function countReadable(ledger: D1Database, asked: readonly ReadableQuestion[]): Promise<Readable[]> {
  const cells = Map.groupBy(await readCells(ledger, asked), ({ question }) => question)
  const totals = new Map(asked.map((question) => [question, { readable: 0, updated: 0, cancelled: 0 }]))
  const visibleRanges: (VisibleRange & { entity: number })[] = []
  const adding: ((it: StoredCount) => void)[] = []
  for (const [question, total] of totals) {
    const { entity, instant, together } = question
    const own = cells.get(question) ?? []
    const add = (visibleRange: VisibleRange, weightOf: (it: StoredCount) => number) => {
      visibleRanges.push({ entity, ...visibleRange })
      adding.push((it) => {
        total.readable += it.count * weightOf(it)
      })
    }
    const limits = new Map(own.map(({ direction, job, limit }) => [`${direction}|${job.month}`, limit]))
    if (together.length === 0)
      for (const visibleRange of visibleRangesBetween(...question.windowsOf(instant)))
        add(visibleRange, (it) => {
          const limit = limits.get(`${it.direction}|${it.month}`)
          return Number(limit === undefined ? isCountedBy(instant, it) : isStoredBy(limit, it))
        })
    const shownAt = new Map<number, VisibleRange[]>()
    for (const cell of own) {
      total.readable += cell.brought?.created_count ?? 0
      total.updated += cell.brought?.updated_count ?? 0
      total.cancelled += cell.brought?.cancelled_count ?? 0
      for (const at of runsBetween(cell)) {
        if (!shownAt.has(at)) shownAt.set(at, visibleRangesBetween(...question.windowsOf(at)))
        for (const visibleRange of shownAt.get(at)!.flatMap((one) => withinMonth(one, cell) ?? []))
          add(visibleRange, (it) => Number(isStoredBy(cell.limit, it)) - Number(isCountedBy(at, it)))
      }
    }
  }
  for (const it of await countStored(ledger, visibleRanges)) adding[it.question]!(it)
  return asked.map((question) => totals.get(question)!)
}

/** Whether documents had certainly been stored by then. A forgotten commit was before the oldest kept one. */
const isStoredBy = (limit: number, { stored_at }: StoredCount): boolean => stored_at <= limit
/** Whether they can have been, so that a run of that instant may have counted them. */
const isCountedBy = (instant: number, { stored_at, isForgotten }: StoredCount): boolean => isForgotten || stored_at <= instant

/** The instants of the runs that did not ask for the month, after the last one that did. */
const runsBetween = ({ question: { instant, instants, together }, after }: Cell): number[] =>
  instants.filter((at) => at > after && (at < instant || (at === instant && together.length > 0)))

/** The part of a visible range in a month of its direction; null when there is none. */
function withinMonth(visibleRange: VisibleRange, { direction, job: { month } }: Cell): VisibleRange | null {
  const first = `${month}-01`
  const next = new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 1)).toISOString().slice(0, 10)
  const floor = visibleRange.floor !== null && visibleRange.floor > first ? visibleRange.floor : first
  const before = visibleRange.before !== null && visibleRange.before < next ? visibleRange.before : next
  const since = Math.max(visibleRange.since ?? 0, earliestOf(first))
  const until = Math.min(visibleRange.until ?? Number.MAX_SAFE_INTEGER, latestOf(next) - DAY_SECONDS)
  return visibleRange.direction !== direction || floor >= before || since > until ? null : { direction, since, until, floor, before }
}

async function readCells(ledger: D1Database, asked: readonly ReadableQuestion[]): Promise<Cell[]> {
  const jobs = asked.flatMap((question) => question.jobs.map((job) => ({ question, job, direction: SOURCES.indexOf(job.source) as 0 | 1 })))
  const brought = new Map(
    (
      await readBroughtSince(
        ledger,
        jobs.map(
          ({ question: { entity, organization_id, instant, windowsOf }, job: { source, month, job_id }, direction }, n): AskedCell => {
            const [before, now] = windowsOf(instant).map(({ issued, received }) => boundsOf(direction === 0 ? issued : received))
            return { n, entity, organization_id, source, month, job_id, now: now!, before: before! }
          },
        ),
      )
    ).map((it) => [it.n, it]),
  )
  // Usually no run of the organization joined an earlier one's job, and the end of that job says enough.
  const unclear = jobs.flatMap(({ question, job }, n) => {
    const { entity, organization_id, run_id, instant, together } = question
    const it = brought.get(n)
    if (it === undefined || together.some((other) => isOfMonth(other, job))) return []
    const named = { entity, organization_id, run_id, instant, source: job.source, month: job.month }
    const { previous, previous_as_of, previous_end } = it
    const isUnclear = previous_end !== null && question.instants.some((at) => at > previous_as_of! && at <= previous_end && at < instant)
    return [
      ...(job.as_of !== null && job.as_of < instant ? [{ n, isOwn: true, ...named, job_id: job.job_id }] : []),
      ...(isUnclear ? [{ n, isOwn: false, ...named, job_id: previous }] : []),
    ]
  })
  const found = await readAskedBefore(ledger, unclear)
  const [sharedAt, previousAt] = [new Map<number, number>(), new Map<number, number>()]
  for (const [i, { n, isOwn }] of unclear.entries()) if (found.has(i)) (isOwn ? sharedAt : previousAt).set(n, found.get(i)!)
  return jobs.map((one, n): Cell => {
    const { instant, together } = one.question
    const it = brought.get(n)
    const same = together.filter((other) => isOfMonth(other, one.job))
    if (it === undefined) return { ...one, brought: null, after: instant, limit: instant }
    if (same.length > 0)
      return { ...one, brought: same.some(({ job_id }) => job_id === one.job.job_id) ? null : it, after: instant, limit: it.finished_at }
    const shared = sharedAt.get(n)
    if (shared !== undefined) return { ...one, brought: null, after: shared, limit: it.finished_at }
    if (it.previous_end === null) return { ...one, brought: it, after: NEVER, limit: NEVER }
    return { ...one, brought: it, after: previousAt.get(n) ?? it.previous_end, limit: it.previous_finished! }
  })
}

const isOfMonth = (other: TogetherJob, { source, month }: EndedJob): boolean => other.source === source && other.month === month

const boundsOf = ({ isEmpty, floor, ceiling }: Window): AskedCell['now'] =>
  isEmpty ? null : [floor, ceiling === null ? null : Math.floor(ceiling / 1_000)]

/** The kind of the events of extractions that have ended, as lists of ended jobs name them. */
export const EXTRACTION_ENDED = 'extraction'

export interface ExtractionBody {
  run_id: string
}

/** An extraction that has ended, and the windows of its connection before its run and since then. */
export interface AskedExtraction {
  entity: number
  organization_id: string
  run_id: string
  /** When the last of its downloads was withdrawn, if none is left, in milliseconds. */
  withdrawn_at: number
  /** When runs widened the windows, in milliseconds. */
  instants: readonly number[]
  windowsOf(instant: number): readonly [before: Windows, after: Windows]
}

/** How an extraction ended, and what became readable with it. */
export interface ExtractionEnd {
  run_id: string
  /** The run's instant, and when it asked for its downloads, in milliseconds. */
  begun: { instant: number; requested_at: number }
  sources: string[]
  succeeded_jobs: number
  failed_jobs: number
  /** The most frequent error class of the failed jobs; null when none failed. */
  error_class: string | null
  readable_count: number
  document_count: number
  updated_count: number
  cancelled_count: number
  /** Milliseconds. */
  completed_at: number
  /** When the first run of the current series of runs with failed downloads asked, in milliseconds; null when no download failed. */
  failing_since: number | null
}

const keyOf = ({ n, source }: { n: number; source: string | null }): string => `${n}|${source}`

/**
 * Returns how extractions ended, in the same order; null for one that is forgotten. No CFDI counts for two runs. Documents that several
 * runs of one instant ask for count for the first of them, as do those that none of them asks for and a lower floor shows; the results of a
 * job that several runs joined count for the first one. At most five statements, one more where a floor is lower, one where it shows
 * documents of a source that was not asked for, and two where a run joined earlier jobs.
 */
export async function readExtractionEnds(ledger: D1Database, asked: readonly AskedExtraction[]): Promise<(ExtractionEnd | null)[]> {
  if (asked.length === 0) return []
  const { jobs: read, earlier } = await readEndedExtractions(ledger, asked)
  const jobs = read.filter((job) => job.source !== null)
  const since = await failingSince(
    ledger,
    asked.filter((_, n) => jobs.some((job) => job.n === n && job.status === 'failed')),
  )
  const jobsOf = Map.groupBy(jobs, ({ n }) => n)
  const known = new Map(read.map((one) => [one.n, one]))
  const windows = asked.map((one, n) => one.windowsOf(known.get(n)?.instant ?? 0))
  const [cfdiJobs, documentJobs] = [jobs.filter(({ month }) => month !== ''), jobs.filter(({ month }) => month === '')]
  const questions = asked.map((one, n) => ({
    ...one,
    instant: known.get(n)?.instant ?? 0,
    jobs: cfdiJobs.filter((job) => job.n === n),
    together: earlier.filter((job) => job.n === n),
  }))
  const readable = await countReadable(ledger, questions)
  const brought = await countJobs(
    ledger,
    documentJobs.map(({ n, source, month, job_id }) => {
      const { entity, organization_id } = asked[n]!
      // Documents that only a lower floor shows are counted below. Before the first run of CFDIs no floor hides documents.
      return { entity, source, month, job_id, organization_id, windows: windows[n]![combinedWindowOf(windows[n]![0]).isEmpty ? 1 : 0] }
    }),
  )
  const shown = await countShownDocuments(
    ledger,
    asked.flatMap((one, n) => lowerFloor(one, n, windows[n]!) ?? []),
  )
  const isOther = new Set(earlier.map(keyOf))
  const isEarlier = new Set(earlier.map(({ n }) => n))
  const isAsked = new Set(documentJobs.map(keyOf))
  const isBetween = shown.some((it) => !isEarlier.has(it.n) && !isAsked.has(keyOf(it)))
  const isLater = new Set(isBetween ? (await readLater(ledger, asked)).map(keyOf) : [])
  const joined = documentJobs.filter(({ as_of, instant }) => as_of !== null && as_of < instant)
  const before = await readAskedBefore(
    ledger,
    joined.map((job) => ({ ...job, ...asked[job.n]! })),
  )
  const isCounted = new Set(joined.filter((_, i) => before.has(i)).map(keyOf))
  return asked.map((one, n) => {
    const { run_id } = one
    const found = known.get(n)
    if (found === undefined) return null
    // All of its downloads may be withdrawn. Documents that its windows newly show stay readable.
    const ended = jobsOf.get(n) ?? []
    const newly = shown.filter((it) => {
      const key = keyOf(it)
      return it.n === n && !isOther.has(key) && (isAsked.has(key) || (!isEarlier.has(n) && !isLater.has(key)))
    })
    const got = documentJobs.flatMap((job, i) => {
      const key = keyOf(job)
      return job.n === n && !isCounted.has(key) && !isOther.has(key) ? [brought[i]!.created_count] : []
    })
    const sum = (counts: readonly number[]) => counts.reduce((all, count) => all + count, 0)
    const failed = ended.filter(({ status }) => status === 'failed')
    return {
      run_id,
      begun: { instant: found.instant, requested_at: found.requested_at },
      sources: [...new Set(ended.map(({ source }) => source))].sort(),
      ...{ succeeded_jobs: ended.length - failed.length, failed_jobs: failed.length, error_class: mostFrequent(failed) },
      readable_count: readable[n]!.readable,
      document_count: sum(got) + sum(newly.map(({ count }) => count)),
      updated_count: readable[n]!.updated,
      cancelled_count: readable[n]!.cancelled,
      failing_since: since.get(one) ?? null,
      completed_at: ended.length === 0 ? one.withdrawn_at : Math.max(...ended.map(({ ended_at }) => ended_at)),
    }
  })
}

/** The floor of a run if it is lower than the one before, which hid documents; null otherwise. */
function lowerFloor(
  { entity, organization_id, run_id }: AskedExtraction,
  n: number,
  [before, after]: readonly [before: Windows, after: Windows],
): LowerFloor | null {
  const [hidden, { floor }] = [combinedWindowOf(before), combinedWindowOf(after)]
  if (hidden.floor === null || (floor !== null && floor >= hidden.floor)) return null
  return { n, entity, organization_id, run_id, floor, before: hidden.floor }
}

/** Since when runs have failed in a row, for extractions with a job that failed. One statement, none without. */
async function failingSince(ledger: D1Database, asked: readonly AskedExtraction[]): Promise<Map<AskedExtraction, number>> {
  const rows = Map.groupBy(await readLastRuns(ledger, asked), ({ n }) => n)
  return new Map(
    asked.map((one, n) => {
      const runs = rows.get(n) ?? []
      const end = runs.findIndex(({ has_failed }) => has_failed === 0)
      return [one, (end < 0 ? runs : runs.slice(0, end)).at(-1)?.requested_at ?? Number.MAX_SAFE_INTEGER]
    }),
  )
}

function mostFrequent(failed: readonly EndedJob[]): string | null {
  const classes = Map.groupBy(failed, ({ error_class }) => error_class)
  return [...classes].sort(([, a], [, b]) => b.length - a.length)[0]?.[0] ?? null
}
