import type { Fragment } from '../../platform/db/fragment.ts'
import { type DirectionNumber, type Partition, partitionsToRead } from '../../visibility/scoped-ledger.ts'
import { aggregateOf, type Insight } from './insight.ts'

const DIRECTIONS = [0, 1] as const

/**
 * Reads statements of both directions of every partition, with the members of the aggregate. `rowsOf` returns the rows of the nth of
 * `statementsOf`, each with its direction. Two D1 calls.
 */
export async function readBothSides(
  insight: Insight,
  statementsOf: (partition: Partition, direction: DirectionNumber) => readonly (Fragment | null)[],
) {
  const asked = partitionsToRead(insight.ledger).flatMap((partition) =>
    DIRECTIONS.flatMap((direction) =>
      statementsOf(partition, direction).flatMap((statement, kind) => (statement ? [{ direction, kind, statement }] : [])),
    ),
  )
  const { found, envelope, counts } = await aggregateOf(
    insight,
    asked.map(({ statement }) => statement),
  )
  const rowsOf = <Row>(kind: number): (Row & { direction: DirectionNumber })[] =>
    asked.flatMap(({ direction, ...one }, n) => (one.kind === kind ? (found[n] as Row[]).map((row) => ({ ...row, direction })) : []))
  return { rowsOf, envelope, counts }
}
