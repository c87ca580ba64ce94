import { sql } from 'drizzle-orm'
import { own } from '../../cfdi/population/aliases.ts'
import { populationOf } from '../../cfdi/population/population.ts'
import { prepared } from '../../platform/db/statement.ts'
import { partitionsToRead } from '../../taxpayers/visibility/scoped-ledger.ts'
import type { Insight } from './insight.ts'
import { IS_UNRATED, ratesOf } from './unrated.ts'

/**
 * Counts the documents of the range that state no exchange rate and have a published one. `unrated` is how many state none: without any, no
 * call is made, else two. For surfaces that do not read the documents of their range.
 */
export async function countDofRates({ ctx, ledger, span }: Insight, unrated: number): Promise<number> {
  if (unrated === 0) return 0
  const { first, last, directions } = span
  const statements = partitionsToRead(ledger).flatMap((partition) =>
    directions.flatMap((direction) => {
      const found = populationOf(partition, { first, last, direction, conditions: [IS_UNRATED] })
      return found ? [prepared(ledger.d1, sql`select ${own.currency}, substr(${own.fecha}, 1, 10) as day ${found}`)] : []
    }),
  )
  const rows = statements.length === 0 ? [] : await ledger.d1.batch<{ currency: string; day: string }>(statements)
  const rates = await ratesOf(
    ctx,
    rows.flatMap(({ results }) => results),
  )
  return rates.filter((rate) => rate !== null).length
}
