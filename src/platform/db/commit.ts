import { type DrizzleD1Database, drizzle } from 'drizzle-orm/d1'

/** The control plane, for queries. */
export type Database = DrizzleD1Database & { $client: D1Database }

/** A write that has not happened yet: a query of drizzle's, or a prepared statement. */
export type Statement = D1PreparedStatement | { toSQL(): { sql: string; params: unknown[] } }

export const connect = (d1: D1Database): Database => drizzle(d1)

const prepare = (d1: D1Database, statement: Statement): D1PreparedStatement => {
  if (!('toSQL' in statement)) return statement
  const { sql, params } = statement.toSQL()
  return d1.prepare(sql).bind(...params)
}

/** All of it or none: D1 has no interactive transaction, a batch is the only atomic write. Results are in the order of the statements. */
export const commit = <Row = Record<string, unknown>>(d1: D1Database, statements: readonly Statement[]): Promise<D1Result<Row>[]> =>
  d1.batch<Row>(statements.map((statement) => prepare(d1, statement)))

/** D1 refuses values over 2 MB; a JSON parameter stays well under it. */
const CHUNK_BYTES = 1_500_000
const CHUNK_ROWS = 10_000

const utf8 = new TextEncoder()

/** JSON array texts for `json_each(?)`, cut at 10,000 rows and at 1.5 MB: a slice of 1,000 documents is seldom cut. */
export function jsonChunks(rows: readonly unknown[]): string[] {
  const chunks: string[] = []
  let parts: string[] = []
  let size = 0
  for (const row of rows) {
    const text = JSON.stringify(row)
    const bytes = utf8.encode(text).length
    if (parts.length === CHUNK_ROWS || (parts.length > 0 && size + bytes > CHUNK_BYTES)) {
      chunks.push(`[${parts.join(',')}]`)
      parts = []
      size = 0
    }
    parts.push(text)
    size += bytes + 1
  }
  if (parts.length > 0) chunks.push(`[${parts.join(',')}]`)
  return chunks
}
