import type { System } from '../platform/context.ts'
import { each } from '../platform/each.ts'
import { deleteCancellations, deleteJobs, entitiesOfTurn } from './prune-store.ts'

/** Age at which finished jobs and found cancellations are deleted. */
const KEPT_MS = 90 * 86_400_000
/** Each entity is pruned on one day of the month. */
const TURNS = 28
/** Entities in one batch. */
const PAGE = 20

/**
 * Deletes jobs that finished more than 90 days ago and that no kept extraction refers to, except the newest of each source and month, and cancellations that were found before then. Each call prunes the entities of its day of the
 * month; a missed day is made up for in the next month.
 */
export async function pruneJobs({ settings, now }: System): Promise<void> {
  const turn = now.getUTCDate() - 1
  if (turn >= TURNS) return
  const before = now.getTime() - KEPT_MS
  await each(settings.ledgers, async (ledger) => {
    const failures: unknown[] = []
    for (let page = await entitiesOfTurn(ledger, turn, TURNS, 0, PAGE); page.length > 0; ) {
      await prune(ledger, page, before).catch((error: unknown) => failures.push(error))
      page = page.length < PAGE ? [] : await entitiesOfTurn(ledger, turn, TURNS, page.at(-1)!, PAGE)
    }
    if (failures.length > 0) throw failures[0]
  })
}

/** Prunes the entities in one batch; if the batch fails, each on its own. */
async function prune(ledger: D1Database, entities: readonly number[], before: number): Promise<void> {
  try {
    await ledger.batch(entities.flatMap((entity) => statementsFor(ledger, entity, before)))
  } catch {
    await each(entities, (entity) => ledger.batch(statementsFor(ledger, entity, before)))
  }
}

const statementsFor = (ledger: D1Database, entity: number, before: number): D1PreparedStatement[] => [
  ...deleteJobs(ledger, entity, before),
  deleteCancellations(ledger, entity, before),
]
