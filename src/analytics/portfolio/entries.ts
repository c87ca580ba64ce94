import { type SQL, sql } from 'drizzle-orm'
import { own } from '../../cfdi/population/aliases.ts'
import type { Ctx } from '../../platform/context.ts'
import { readAll } from '../../platform/db/statement.ts'
import type { Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import type { EntriesPage } from '../common/contract.ts'
import { type AmountRow, amountsOfDocuments, documentsAfter } from '../common/document-entries.ts'
import { pageOfEntries } from '../common/entries.ts'
import { openInsight } from '../common/insight.ts'
import { isLeftOut, pageOfLeftOut } from '../common/left-out.ts'
import { setsOf } from '../risk/sets.ts'
import { supplierStatements } from '../risk/store.ts'
import type { PortfolioEntriesQuery } from './contract.ts'
import { blacklistedIn } from './indicators.ts'
import { PATH } from './portfolio.ts'
import { IS_CASH, IS_FOREIGN, isAtRisk } from './store.ts'

/** What selects the documents of a numerator. */
interface Numerator {
  directions: readonly (0 | 1)[]
  which: 'net' | 'total'
  condition: (partition: Partition) => SQL
  /** Common table expressions that the condition names. */
  ctes: SQL
}

const plain = (direction: 0 | 1, condition: SQL, which: 'net' | 'total' = 'net'): Numerator => ({
  ...{ directions: [direction], which, condition: () => condition, ctes: sql`` },
})

/** Returns a page of the documents behind an indicator. At most four D1 calls beside authentication. Throws Failure as `getPortfolio` does. */
export async function getPortfolioEntries(ctx: Ctx, query: PortfolioEntriesQuery): Promise<EntriesPage> {
  const insight = await openInsight(ctx, query)
  const { figure } = query
  const { ledger, span } = insight
  if (isLeftOut(figure)) return pageOfLeftOut(insight, PATH, { ...query, figure })
  const numerator = async (): Promise<Numerator> => {
    if (figure === 'foreign_exchange_share') return plain(0, IS_FOREIGN)
    if (figure === 'cash_share') return plain(0, IS_CASH, 'total')
    const isRepse = figure === 'repse_at_risk_share'
    const suppliers = isRepse ? await readAll<{ rfc: string }>(ledger.d1, supplierStatements(ledger, span)) : []
    const sets = await setsOf(insight, [...new Set(suppliers.map(({ rfc }) => rfc))], !isRepse)
    if (isRepse) return { directions: [1], which: 'net', condition: (partition) => isAtRisk(partition, 1, insight, sets), ctes: sets.ctes }
    const rfcs = JSON.stringify([...(figure === 'intercompany_share' ? sets.related : blacklistedIn(sets.listings))])
    const condition = sql`${own.counterparty_rfc} in (select value from json_each(${rfcs}))`
    return { directions: [0, 1], which: 'net', condition: () => condition, ctes: sql`` }
  }
  const { directions, which, condition, ctes } = await numerator()
  return pageOfEntries<AmountRow>(
    insight,
    PATH,
    query,
    (partition, after, take) => {
      const of = (direction: 0 | 1) =>
        documentsAfter({ first: span.first, last: span.last, direction, conditions: [condition(partition)] }, which)(partition, after, take)
      const [first, second] = directions.flatMap((direction) => of(direction) ?? [])
      if (!first) return null
      const rows = second
        ? sql`select * from (${first}) union all select * from (${second}) order by 2 desc, 1 desc limit ${sql.raw(String(take))}`
        : first
      return sql`with ${ctes} no_more as (select 1) ${rows}`
    },
    (rows) => amountsOfDocuments(ctx, rows, which),
  )
}
