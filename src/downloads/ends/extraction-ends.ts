import { stretchesBetween } from '../../cfdi/mirrored/stretches.ts'
import { hullOf, type Windows } from '../../visibility/window.ts'
import { countJobs, NOTHING_COUNTED } from '../counts/counts.ts'
import {
  countShown,
  countShownDocuments,
  type EndedJob,
  type LowerFloor,
  type MonthOfSource,
  readCountedBefore,
  readEndedExtractions,
  readLastRuns,
  readLater,
} from './extraction-ends-store.ts'

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
  windowsOf(instant: number): readonly [before: Windows, after: Windows]
}

/** How an extraction ended, and what became readable with it. */
export interface ExtractionEnd {
  run_id: string
  sources: string[]
  succeeded_jobs: number
  failed_jobs: number
  /** Of the jobs that failed, the most frequent one; null when none did. */
  error_class: string | null
  readable_count: number
  document_count: number
  updated_count: number
  cancelled_count: number
  /** Milliseconds. */
  completed_at: number
  /** When the first of the runs in a row asked of which each had a download that failed, in milliseconds; null when none failed. */
  failing_since: number | null
}

const SOURCES = ['sat_cfdi_issued', 'sat_cfdi_received'] as const

const keyOf = ({ n, source, month }: MonthOfSource): string => `${n}|${source}|${month}`

/**
 * Returns how extractions ended, in the same order; null for one that is forgotten. What became readable is what the windows show since the run
 * and did not show before, whoever downloaded it when, and what came late to what they showed before. What several runs of one instant cover
 * counts for the first of them, as does what none of them covers and a wider window shows; what a job brought that several runs joined counts
 * for the first one. At most four statements, one more where a floor is lower, and two where a run joined earlier jobs or its window shows months that it did not ask for.
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
  const own = asked.flatMap(({ entity, organization_id }, n) =>
    (jobsOf.get(n) ?? []).map(({ source, month, job_id }) => ({
      extraction: n,
      entity,
      source,
      month,
      job_id,
      organization_id,
      // What only the wider window shows is counted below. Before the first run of CFDIs no floor hides documents.
      windows: windows[n]![month === '' && hullOf(windows[n]![0]).isEmpty ? 1 : 0],
    })),
  )
  const counts = (await countJobs(ledger, own)).map((count, i) => ({ ...count, of: own[i]! }))
  const cfdi = await countShown(
    ledger,
    asked.flatMap(({ entity }, n) => stretchesBetween(...windows[n]!).map((stretch) => ({ n, entity, ...stretch }))),
  )
  const documents = await countShownDocuments(
    ledger,
    asked.flatMap((one, n) => lowerFloor(one, n, windows[n]!) ?? []),
  )
  const shown = [
    ...cfdi.map(({ direction, ...it }) => ({ ...it, source: SOURCES[direction] as string })),
    ...documents.map((it) => ({ ...it, month: '' })),
  ].map((it) => ({ ...it, key: keyOf(it) }))
  const isOther = new Set(earlier.map(keyOf))
  const isEarlier = new Set(earlier.map(({ n }) => n))
  const isAsked = new Set(jobs.map(keyOf))
  const between = shown.filter((it) => jobsOf.has(it.n) && !isEarlier.has(it.n) && !isAsked.has(it.key))
  const isLater = new Set(between.length === 0 ? [] : (await readLater(ledger, asked)).map(keyOf))
  const joined = jobs.filter(({ as_of, instant }) => as_of !== null && as_of < instant)
  const isCounted = new Set(
    (
      await readCountedBefore(
        ledger,
        joined.map((job) => ({ ...job, ...asked[job.n]! })),
      )
    ).map(keyOf),
  )
  return asked.map((one, n) => {
    const { run_id } = one
    const found = known.get(n)
    if (found === undefined) return null
    // All of its downloads may be withdrawn. What its windows newly show stays readable.
    const ended = jobsOf.get(n) ?? []
    const newly = shown.filter(({ key, ...it }) => {
      const isOwn = ended.length === 0 || isAsked.has(key) || (!isEarlier.has(n) && !isLater.has(key))
      return it.n === n && isOwn && !isOther.has(key)
    })
    const brought = counts.filter(({ of }) => {
      const key = keyOf({ n, ...of })
      return of.extraction === n && !isCounted.has(key) && !isOther.has(key)
    })
    const sum = (isCfdi: boolean) => newly.reduce((all, { month, count }) => all + ((month !== '') === isCfdi ? count : 0), 0)
    const total = (name: 'created_count' | 'updated_count' | 'cancelled_count', isCfdi: boolean) =>
      brought.filter(({ of }) => (of.month !== '') === isCfdi).reduce((all, it) => all + (it[name] ?? NOTHING_COUNTED[name]), 0)
    const failed = ended.filter(({ status }) => status === 'failed')
    return {
      run_id,
      sources: [...new Set(ended.map(({ source }) => source))].sort(),
      ...{ succeeded_jobs: ended.length - failed.length, failed_jobs: failed.length, error_class: mostFrequent(failed) },
      readable_count: sum(true) + total('created_count', true),
      document_count: sum(false) + total('created_count', false),
      updated_count: total('updated_count', true),
      cancelled_count: total('cancelled_count', true),
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
  const [hidden, { floor }] = [hullOf(before), hullOf(after)]
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
