import type { PendingEvent, StoredOutboxEvent } from '../outbox/pending.ts'
import { readEndedJobs } from './ended-jobs-store.ts'
import { ENDED_JOBS, type JobKey } from './lease-store.ts'

/** Jobs of one list that one page of the relay takes. */
const JOBS = 30

/** Whether an outbox event lists jobs that have ended. */
export const listsJobs = ({ kind }: StoredOutboxEvent): boolean => kind === ENDED_JOBS

/**
 * Returns the events of the first jobs of these lists, in the order of their identifiers, which says nothing of who asked for a job, or when.
 * A list for one organization is of jobs that its run found finished: it is told of them as of then. `isWhole` says whether the list has no
 * further jobs.
 */
export async function endedJobs(
  ledger: D1Database,
  lists: readonly (PendingEvent & { body: string })[],
): Promise<{ list: PendingEvent; events: (PendingEvent & { body: string })[]; isWhole: boolean }[]> {
  if (lists.length === 0) return []
  const jobs = lists.map(({ body }) => (JSON.parse(body) as JobKey[]).sort())
  const rows = await readEndedJobs(
    ledger,
    lists.map(({ entity, organizations }, n) => ({ entity, organizations, jobs: jobs[n]!.slice(0, JOBS) })),
  )
  const rowsOfList = Map.groupBy(rows, ({ list }) => list)
  return lists.map((list, n) => {
    const events = (rowsOfList.get(n) ?? []).map((row) => {
      const entry = jobs[n]![row.n]!
      const [source, month, job_id] = entry
      const kind = row.status === 'succeeded' ? 'sync.completed' : 'sync.failed'
      const created_at = list.organizations === null ? row.finished_at : list.created_at
      const body = {
        ...{ job_id, data_source_key: source, period: month || null, carried: JSON.parse(row.carried) as unknown },
        ...{ error_class: row.error_class, completed_at: created_at },
      }
      const [late] = list.organizations === null ? [] : (JSON.parse(list.organizations) as string[])
      return {
        ...list,
        ...{ outbox_event_id: [kind, source, month, job_id, ...(late === undefined ? [] : [late])].join(':'), kind, created_at },
        ...{ organizations: row.organizations, body: JSON.stringify(body), bytes: 0 },
        ...{ list: list.outbox_event_id, entry: JSON.stringify(entry) },
      }
    })
    return { list, events, isWhole: events.length === jobs[n]!.length }
  })
}
