import { Column, getTableColumns, getTableName, type Query, SQL, StringChunk, sql, Table } from 'drizzle-orm'
import { CasingCache } from 'drizzle-orm/casing'
import { SQLiteAsyncDialect, type SQLiteColumn, type SQLiteTable } from 'drizzle-orm/sqlite-core'

const dialect = new SQLiteAsyncDialect()

/** The most parameters that D1 takes in a statement. */
const MAX_PARAMETERS = 100
const WORD = /^[\w:.+-]{0,64}$/

const isWritable = (value: unknown): boolean =>
  value === null || typeof value === 'number' || (typeof value === 'string' && WORD.test(value))

/** The text and the parameters of a statement, as `dialect.sqlToQuery` has them: it takes eight times as long, as much as a small query. */
export function textOf(query: SQL): Query {
  const params: unknown[] = []
  return { sql: textOfPieces(query.queryChunks, params), params }
}

function textOfPieces(pieces: readonly unknown[], params: unknown[]): string {
  let text = ''
  for (const piece of pieces)
    if (piece instanceof StringChunk) text += piece.value.length === 1 ? piece.value[0] : piece.value.join('')
    else if (piece instanceof SQL && !(piece as unknown as { shouldInlineParams: boolean }).shouldInlineParams)
      text += textOfPieces(piece.queryChunks, params)
    else if (piece instanceof Column) text += `"${getTableName(piece.table)}"."${piece.name}"`
    else if (piece instanceof Table) text += `"${getTableName(piece)}"`
    else if (typeof piece === 'string' || typeof piece === 'number' || piece === null) {
      text += '?'
      params.push(piece)
    } else {
      const other = dialect.sqlToQuery(sql`${piece}`)
      text += other.sql
      params.push(...other.params)
    }
  return text
}

/** A statement of drizzle's `sql` for a batch. One with more than 100 parameters is written with literals. */
export function prepared(d1: D1Database, query: SQL): D1PreparedStatement {
  const { sql: text, params } = textOf(query)
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

/** Returns the rows of a statement. */
export const readRows = async <Row>(d1: D1Database, query: SQL<Row> | SQL): Promise<Row[]> => (await prepared(d1, query).all<Row>()).results

/** Returns the first row of a statement; null without one. */
export const readFirst = <Row>(d1: D1Database, query: SQL<Row>): Promise<Row | null> => prepared(d1, query).first<Row>()

/** Returns the values of a statement with one column. */
export const readColumn = async <T>(d1: D1Database, query: SQL<T>): Promise<T[]> =>
  (await prepared(d1, query).raw<[T]>()).map(([value]) => value)
/** Runs a write, and returns how many rows it changed. */
export const changesOf = async (d1: D1Database, query: SQL): Promise<number> => (await prepared(d1, query).run()).meta.changes

/** Runs selects in one call, none without any, and returns the rows of all. */
export const readAll = async <Row>(d1: D1Database, statements: readonly SQL[]): Promise<Row[]> =>
  statements.length === 0 ? [] : (await d1.batch<Row>(statements.map((one) => prepared(d1, one)))).flatMap(({ results }) => results)

/** The condition that all these conditions hold. Absent ones do. */
export const all = (conditions: readonly (SQL | undefined)[]): SQL => {
  const given = conditions.filter((one) => one !== undefined)
  return given.length === 0 ? sql.raw('1') : sql.join(given, sql.raw(' and '))
}

/** A text as a literal of SQL. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** The text of a piece of SQL with all of its values written into it. */
export const inlined = (piece: SQL): string => dialect.sqlToQuery(sql`${piece}`.inlineParams()).sql

/** A piece of SQL that is always the same as text, because drizzle renders each of its columns again in every statement. */
export const rendered = (piece: SQL): SQL => sql.raw(inlined(piece))

/** The name of a column alone, as `set`, the columns of an insert and `on conflict` take it. */
export const bare = (column: SQLiteColumn) => sql.identifier(column.name)

/** Columns of a table with values, as they are stored. */
export type Values<T extends SQLiteTable> = { [Name in keyof T['_']['columns']]?: SQL | string | number | null }

const columnsIn = (table: SQLiteTable, values: object) => Object.keys(values).map((name) => bare(getTableColumns(table)[name]!))

/** The statement that inserts a row. A conflict clause may follow. */
export const insertion = <T extends SQLiteTable>(table: T, values: Values<T>): SQL =>
  sql`insert into ${table} ${columnsIn(table, values)} values ${Object.values(values)}`

/** The changes of an update. */
export const assignments = <T extends SQLiteTable>(table: T, values: Values<T>): SQL =>
  sql.join(
    columnsIn(table, values).map((column, n) => sql`${column} = ${Object.values(values)[n]}`),
    sql`, `,
  )

/** The changes of an update that has a conflict: the columns get the values of the insert. */
export const excluded = (columns: readonly SQLiteColumn[]): SQL =>
  sql.join(
    columns.map((column) => sql`${bare(column)} = excluded.${bare(column)}`),
    sql`, `,
  )
