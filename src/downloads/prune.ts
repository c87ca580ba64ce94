import type { System } from '../platform/context.ts'
import { each } from '../platform/each.ts'
import { entitiesOfTurn, forgetJobs } from './prune-store.ts'

const KEPT_MS = 90 * 86_400_000
/** Every entity has its turn on one day of the month. */
const TURNS = 28
/** Entities in one call. */
const PAGE = 20

/**
 * Forgets jobs that ended 90 days ago and that nobody can ask for any more: of none of the extractions that are kept. A turn that is
 * missed comes again next month.
 */
export async function pruneJobs({ settings, now }: System): Promise<void> {
  const turn = now.getUTCDate() - 1
  if (turn >= TURNS) return
  const before = now.getTime() - KEPT_MS
  await each(settings.ledgers, async (ledger) => {
    const failures: unknown[] = []
    for (let page = await entitiesOfTurn(ledger, turn, TURNS, 0, PAGE); page.length > 0; ) {
      await forget(ledger, page, before).catch((error: unknown) => failures.push(error))
      page = page.length < PAGE ? [] : await entitiesOfTurn(ledger, turn, TURNS, page.at(-1)!, PAGE)
    }
    if (failures.length > 0) throw failures[0]
  })
}

/** In one call; when one of them fails, each by itself. */
async function forget(ledger: D1Database, entities: readonly number[], before: number): Promise<void> {
  try {
    await ledger.batch(entities.map((entity) => forgetJobs(ledger, entity, before)))
  } catch {
    await each(entities, (entity) => forgetJobs(ledger, entity, before).run())
  }
}
