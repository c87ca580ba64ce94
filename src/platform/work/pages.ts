import type { System } from '../context.ts'
import { log } from '../log.ts'
import { BudgetUsedUp } from './budget.ts'

/**
 * Does the work for each item, one after the other, also when it failed for one before. Throws the failures at the end, and BudgetUsedUp at
 * once.
 */
export async function each<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const failures: unknown[] = []
  for (const item of items)
    await work(item).catch((error: unknown) => {
      if (error instanceof BudgetUsedUp) throw error
      failures.push(error)
    })
  throwAll(failures)
}

/** Throws the failures, if there are any. */
function throwAll(failures: readonly unknown[]): void {
  if (failures.length === 1) throw failures[0]
  if (failures.length > 1) throw new AggregateError(failures, `${failures.length} parts failed, the first one with ${failures[0]}`)
}

/**
 * Works page by page, at least on one page, while the budget allows the statements of another. `work` gets the cursor where a page begins,
 * '' for the first one, and returns the cursor of the next one, null after the last one. A task that no longer finds what it has done may
 * return '' again. It reports the failures of a page with `fail` and continues; when it throws BudgetUsedUp, the page is repeated. Returns
 * the cursor where another invocation continues, null at the end, where the failures of this invocation are thrown.
 */
export async function pageByPage(
  system: System,
  statements: number,
  cursor: string,
  work: (cursor: string, fail: (error: unknown) => void) => Promise<string | null>,
): Promise<string | null> {
  const failures: unknown[] = []
  const fail = (error: unknown) => {
    if (error instanceof BudgetUsedUp) throw error
    failures.push(error)
  }
  let next: string | null = cursor
  try {
    do next = await work(next, fail)
    while (next !== null && system.budget.allows(statements))
  } catch (error) {
    if (!(error instanceof BudgetUsedUp)) throw error
  }
  if (next === null) throwAll(failures)
  for (const error of failures) log.error(system, 'A part of a task failed. The task goes on without it.', {}, error)
  return next
}

/**
 * Works on one ledger after the other, with one statement for each, as far as the budget allows; a failure in one keeps no other from its
 * turn. Returns the cursor where another invocation continues, null after the last ledger.
 */
export const ledgerByLedger = (
  system: System,
  cursor: string,
  work: (shard: number, ledger: D1Database) => Promise<void>,
): Promise<string | null> =>
  pageByPage(system, 1, cursor, async (from, fail) => {
    const shard = Number(from)
    await work(shard, system.settings.ledgers[shard]!).catch(fail)
    return shard + 1 < system.settings.ledgers.length ? `${shard + 1}` : null
  })
