import type { Failure } from '../../failures.ts'
import { isGuardViolation, isUniqueViolation } from './guard.ts'

/** Each round of concurrent changes lets at least one of them through. */
const MAX_ATTEMPTS = 100

/** Whether a batch lost against a concurrent change. */
export const isConflict = (error: unknown): boolean => isGuardViolation(error) || isUniqueViolation(error)

/** Reads, decides and commits; when a concurrent change refuses the commit, does so again. Throws `exhausted()` after 100 attempts. */
export async function retryOnConflict<T>(attempt: () => Promise<T>, exhausted: () => Failure): Promise<T> {
  for (let n = 1; ; n++) {
    try {
      return await attempt()
    } catch (error) {
      if (!isConflict(error)) throw error
      if (n === MAX_ATTEMPTS) throw exhausted()
    }
  }
}
