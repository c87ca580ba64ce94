import { Buffer } from 'node:buffer'
import { SQL } from 'drizzle-orm'
import { type DrizzleD1Database, drizzle } from 'drizzle-orm/d1'
import { prepared } from './statement.ts'

/** The control plane as drizzle's query builder. */
export type Database = DrizzleD1Database & { $client: D1Database }

/** A write that is not executed yet: drizzle's SQL, a query of its builder, or a prepared statement. */
export type Statement = SQL | D1PreparedStatement | { toSQL(): { sql: string; params: unknown[] } }

/** The database with its statements counted. A statement counts when it is prepared: every prepared statement is executed once. */
export const counted = (d1: D1Database, counter: { count(): void }): D1Database => ({
  prepare: (sql) => {
    counter.count()
    return d1.prepare(sql)
  },
  batch: (statements) => d1.batch(statements),
  exec: (sql) => d1.exec(sql),
  withSession: (bookmark) => d1.withSession(bookmark),
  dump: () => d1.dump(),
})

export const connect = (d1: D1Database): Database => drizzle(d1)

const prepare = (d1: D1Database, statement: Statement): D1PreparedStatement => {
  if (statement instanceof SQL) return prepared(d1, statement)
  if (!('toSQL' in statement)) return statement
  const { sql, params } = statement.toSQL()
  return d1.prepare(sql).bind(...params)
}

/** Executes statements atomically, in one batch: D1 has no interactive transactions. Returns their results in the same order. */
export const commit = <Row = Record<string, unknown>>(d1: D1Database, statements: readonly Statement[]): Promise<D1Result<Row>[]> =>
  d1.batch<Row>(statements.map((statement) => prepare(d1, statement)))

/** Well below 2 MB, the largest value that D1 accepts. */
const CHUNK_BYTES = 1_500_000
const CHUNK_ROWS = 10_000

/** Writes rows as JSON arrays for `json_each(?)`, each of at most 10,000 rows and 1.5 MB, one after the other. */
export function* eachJsonChunk(rows: Iterable<unknown>): Generator<string> {
  let pending: string[] = []
  let size = 0
  const close = (): string => {
    // With the brackets inside, the text is joined once and not copied again.
    pending[0] = `[${pending[0]}`
    pending.push(`${pending.pop()}]`)
    const chunk = pending.join(',')
    pending = []
    size = 0
    return chunk
  }
  for (const value of rows) {
    const row = JSON.stringify(value)
    const bytes = Buffer.byteLength(row)
    if (pending.length === CHUNK_ROWS || (pending.length > 0 && size + bytes > CHUNK_BYTES)) yield close()
    pending.push(row)
    size += bytes + 1
  }
  if (pending.length > 0) yield close()
}

/** All of these arrays. A slice of 1,000 documents rarely needs two. */
export const jsonChunks = (rows: Iterable<unknown>): string[] => [...eachJsonChunk(rows)]
