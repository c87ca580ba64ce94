import { countJobs, type JobCounts, type OwnJob } from '../../downloads/counts/counts.ts'
import type { FailedEvent } from './aside.ts'
import { windowsAt } from './feed-events.ts'
import type { SyncBody } from './payloads.ts'
import type { Portion, RelayEvent } from './portions.ts'
import type { RecipientRow } from './store.ts'

/** What the job of an event brought to each of its next recipients, in their order. */
export type CountsOfEvents = Map<RelayEvent, readonly JobCounts[]>

/**
 * Counts what the jobs of a page's sync events brought to each recipient, for all events at once. If that fails, each event is counted on
 * its own, so that one that cannot be counted stops no other: it is added to those that failed.
 */
export async function countSyncs(ledger: D1Database, portions: readonly Portion[], failed: FailedEvent[]): Promise<CountsOfEvents> {
  const asked = portions.map((portion) => ({ portion, jobs: jobsOf(portion) })).filter(({ jobs }) => jobs.length > 0)
  const all = asked.flatMap(({ jobs }) => jobs)
  const together = await countJobs(ledger, all).catch(() => null)
  const counts: CountsOfEvents = new Map()
  for (const { portion, jobs } of asked) {
    try {
      counts.set(portion.event, together ? together.splice(0, jobs.length) : await countJobs(ledger, jobs))
    } catch (error) {
      failed.push({ event: portion.event, error, isCertain: false })
    }
  }
  return counts
}

/** The job of a sync event, for each recipient. None of another event, or of one that cannot be read. */
function jobsOf({ event, rows }: Portion): OwnJob[] {
  if (!event.kind.startsWith('sync.')) return []
  const body = readBody(event)
  return body === null ? [] : rows.map((row) => jobOf(event, body, row))
}

function readBody({ body }: RelayEvent): SyncBody | null {
  try {
    return JSON.parse(body) as SyncBody | null
  } catch {
    return null
  }
}

/** A job that had begun when the connection was left went on for it, and its counts are told once. */
const jobOf = ({ entity, created_at }: RelayEvent, { data_source_key, period, job_id, begun_at }: SyncBody, row: RecipientRow): OwnJob => ({
  entity,
  source: data_source_key,
  month: period ?? '',
  job_id,
  organization_id: row.organization_id,
  windows: windowsAt(row, begun_at ?? created_at),
})
