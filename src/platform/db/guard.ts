import { type SQL, sql } from 'drizzle-orm'
import type { Failure } from '../failures.ts'
import { bare } from './statement.ts'
import { guards } from './tables.ts'

/**
 * A statement that refuses its whole batch unless the condition is true when the batch runs. The error names the guard. A guard that
 * passes writes nothing: the table `guards` is always empty, and its trigger raises the error.
 */
export const assertThat = (condition: SQL, guard: string): SQL =>
  sql.join([sql`insert into ${guards} (${bare(guards.name)}) select ${guard} where (`, condition, sql.raw(') is not true')], sql.raw(''))

/** Whether a guard refused the batch: this one, or any when none is named. */
export const isGuardViolation = (error: unknown, guard = ''): boolean =>
  guard === ''
    ? /\bguard [\w.]+/.test(rootMessage(error))
    : new RegExp(`\\bguard ${guard.replaceAll('.', '\\.')}(?![\\w.])`).test(rootMessage(error))

/** Whether a unique key refused a second row: one of this table, or any when none is named. */
export const isUniqueViolation = (error: unknown, table = ''): boolean => rootMessage(error).includes(`UNIQUE constraint failed: ${table}`)

/** Whether the fence of this column refused the batch: an update sets the column, which is not null, to null when its condition fails. */
export const isFenceViolation = (error: unknown, column: `${string}.${string}`): boolean =>
  rootMessage(error).includes(`NOT NULL constraint failed: ${column}`)

/** The database's own message: outer errors of the chain quote the values of parameters. */
const rootMessage = (error: unknown): string =>
  error instanceof Error ? (error.cause instanceof Error ? rootMessage(error.cause) : error.message) : ''

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
