import { type Fragment, join, prepared, raw, sql } from './fragment.ts'

/**
 * A guard in a batch: refuses the whole batch, and names itself in the error, unless the condition is true when the batch runs. It writes
 * nothing when it passes. The table `guards` is always empty; its trigger raises the error.
 */
export const assertThat = (d1: D1Database, condition: Fragment, guard: string): D1PreparedStatement =>
  prepared(d1, join([sql`insert into guards (name) select ${guard} where (`, condition, raw(') is not true')], ''))

/** Whether a batch was refused by a guard: by this one, or by any. */
export const isGuardViolation = (error: unknown, guard = ''): boolean =>
  error instanceof Error && (causes(error).includes(`guard ${guard}`) || causes(error).includes(`NOT NULL constraint failed: ${guard}`))

/** Whether the database refused a second row under a unique key. */
export const isUniqueViolation = (error: unknown): boolean => error instanceof Error && /UNIQUE constraint failed/.test(causes(error))

/** Whether the database refused to set this column to null: how a fence inside an update refuses its batch. */
export const isFenceViolation = (error: unknown, column: `${string}.${string}`): boolean =>
  error instanceof Error && causes(error).includes(`NOT NULL constraint failed: ${column}`)

const causes = (error: Error): string => (error.cause instanceof Error ? `${error.message} ${causes(error.cause)}` : error.message)
