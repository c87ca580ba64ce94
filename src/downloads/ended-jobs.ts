import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { readRows } from '../platform/db/statement.ts'
import type { PendingEvent, StoredOutboxEvent } from '../platform/outbox/pending.ts'
import { requestersOf } from '../taxpayers/visibility/jobs.ts'
import { EXTRACTION_ENDED, type ExtractionBody } from './ends/extraction-ends.ts'
import { isJob, LISTED } from './jobs/key.ts'
import { syncJobs } from './jobs/tables.ts'
import { ENDED_JOBS, type JobKey, RUN_ENTRY } from './lease-store.ts'

/** Jobs of one list that one page of the relay takes. */
const JOBS = 30

/** Whether an outbox event lists jobs that have ended. */
export const listsJobs = ({ kind }: StoredOutboxEvent): boolean => kind === ENDED_JOBS

/** The first jobs of a list as events, and its entries without a job. `isWhole` says whether the list has no further jobs. */
export interface EndedJobs {
  list: PendingEvent
  events: (PendingEvent & { body: string })[]
  gone: PendingEvent[]
  isWhole: boolean
}

/**
 * Returns the events of the first jobs of these lists, in the order of their identifiers, which says nothing of who asked for a job, or when.
 * A list for one organization is of jobs that its run found finished: it is notified of them as of then.
 */
export async function endedJobs(ledger: D1Database, lists: readonly (PendingEvent & { body: string })[]): Promise<EndedJobs[]> {
  if (lists.length === 0) return []
  const jobs = lists.map(({ body }) => (JSON.parse(body) as JobKey[]).sort())
  const rows = await readRows(
    ledger,
    readEndedJobs(lists.map(({ entity, organizations }, n) => ({ entity, organizations, jobs: jobs[n]!.slice(0, JOBS) }))),
  )
  const rowsOfList = Map.groupBy(rows, ({ list }) => list)
  return lists.map((list, n) => {
    const [events, gone]: [EndedJobs['events'], PendingEvent[]] = [[], []]
    for (const row of rowsOfList.get(n) ?? []) {
      const key = jobs[n]![row.n]!
      const entry = { ...list, list: list.outbox_event_id, entry: JSON.stringify(key) }
      if (key[0] === RUN_ENTRY) events.push({ ...entry, ...extractionOf(list, key) })
      else if (row.status === null) gone.push(entry)
      else events.push({ ...entry, ...eventOf(list, key, row) })
    }
    return { list, events, gone, isWhole: jobs[n]!.length <= JOBS }
  })
}

/** The end of an extraction, whose results the relay finds out. */
function extractionOf({ entity, created_at }: PendingEvent, [, organization_id, run_id]: JobKey) {
  const outbox_event_id = [EXTRACTION_ENDED, entity, run_id].join(':')
  const body = JSON.stringify({ run_id } satisfies ExtractionBody)
  return { outbox_event_id, kind: EXTRACTION_ENDED, organizations: JSON.stringify([organization_id]), body, bytes: 0, created_at }
}

function eventOf(list: PendingEvent, [source, month, job_id]: JobKey, row: EndedJobRow) {
  const [late] = list.organizations === null ? [] : (JSON.parse(list.organizations) as string[])
  const kind = row.status === 'succeeded' ? 'sync.completed' : 'sync.failed'
  const created_at = late === undefined ? row.finished_at : list.created_at
  const body = {
    ...{ job_id, data_source_key: source, period: month || null, deferred: JSON.parse(row.deferred) as unknown },
    ...{ error_class: row.error_class, completed_at: created_at, begun_at: late === undefined ? row.started_at : null },
  }
  const outbox_event_id = [kind, list.entity, source, month, job_id, ...(late === undefined ? [] : [late])].join(':')
  return { outbox_event_id, kind, organizations: row.organizations, body: JSON.stringify(body), bytes: 0, created_at }
}

/** Jobs of an RFC that have ended: for the organizations that asked for them before, or for one that found them finished. */
export interface JobList {
  entity: number
  organizations: string | null
  jobs: readonly JobKey[]
}

export interface EndedJobRow {
  /** The number of the list, and of the job in it. */
  list: number
  n: number
  /** Null when the job does not exist any more. */
  status: 'succeeded' | 'failed' | null
  error_class: string | null
  /** JSON, as in the table. */
  organizations: string
  deferred: string
  started_at: number | null
  finished_at: number
}

const s = alias(syncJobs, 's')
const REQUESTERS = requestersOf(s)

export const readEndedJobs = (lists: readonly JobList[]): SQL<EndedJobRow> => {
  const json = JSON.stringify(lists.map(({ entity, organizations, jobs }) => [entity, organizations, jobs]))
  return sql<EndedJobRow>`select l.key as list, j.key as n, ${s.status}, ${s.error_class}, ${s.deferred}, ${s.started_at}, ${s.finished_at},
          coalesce(l.value->>1, iif(${s.late} is null, ${REQUESTERS}, (
            select json_group_array(value) from json_each(${REQUESTERS}) where value not in (select value from json_each(${s.late}))))) as organizations
        from json_each(${json}) l cross join json_each(l.value->2) j
        left join ${syncJobs} ${s} on ${isJob(s, sql`l.value->>0`, LISTED)}
        order by l.key, j.key`
}
