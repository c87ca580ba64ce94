import type { Failure } from '../failures.ts'
import { isGuardViolation, isUniqueViolation } from './guard.ts'

/** At least one concurrent change succeeds in each round, so that this allows for 100 of them. */
const MAX_ATTEMPTS = 100
const MAX_WAIT_MS = 20

/** Whether a concurrent change refused the batch. */
export const isConflict = (error: unknown): boolean => isGuardViolation(error) || isUniqueViolation(error)

/** Repeats an attempt to read, decide and commit while concurrent changes refuse its commit. Throws `exhausted()` after 100 attempts. */
export async function retryOnConflict<T>(attempt: () => Promise<T>, exhausted: () => Failure): Promise<T> {
  for (let n = 1; ; n++) {
    try {
      return await attempt()
    } catch (error) {
      if (!isConflict(error)) throw error
      if (n === MAX_ATTEMPTS) throw exhausted()
      // Concurrent changes that lost the same round try again at different times.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * MAX_WAIT_MS))
    }
  }
}
