/** Adds up numbers and micros under keys: `amounts` are micros, `counts` are numbers. */
export class Grouping<Head extends object, Count extends string, Amount extends string> {
  readonly #rows = new Map<string, Head & Record<Count, number> & Record<Amount, bigint>>()
  readonly #counts: readonly Count[]
  readonly #amounts: readonly Amount[]

  constructor(counts: readonly Count[], amounts: readonly Amount[]) {
    this.#counts = counts
    this.#amounts = amounts
  }

  /** Returns the row of a key; the first time it begins with this head, and zeros. */
  at(key: string, head: () => Head): Head & Record<Count, number> & Record<Amount, bigint> {
    const known = this.#rows.get(key)
    if (known) return known
    const zeros = [...this.#counts.map((name) => [name, 0]), ...this.#amounts.map((name) => [name, 0n])]
    const row = { ...head(), ...Object.fromEntries(zeros) } as Head & Record<Count, number> & Record<Amount, bigint>
    this.#rows.set(key, row)
    return row
  }

  /** The rows in the order of their keys. */
  rows(): (Head & Record<Count, number> & Record<Amount, bigint>)[] {
    return [...this.#rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
  }
}

/** The cells of rows: bigints are text. */
export const cellsOf = <Cell extends object>(rows: readonly object[]): Cell[] =>
  rows.map(
    (row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, typeof value === 'bigint' ? `${value}` : value])) as Cell,
  )

/** The later of two names behind the positions of their documents. */
export const newestOf = (a: string, b: string | null): string => (b !== null && b > a ? b : a)
