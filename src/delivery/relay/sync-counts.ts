import { type AskedDocuments, readDocumentNews, TOLD_SOURCES } from '../../documents/news.ts'
import { countJobs, type JobCounts, NOTHING_COUNTED, type OwnJob } from '../../downloads/counts/counts.ts'
import { EXTRACTION_ENDED, type ExtractionBody, readExtractionEnds } from '../../downloads/ends/extraction-ends.ts'
import { boundsAt, parseReaches } from '../../taxpayers/visibility/reaches.ts'
import { hullOf, windowsOf } from '../../taxpayers/visibility/window.ts'
import type { FailedEvent } from './aside.ts'
import { isDocumentRead, wasReadable, windowsAt } from './feed-events.ts'
import type { Brought, SyncBody } from './payloads.ts'
import type { Portion, RelayEvent } from './portions.ts'
import type { RecipientRow } from './store.ts'

/** What the job of an event brought to each of its next recipients, in their order. */
export type CountsOfEvents = Map<RelayEvent, readonly Brought[]>

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
  await addEnds(ledger, portions, counts, failed)
  await addNews(ledger, portions, counts, failed)
  return counts
}

/** Adds how extractions ended and what became readable with them, for all events at once. An event of which that cannot be read fails. */
async function addEnds(ledger: D1Database, portions: readonly Portion[], counts: CountsOfEvents, failed: FailedEvent[]): Promise<void> {
  const asked = portions.flatMap(({ event, rows }) => (event.kind === EXTRACTION_ENDED ? rows.map((row) => ({ event, row })) : []))
  try {
    const ends = await readExtractionEnds(
      ledger,
      asked.map(({ event, row }) => ({
        ...{ entity: event.entity, organization_id: row.organization_id, run_id: (JSON.parse(event.body) as ExtractionBody).run_id },
        withdrawn_at: event.created_at,
        ...windowsThrough(row),
      })),
    )
    for (const [n, { event }] of asked.entries()) counts.set(event, [...(counts.get(event) ?? []), { ...NOTHING_COUNTED, ended: ends[n]! }])
  } catch (error) {
    for (const event of new Set(asked.map((one) => one.event))) failed.push({ event, error, isCertain: false })
  }
}

/**
 * The windows of a recipient before a run and since then, also when its connection is not active: no later run counts what this one made
 * readable once it is. With the instants at which its runs widened them.
 */
function windowsThrough(row: RecipientRow) {
  const [issued, received] = [parseReaches(row.issued_reaches), parseReaches(row.received_reaches)]
  const at = (when: number) => windowsOf(row.extractor_count, boundsAt(issued, received, when))
  return {
    instants: [...new Set([...issued, ...received].map((reach) => reach.at))],
    windowsOf: (instant: number) => [at(instant - 1), at(instant)] as const,
  }
}

/** Adds what recipients are told of documents, for all events at once. An event of which that cannot be read fails. */
async function addNews(ledger: D1Database, portions: readonly Portion[], counts: CountsOfEvents, failed: FailedEvent[]): Promise<void> {
  for (const { event, rows } of portions)
    if (isDocumentRead(event))
      counts.set(
        event,
        rows.map(() => NOTHING_COUNTED),
      )
  const asked = portions.flatMap(({ event, rows }) =>
    rows.flatMap((row, n) => {
      const ask = askOf(event, row, counts.get(event)?.[n])
      return ask ? [{ event, n, ask }] : []
    }),
  )
  try {
    const news = await readDocumentNews(
      ledger,
      asked.map(({ ask }) => ask),
    )
    for (const [i, { event, n }] of asked.entries())
      counts.set(event, counts.get(event)!.with(n, { ...counts.get(event)![n]!, news: news[i]! }))
  } catch (error) {
    for (const event of new Set(asked.map((one) => one.event))) failed.push({ event, error, isCertain: false })
  }
}

/** What to ask of the documents of an event for a recipient; null when it is told of none. */
function askOf(event: RelayEvent, row: RecipientRow, brought: JobCounts | undefined): AskedDocuments | null {
  if (!wasReadable(row, event.created_at)) return null
  const body = readBody(event)
  const document_ids = isDocumentRead(event)
    ? [(body as unknown as { document_id: string }).document_id]
    : brought?.document_ids !== undefined && body !== null && TOLD_SOURCES.includes(body.data_source_key)
      ? (JSON.parse(brought.document_ids) as string[])
      : []
  if (document_ids.length === 0) return null
  return { entity: event.entity, organization_id: row.organization_id, window: hullOf(windowsAt(row, event.created_at)), document_ids }
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
