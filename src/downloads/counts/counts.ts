import { combinedWindowOf, type Window, type Windows } from '../../taxpayers/visibility/window.ts'
import { type AskedJob, type JobCounts, readCounts } from './counts-store.ts'

export type { JobCounts }

/** A sync job, and the organization for which its changes are counted. */
export interface OwnJob {
  entity: number
  source: string
  /** Empty for document sources. */
  month: string
  job_id: string
  organization_id: string
  /** The organization's windows on the RFC. */
  windows: Windows
}

/** The counts of a job that brought nothing. */
export const NOTHING_COUNTED: JobCounts = {
  created_count: 0,
  updated_count: 0,
  cancelled_count: 0,
  first_issued_at: null,
  last_issued_at: null,
}

/**
 * Counts, in the same order, the changes that each job brought to its organization: all in its window since the end of its previous
 * successful job of the same source and month, whoever downloaded them. Two statements for up to 10,000 jobs.
 */
export async function countJobs(ledger: D1Database, jobs: readonly OwnJob[]): Promise<JobCounts[]> {
  const counted = await readCounts(
    ledger,
    jobs.flatMap((job, n) => askedOf(job, n) ?? []),
  )
  return jobs.map((_, n) => counted.get(n) ?? NOTHING_COUNTED)
}

/** The window on what a job downloads. Documents that are no CFDIs are compared with the floor of the combined window. */
export const windowOf = ({ source, month, windows }: OwnJob): Window =>
  month === '' ? combinedWindowOf(windows) : source === 'sat_cfdi_issued' ? windows.issued : windows.received

/** A job as the store is asked for it; null when the window shows nothing. */
function askedOf({ windows, ...job }: OwnJob, n: number): AskedJob | null {
  const { isEmpty, floor, ceiling } = windowOf({ windows, ...job })
  if (isEmpty && job.month !== '') return null
  return { n, ...job, floor, until: ceiling === null ? null : Math.floor(ceiling / 1_000) }
}
