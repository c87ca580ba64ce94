import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** One row, once the clock of the service has been moved. Times are in milliseconds. */
export const clocks = sqliteTable('clock', {
  one: integer().primaryKey(),
  /** How far the service's clock is ahead of the real one. */
  ahead: integer().notNull(),
  /** The same at the end of a move that goes on; null when none does. */
  target: integer(),
  /** Where the last move began and ended or will end, by the service's clock. */
  began_at: integer().notNull(),
  ends_at: integer().notNull(),
  /** What is to be done during the move that no row of another table says (walk.ts). */
  entries: text().notNull().default('[]'),
  token: text(),
  /** By the real clock: the service's clock passes any time while a worker has the row. */
  lease_until: integer().notNull().default(0),
})
