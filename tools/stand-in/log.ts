import type { Operation } from './script.ts'
import type { Family } from './truth/truth.ts'

/** A request as the stand-in got it, and what it said. */
export interface Entry {
  /** In milliseconds. */
  at: number
  host: string
  operation: Operation | null
  family: Family
  /** Of the certificate; empty when the request is not signed well. */
  rfc: string
  /** Attributes of the request for documents, of the verification or of the request for a package. */
  parameters: Readonly<Record<string, string>>
  /** Of a request for documents: all that makes it the same as another one. */
  period: string | null
  /** A code, `state 3`, a fault, or what else was said. */
  answer: string
}

const APART_MS = 2_000

/** All requests, and what is wrong with them. */
export class Log {
  readonly entries: Entry[] = []
  /** In sentences: two requests of an RFC within two seconds, an exact period for the second time, what is not signed well. */
  readonly violations: string[] = []

  note(entry: Entry): Entry {
    const { at, rfc, operation, period } = entry
    const before = rfc === '' ? undefined : this.entries.findLast((one) => one.rfc === rfc && one.operation !== 'Consulta')
    if (before && operation !== 'Consulta' && at - before.at < APART_MS)
      this.violations.push(`${operation} of ${rfc} comes ${at - before.at} ms after ${before.operation}.`)
    if (period !== null && this.entries.some((one) => one.period === period)) this.violations.push(`Asked again: ${period}`)
    this.entries.push(entry)
    return entry
  }

  /** The entries of an operation, in their order. */
  of = (...operations: readonly Operation[]): Entry[] =>
    this.entries.filter(({ operation }) => operation !== null && operations.includes(operation))

  /** How often each answer was given. */
  answers(): Record<string, number> {
    const counts: Record<string, number> = {}
    for (const { answer } of this.entries) counts[answer] = (counts[answer] ?? 0) + 1
    return counts
  }
}
