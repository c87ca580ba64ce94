import { deleteCommits } from '../cfdi/ingest/ingest.ts'
import type { System } from '../platform/context.ts'
import { each } from '../platform/each.ts'
import { pageByPage, START } from '../platform/pages.ts'
import { deleteCancellations, deleteJobs, entitiesOfTurn } from './prune-store.ts'

/** Age at which finished jobs, found cancellations and what commits touched are deleted. */
const KEPT_MS = 90 * 86_400_000
/** Each partition is pruned on one day of the month. */
const TURNS = 28
/** Before every partition: those of imports have negative numbers. */
const FIRST = Number.MIN_SAFE_INTEGER
/** Entities in one batch. */
const PAGE = 20

/**
 * Deletes jobs that finished more than 90 days ago and that no kept extraction refers to, except the newest of each source and month, and
 * cancellations that were found and commits that were made before then. Each call prunes the partitions of its day of the month; a missed
 * day is made up for in the next month. A task, whose place is `shard:entity`.
 */
export async function pruneJobs(system: System, place = START): Promise<string> {
  const { settings, now } = system
  const turn = now.getUTCDate() - 1
  if (turn >= TURNS) return ''
  const before = now.getTime() - KEPT_MS
  return pageByPage(system, 8 * PAGE + 1, place, async (from, fail) => {
    const [shard = 0, after = FIRST] = from.split(':').map(Number)
    const ledger = settings.ledgers[shard]!
    const page = await entitiesOfTurn(ledger, turn, TURNS, after, PAGE)
    await prune(ledger, page, before).catch(fail)
    if (page.length === PAGE) return `${shard}:${page.at(-1)}`
    return shard + 1 < settings.ledgers.length ? `${shard + 1}` : ''
  })
}

/** Prunes the entities in one batch; if the batch fails, each on its own. */
async function prune(ledger: D1Database, entities: readonly number[], before: number): Promise<void> {
  if (entities.length === 0) return
  try {
    await ledger.batch(entities.flatMap((entity) => statementsFor(ledger, entity, before)))
  } catch {
    await each(entities, (entity) => ledger.batch(statementsFor(ledger, entity, before)))
  }
}

const statementsFor = (ledger: D1Database, entity: number, before: number): D1PreparedStatement[] => [
  ...deleteJobs(ledger, entity, before),
  deleteCancellations(ledger, entity, before),
  deleteCommits(ledger, entity, before),
]
