import { afterAll, beforeAll } from 'vitest'

/** Marks of the sites that the marked sources have reached. A source may be loaded before this file, and once for several test files. */
const scope = globalThis as { reached?: Set<number>; reachedByLoading?: Set<number> }
const take = (): Set<number> => {
  const { reached = new Set() } = scope
  scope.reached = new Set()
  return reached
}

beforeAll(() => {
  scope.reachedByLoading = take().union(scope.reachedByLoading ?? new Set())
})

// biome-ignore lint/correctness/noEmptyPattern: Vitest reads the parameter's text and takes nothing but a pattern.
afterAll(({}, suite) => {
  Object.assign(suite.file.meta, { reached: [...take().union(scope.reachedByLoading!)] })
})
