import { BudgetUsedUp } from './db/budget.ts'

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

/** Throws what failed, if anything did. */
export function throwAll(failures: readonly unknown[]): void {
  if (failures.length === 1) throw failures[0]
  if (failures.length > 1) throw new AggregateError(failures, `${failures.length} parts failed, the first one with ${failures[0]}`)
}
