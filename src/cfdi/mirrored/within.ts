import { type SQL, sql } from 'drizzle-orm'
import { cfdiAs } from '../columns.ts'
import type { Stretch } from './stretches.ts'

const c = cfdiAs('c')

/** A position in stretches: issued_at and UUID, both ascending. It does not change when a document is cancelled. */
export type StretchPosition = readonly [issued_at: number, uuid: string]

/** The conditions that a row `c` lies in a stretch, behind a position. */
export const within = ({ direction, since, until, floor, before }: Stretch, after: StretchPosition | null): SQL[] => [
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
