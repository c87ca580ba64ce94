import { type SQL, sql } from 'drizzle-orm'
import { CasingCache } from 'drizzle-orm/casing'
import { SQLiteAsyncDialect, type SQLiteColumn } from 'drizzle-orm/sqlite-core'

const dialect = new SQLiteAsyncDialect()

/** The most parameters that D1 takes in a statement. */
const MAX_PARAMETERS = 100
const WORD = /^[\w:.+-]{0,64}$/

const isWritable = (value: unknown): boolean =>
  value === null || typeof value === 'number' || (typeof value === 'string' && WORD.test(value))

/** A statement of drizzle's `sql` for a batch. One with more than 100 parameters is written with literals. */
export function prepared(d1: D1Database, query: SQL): D1PreparedStatement {
  const { sql: text, params } = dialect.sqlToQuery(query)
  return params.length > MAX_PARAMETERS ? preparedWithLiterals(d1, query) : d1.prepare(text).bind(...params)
}

/** The same with numbers and plain words, such as days, in its text, where the plan of the query depends on them. */
export function preparedWithLiterals(d1: D1Database, query: SQL): D1PreparedStatement {
  const { sql: text, params } = query.toQuery({
    casing: new CasingCache(),
    escapeName: dialect.escapeName,
    escapeString: dialect.escapeString,
    escapeParam: (_n, value) => (isWritable(value) ? inlined(sql`${value}`) : '?'),
  })
  return d1.prepare(text).bind(...params.filter((value) => !isWritable(value)))
}

/** Runs selects in one call, none without any, and returns the rows of all. */
export const readAll = async <Row>(d1: D1Database, statements: readonly SQL[]): Promise<Row[]> =>
  statements.length === 0 ? [] : (await d1.batch<Row>(statements.map((one) => prepared(d1, one)))).flatMap(({ results }) => results)

/** The condition that all these conditions hold. */
export const all = (conditions: readonly SQL[]): SQL =>
  conditions.length === 0 ? sql.raw('1') : sql.join([...conditions], sql.raw(' and '))

/** A text as a literal of SQL. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** The text of a piece of SQL with all of its values written into it. */
export const inlined = (piece: SQL): string => dialect.sqlToQuery(sql`${piece}`.inlineParams()).sql

/** A piece of SQL that is always the same as text, because drizzle renders each of its columns again in every statement. */
export const rendered = (piece: SQL): SQL => sql.raw(inlined(piece))

/** The name of a column alone, as `set`, the columns of an insert and `on conflict` take it. */
export const bare = (column: SQLiteColumn) => sql.identifier(column.name)
