import { forgetRequests } from '../../authority/sat/conversation/upkeep.ts'
import { deleteCommits } from '../../cfdi/ingest/ingest.ts'
import type { System } from '../../platform/context.ts'
import { commit, type Statement } from '../../platform/db/commit.ts'
import { readColumn } from '../../platform/db/statement.ts'
import { each, pageByPage } from '../../platform/work/pages.ts'
import { deleteCancellations, deleteJobs, deleteQuietExtractions, deleteQuietJobs, entitiesOfPart } from './prune-store.ts'

const DAY_MS = 86_400_000
/** Age at which finished jobs, found cancellations and what commits touched are deleted, and age of jobs in which nothing changed. */
const KEPT_MS = 90 * DAY_MS
const QUIET_KEPT_MS = 14 * DAY_MS
/** Each partition is pruned every so many days. */
const PARTS = 2
/** Before every partition: those of imports have negative numbers. */
const FIRST = Number.MIN_SAFE_INTEGER
/** Partitions in one batch. */
const PAGE = 20

/**
 * Deletes jobs in which nothing changed and that finished more than 14 days ago, others that finished more than 90 days ago and that no
 * kept extraction refers to, except the newest of each source and month, and cancellations that were found, commits that were made and
 * requests for metadata that were sent to the authority more than 90 days ago. Each call prunes the partitions whose part it is; a missed day
 * is made up for with their next part. A task, whose cursor is `shard:entity`.
 */
export async function pruneJobs(system: System, cursor = ''): Promise<string | null> {
  const { settings, now } = system
  const part = Math.floor(now.getTime() / DAY_MS) % PARTS
  return pageByPage(system, 14 * PAGE + 1, cursor, async (from, fail) => {
    const [shard = 0, after = FIRST] = from.split(':').map(Number)
    const ledger = settings.ledgers[shard]!
    const page = await readColumn(ledger, entitiesOfPart(part, PARTS, after, PAGE))
    await prune(ledger, page, now.getTime(), settings.taxAuthority === 'sat').catch(fail)
    if (page.length === PAGE) return `${shard}:${page.at(-1)}`
    return shard + 1 < settings.ledgers.length ? `${shard + 1}` : null
  })
}

/** Prunes the entities in one batch; if the batch fails, each on its own. */
async function prune(ledger: D1Database, entities: readonly number[], now: number, isAsked: boolean): Promise<void> {
  if (entities.length === 0) return
  try {
    await commit(
      ledger,
      entities.flatMap((entity) => statementsFor(entity, now, isAsked)),
    )
  } catch {
    await each(entities, (entity) => commit(ledger, statementsFor(entity, now, isAsked)))
  }
}

const statementsFor = (entity: number, now: number, isAsked: boolean): Statement[] => [
  deleteQuietJobs(entity, now - QUIET_KEPT_MS),
  deleteQuietExtractions(entity, now - QUIET_KEPT_MS),
  ...deleteJobs(entity, now - KEPT_MS),
  deleteCancellations(entity, now - KEPT_MS),
  // Commits of imports stay for good: only they say what was deleted.
  ...(entity > 0 ? [deleteCommits(entity, now - KEPT_MS)] : []),
  ...(isAsked ? [forgetRequests(entity, now - KEPT_MS)] : []),
]
