/** A piece of SQL with the values of its placeholders in order. */
export interface Fragment {
  readonly text: string
  readonly values: readonly Value[]
}

export type Value = string | number | null

const isFragment = (part: unknown): part is Fragment => typeof part === 'object' && part !== null && 'text' in part

/** SQL from the source code, such as names of columns and indexes. Never pass text of a request. */
export const raw = (text: string): Fragment => ({ text, values: [] })

/** Builds a piece of SQL. An interpolated fragment becomes a part of it, any other value a bound parameter. */
export function sql(strings: TemplateStringsArray, ...parts: (Fragment | Value)[]): Fragment {
  const values: Value[] = []
  const text = strings.reduce((before, after, n) => {
    const part = parts[n - 1]!
    values.push(...(isFragment(part) ? part.values : [part]))
    return before + (isFragment(part) ? part.text : '?') + after
  })
  return { text, values }
}

/** Joins pieces with a separator. */
export const join = (pieces: readonly Fragment[], separator: string): Fragment => ({
  text: pieces.map(({ text }) => text).join(separator),
  values: pieces.flatMap(({ values }) => values),
})

/** The condition that all these conditions hold. */
export const all = (conditions: readonly Fragment[]): Fragment => (conditions.length === 0 ? raw('1') : join(conditions, ' and '))

/** A text as a literal of SQL. It holds no question mark, which would be taken for a placeholder when it is part of another piece. */
export const quoted = (text: string): string => {
  const literal = `'${text.replaceAll("'", "''")}'`
  return literal.includes('?') ? `(${literal.replaceAll('?', "' || char(63) || '")})` : literal
}

const WORD = /^[\w:.+-]{0,64}$/

/**
 * Writes numbers and plain words, such as days, into the text. D1 takes 100 parameters at most, which statements over several selections of
 * documents exceed.
 */
export function withLiterals({ text, values }: Fragment): Fragment {
  const left: Value[] = []
  const list = [...values]
  const written = text.replaceAll('?', () => {
    const value = list.shift()!
    if (typeof value === 'number') return String(value)
    if (value === null) return 'null'
    if (WORD.test(value)) return `'${value}'`
    left.push(value)
    return '?'
  })
  return { text: written, values: left }
}

/** The text of a piece of SQL that is repeated within a statement, with all of its values written into it: numbers and plain words. */
export function inlined(piece: Fragment): string {
  const { text, values } = withLiterals(piece)
  if (values.length > 0) throw new TypeError('Only numbers and plain words are written into a statement.')
  return text
}

export const prepared = (d1: D1Database, { text, values }: Fragment): D1PreparedStatement => d1.prepare(text).bind(...values)

/** Runs selects in one call, none without any, and returns the rows of all. */
export const readAll = async <Row>(d1: D1Database, statements: readonly Fragment[]): Promise<Row[]> =>
  statements.length === 0 ? [] : (await d1.batch<Row>(statements.map((one) => prepared(d1, one)))).flatMap(({ results }) => results)
