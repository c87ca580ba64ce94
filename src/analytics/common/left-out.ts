import { type SQL, sql } from 'drizzle-orm'
import { own } from '../../cfdi/population/aliases.ts'
import { type Population, populationOf } from '../../cfdi/population/population.ts'
import { NOT_COUNTED } from '../../cfdi/population/sums.ts'
import type { Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import { type EntriesPage, LEFT_OUT } from './contract.ts'
import { type EntryPosition, pageOfEntries } from './entries.ts'
import type { Insight } from './insight.ts'
import { IS_UNRATED, ratesOf } from './unrated.ts'

export type LeftOut = (typeof LEFT_OUT)[number]
export const isLeftOut = (figure: string): figure is LeftOut => (LEFT_OUT as readonly string[]).includes(figure)

/** Selects documents of the population newest first, at most so many. Null when the window shows nothing of the direction. */
export function newestOf(
  partition: Partition,
  columns: SQL,
  population: Population,
  after: EntryPosition | undefined,
  take: number,
): SQL | null {
  const found = populationOf(partition, { ...population, after: after && [after[0], after[1]] })
  return (
    found &&
    sql`select ${own.uuid}, ${own.issued_at}, ${columns} ${found} order by ${own.issued_at} desc, ${own.uuid} desc limit ${sql.raw(String(take))}`
  )
}

const CONDITIONS: Record<LeftOut, SQL> = {
  missing_rate: IS_UNRATED,
  dof_rate: IS_UNRATED,
  not_counted: sql`${own.tipo_comprobante} in ('I', 'E', 'N') and ${sql.raw(NOT_COUNTED('own'))}`,
}

/**
 * Returns a page of the documents of the range that a surface leaves out (missing_rate, not_counted), or converts at a rate that they do not
 * state (dof_rate). The amounts are their totals in their own currency.
 */
export function pageOfLeftOut(
  insight: Insight,
  path: string,
  query: { limit: number; cursor?: string | undefined; figure: LeftOut },
): Promise<EntriesPage> {
  const { figure } = query
  const { first, last, directions } = insight.span
  const columns = sql`${own.currency}, substr(${own.fecha}, 1, 10) as day, ${own.total_micros} as total`
  const select = (partition: Partition, after: EntryPosition | undefined, take: number): SQL | null => {
    const parts = directions.flatMap((direction) => {
      const found = newestOf(partition, columns, { first, last, direction, conditions: [CONDITIONS[figure]] }, after, take)
      return found ? [sql`select * from (${found})`] : []
    })
    const [one, other] = parts
    return one === undefined ? null : other ? sql`${one} union all ${other} order by 2 desc, 1 desc limit ${sql.raw(String(take))}` : one
  }
  return pageOfEntries<{ uuid: string; issued_at: number; currency: string; day: string; total: string }>(
    insight,
    path,
    query,
    select,
    async (rows) => {
      const rates = figure === 'not_counted' ? [] : await ratesOf(insight.ctx, rows)
      const isMeant = (n: number) => figure === 'not_counted' || (rates[n] === null) === (figure === 'missing_rate')
      return rows.map(({ total }, n) => (isMeant(n) ? BigInt(total) : null))
    },
  )
}
