import { getTableName, type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core'
import { commit, type Statement } from '../db/commit.ts'
import { assertThat, isGuardViolation } from '../db/guard.ts'
import { all, bare, changesOf, readRows } from '../db/statement.ts'
import { clock } from '../time/clock.ts'

/** How long a worker holds a row, in milliseconds, unless it says so again: longer than an invocation works. */
const LEASE_MS = 60_000

const NOTHING = sql.raw('')

/** A table whose rows are worked on. `lease_until` is in milliseconds since 1970. */
type WorkTable = SQLiteTable & { token: SQLiteColumn; lease_until?: SQLiteColumn }

/** A row that a worker holds under its token. */
export type Leased<Row> = Row & { token: string }

interface LeaseOptions<Row> {
  /** How long a worker holds a row, in milliseconds. */
  milliseconds?: number
  /** The column with the end of the lease, where it is another one. */
  until?: SQLiteColumn
  /** When a row is free, if that is not when it has no token or its lease has ended. */
  isFree?: (now: number) => SQL
  /** A further condition for a row that is worked on. */
  also?: (row: Row) => SQL
  /** Gives a row back in another way than without a token. */
  release?: (row: Leased<Row>) => SQL
}

/**
 * The lease on the rows of a table. A worker claims a row by writing its token into it, and holds it until the lease ends. Each of its
 * commits contains `assertLeased`, which refuses the batch once another worker has claimed the row. A worker that dies is found by a sweep when
 * its lease has ended.
 */
export class RowLease<Row extends object> {
  readonly #table: WorkTable
  readonly #key: readonly (keyof Row & string)[]
  readonly #options: LeaseOptions<Row>
  /** The guard of `assertLeased`. */
  readonly guard: string

  constructor(table: WorkTable, key: readonly (keyof Row & string)[], options: LeaseOptions<Row> = {}) {
    this.#table = table
    this.#key = key
    this.#options = options
    this.guard = `${getTableName(table)}.leased`
  }

  /** How long a worker holds a row. */
  get milliseconds(): number {
    return this.#options.milliseconds ?? LEASE_MS
  }

  /** The end of a lease that begins now. */
  get end(): number {
    return clock.now() + this.milliseconds
  }

  /** Claims free rows under a new token. `set` holds other changes of the claim. Returns them as they are now. */
  claim(d1: D1Database, where: SQL, set?: SQL): Promise<Leased<Row>[]> {
    return readRows<Leased<Row>>(d1, this.claimStatement(crypto.randomUUID(), where, { set, returning: sql`*` }))
  }

  /** The same as a statement for a batch, under this token. */
  claimStatement(mine: string, where: SQL, { set, returning }: { set?: SQL | undefined; returning?: SQL } = {}): SQL {
    const { token, until } = this.#columns
    return sql`update ${this.#table} set ${bare(token)} = ${mine}, ${bare(until)} = ${this.end}${set ? sql`, ${set}` : NOTHING}
      where ${where} and ${this.isFree()}${returning ? sql` returning ${returning}` : NOTHING}`
  }

  /** The condition that a row is free. */
  isFree(now = clock.now()): SQL {
    const { token, until } = this.#columns
    return this.#options.isFree?.(now) ?? sql`(${token} is null or ${until} < ${now})`
  }

  /** The condition, within the table, that the worker holds the row. */
  isLeased(row: Leased<Row>): SQL {
    return all([...this.#key.map((name) => sql`${this.#column(name)} = ${row[name]}`), sql`${this.#columns.token} = ${row.token}`])
  }

  /** The condition, anywhere, that the worker holds the row. */
  holds(row: Leased<Row>): SQL {
    const also = this.#options.also ? [this.#options.also(row)] : []
    return sql`exists (select 1 from ${this.#table} where ${all([this.isLeased(row), ...also])})`
  }

  /** Refuses its batch unless the worker holds the row. */
  assertLeased(row: Leased<Row>): SQL {
    return assertThat(this.holds(row), this.guard)
  }

  /** Commits statements, unless the worker does not hold the row any more (`isLost`). Returns their results. */
  async commit(d1: D1Database, row: Leased<Row>, statements: readonly Statement[]): Promise<D1Result<Record<string, unknown>>[]> {
    return (await commit(d1, [this.assertLeased(row), ...statements])).slice(1)
  }

  /** Whether a batch was refused because the worker does not hold the row any more. */
  isLost(error: unknown): boolean {
    return isGuardViolation(error, this.guard)
  }

  /** Changes the row, if the worker holds it. */
  set(row: Leased<Row>, changes: SQL): SQL {
    return sql`update ${this.#table} set ${changes} where ${this.isLeased(row)}`
  }

  /** Begins the lease of a row that the worker holds again, and makes other changes to it. */
  extend(row: Leased<Row>, changes?: SQL): SQL {
    return this.set(row, sql`${bare(this.#columns.until)} = ${this.end}${changes ? sql`, ${changes}` : NOTHING}`)
  }

  /** Gives the row back, if the worker holds it, and makes other changes to it. */
  release(row: Leased<Row>, changes?: SQL): SQL {
    const { token, until } = this.#columns
    return (
      this.#options.release?.(row) ??
      this.set(row, sql`${bare(token)} = null, ${bare(until)} = ${clock.now()}${changes ? sql`, ${changes}` : NOTHING}`)
    )
  }

  /**
   * Works on a row that was claimed, and gives it back. After a failure the lease continues: the next attempt waits for its end, so that a row
   * that always fails is not tried again and again. Returns whether another worker is to be called: when something is left to do, or when
   * the row was taken from this worker.
   */
  async work(d1: D1Database, row: Leased<Row>, work: (row: Leased<Row>) => Promise<boolean>): Promise<boolean> {
    let isMore = true
    try {
      isMore = await work(row)
    } catch (error) {
      if (!this.isLost(error)) throw error
    }
    await changesOf(d1, this.release(row))
    return isMore
  }

  get #columns() {
    return { token: this.#table.token, until: (this.#options.until ?? this.#table.lease_until)! }
  }

  #column(name: keyof Row & string): SQLiteColumn {
    return (this.#table as unknown as Record<string, SQLiteColumn>)[name]!
  }
}
