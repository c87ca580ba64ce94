import { ASSUMED } from './assumptions.ts'
import type { Work } from './costs.ts'

/** What the databases of one kind do, by the hour. */
export class Meter {
  readonly count: number
  readonly statements: Float64Array
  readonly rowsRead: Float64Array
  readonly rowsWritten: Float64Array
  /** Bytes that stay, less those that are given back. */
  readonly bytes: Float64Array
  /** Milliseconds for which a database, which does one thing at a time, is busy. */
  readonly busy: Float64Array

  constructor(count: number, hours: number) {
    this.count = count
    const made = (): Float64Array => new Float64Array(count * hours)
    this.statements = made()
    this.rowsRead = made()
    this.rowsWritten = made()
    this.bytes = made()
    this.busy = made()
  }

  /** Adds a piece of work so many times to what a database does in an hour. */
  add(hour: number, database: number, times: number, work: Work): void {
    const at = hour * this.count + database
    this.statements[at]! += times * work.statements
    this.rowsRead[at]! += times * work.rowsRead
    this.rowsWritten[at]! += times * work.rowsWritten
    this.bytes[at]! += times * work.bytes
    this.busy[at]! += times * msOf(work)
  }
}

/** Milliseconds for which a piece of work keeps a database busy. */
export const msOf = ({ reads, writes, rowsRead, rowsWritten }: Work): number =>
  reads * ASSUMED.readMs.value +
  writes * ASSUMED.writeMs.value +
  rowsRead * ASSUMED.rowReadMs.value +
  rowsWritten * ASSUMED.rowWrittenMs.value
