import { type SQL, sql } from 'drizzle-orm'
import { cfdiAs } from '../columns.ts'
import type { VisibleRange } from './visible-ranges.ts'

const c = cfdiAs('c')

/** A position in visible ranges: issued_at and UUID, both ascending. It does not change when a document is cancelled. */
export type VisibleRangePosition = readonly [issued_at: number, uuid: string]

/** The conditions that a row `c` lies in a visible range, behind a position. */
export const within = ({ direction, since, until, floor, before }: VisibleRange, after: VisibleRangePosition | null): SQL[] => [
  sql`${c.direction} = ${direction}`,
  ...(after && after[0] >= (since ?? after[0])
    ? [sql`(${c.issued_at}, ${c.uuid}) > (${after[0]}, ${after[1]})`]
    : since === null
      ? []
      : [sql`${c.issued_at} >= ${since}`]),
  ...(until === null ? [] : [sql`${c.issued_at} <= ${until}`]),
  ...(floor === null ? [] : [sql`+${c.fecha} >= ${floor}`]),
  ...(before === null ? [] : [sql`+${c.fecha} < ${before}`]),
]
