import type { System } from './context.ts'
import { BudgetUsedUp } from './db/budget.ts'
import { throwAll } from './each.ts'
import { log } from './log.ts'

/** The place where a task begins. One that no longer finds what it has done continues there too. */
export const START = 'start'

/**
 * Works page by page, at least on one page, while the budget allows the statements of another. `work` gets the place where a page begins,
 * '' for the first one, and returns the place of the next one, '' after the last one. It reports what failed in a page with `fail` and goes
 * on; when it throws BudgetUsedUp, the page is repeated. Returns the place where another invocation continues, '' at the end, where the
 * failures of this invocation are thrown.
 */
export async function pageByPage(
  system: System,
  statements: number,
  place: string,
  work: (place: string, fail: (error: unknown) => void) => Promise<string>,
): Promise<string> {
  const failures: unknown[] = []
  const fail = (error: unknown) => {
    if (error instanceof BudgetUsedUp) throw error
    failures.push(error)
  }
  let next = place
  try {
    do next = await work(next === START ? '' : next, fail)
    while (next !== '' && system.budget.allows(statements))
  } catch (error) {
    if (!(error instanceof BudgetUsedUp)) throw error
  }
  if (next === '') throwAll(failures)
  for (const error of failures) log.error(system, 'A part of a task failed. The task goes on without it.', {}, error)
  return next
}

/**
 * Works on one ledger after the other, with one statement for each, as far as the budget allows; what fails in one keeps no other from its
 * turn. Returns the place where another invocation continues, '' after the last ledger.
 */
export const ledgerByLedger = (
  system: System,
  place: string,
  work: (shard: number, ledger: D1Database) => Promise<void>,
): Promise<string> =>
  pageByPage(system, 1, place, async (from, fail) => {
    const shard = Number(from)
    await work(shard, system.settings.ledgers[shard]!).catch(fail)
    return shard + 1 < system.settings.ledgers.length ? `${shard + 1}` : ''
  })
