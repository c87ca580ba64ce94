/** Does its work for each thing, one after the other. One that fails does not keep the others from theirs; it is thrown at the end. */
export async function each<T>(things: readonly T[], work: (thing: T) => Promise<unknown>): Promise<void> {
  const failures: unknown[] = []
  for (const thing of things) await work(thing).catch((error: unknown) => failures.push(error))
  if (failures.length === 1) throw failures[0]
  if (failures.length > 1) throw new AggregateError(failures, `${failures.length} of ${things.length} failed, the first: ${failures[0]}`)
}
