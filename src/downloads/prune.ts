import type { System } from '../env.ts'
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
  for (const ledger of settings.ledgers) {
    for (let page = await entitiesOfTurn(ledger, turn, TURNS, 0, PAGE); page.length > 0; ) {
      await ledger.batch(page.map((entity) => forgetJobs(ledger, entity, before)))
      page = page.length < PAGE ? [] : await entitiesOfTurn(ledger, turn, TURNS, page.at(-1)!, PAGE)
    }
  }
}
