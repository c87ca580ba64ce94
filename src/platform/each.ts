/** Does the work for each item, one after the other, also when it failed for one before. Throws the failures at the end. */
export async function each<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const failures: unknown[] = []
  for (const item of items) await work(item).catch((error: unknown) => failures.push(error))
  if (failures.length === 1) throw failures[0]
  if (failures.length > 1)
    throw new AggregateError(failures, `${failures.length} of ${items.length} items failed, the first one with ${failures[0]}`)
}
