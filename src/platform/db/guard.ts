import { type Fragment, join, prepared, raw, sql } from './fragment.ts'

/**
 * A statement that refuses its whole batch unless the condition is true when the batch runs. The error names the guard. A guard that
 * passes writes nothing: the table `guards` is always empty, and its trigger raises the error.
 */
export const assertThat = (d1: D1Database, condition: Fragment, guard: string): D1PreparedStatement =>
  prepared(d1, join([sql`insert into guards (name) select ${guard} where (`, condition, raw(') is not true')], ''))

/** Whether a guard refused the batch: this one, or any when none is named. */
export const isGuardViolation = (error: unknown, guard = ''): boolean => error instanceof Error && causes(error).includes(`guard ${guard}`)

/** Whether a unique key refused a second row. */
export const isUniqueViolation = (error: unknown): boolean => error instanceof Error && /UNIQUE constraint failed/.test(causes(error))

/** Whether the fence of this column refused the batch: an update sets the column, which is not null, to null when its condition fails. */
export const isFenceViolation = (error: unknown, column: `${string}.${string}`): boolean =>
  error instanceof Error && causes(error).includes(`NOT NULL constraint failed: ${column}`)

const causes = (error: Error): string => (error.cause instanceof Error ? `${error.message} ${causes(error.cause)}` : error.message)
