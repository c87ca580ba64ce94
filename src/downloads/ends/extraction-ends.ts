import { hullOf, type Windows } from '../../taxpayers/visibility/window.ts'
import { countJobs } from '../counts/counts.ts'
import {
  countShownDocuments,
  type EndedJob,
  type LowerFloor,
  readAskedBefore,
  readEndedExtractions,
  readLastRuns,
  readLater,
} from './extraction-ends-store.ts'
import { countReadable } from './readable.ts'

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

const keyOf = ({ n, source }: { n: number; source: string | null }): string => `${n}|${source}`

/**
 * Returns how extractions ended, in the same order; null for one that is forgotten. No CFDI counts for two runs (readable.ts). Documents that
 * several runs of one instant ask for count for the first of them, as do those that none of them asks for and a lower floor shows; what a job
 * brought that several runs joined counts for the first one. At most five statements, one more where a floor is lower, one where it shows
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
      // What only a lower floor shows is counted below. Before the first run of CFDIs no floor hides documents.
      return { entity, source, month, job_id, organization_id, windows: windows[n]![hullOf(windows[n]![0]).isEmpty ? 1 : 0] }
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
    // All of its downloads may be withdrawn. What its windows newly show stays readable.
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
