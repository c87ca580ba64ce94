import { type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../platform/context.ts'
import { lastDayOf } from '../../platform/time/months.ts'
import type { Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import type { EntriesPage } from '../common/contract.ts'
import { assertInRange, openInsight } from '../common/insight.ts'
import { isLeftOut, pageOfLeftOut } from '../common/left-out.ts'
import { measurer } from '../common/measured.ts'
import { isUnmatched, unmatchedAmount, unmatchedRows } from '../common/omitted.ts'
import { pageOfPairs } from '../common/pairs.ts'
import type { FIGURES, WithholdingEntriesQuery } from './contract.ts'
import { linesOf } from './lines.ts'
import { IS_OURS, JSON_ROW, MISSING_AMOUNT, type WithheldRow, withheld } from './store.ts'
import { missingOf } from './totals.ts'

export const PATH = 'cfdi/withholdings'

type Figure = (typeof FIGURES)[number]

const rowsOf = (rows: SQL, figure: Figure): SQL => {
  const isMissing = figure === 'missing_amount'
  const side = isMissing ? sql`1` : figure.endsWith('por_enterar') ? IS_OURS : sql`not (${IS_OURS})`
  const amount = isMissing ? MISSING_AMOUNT : sql.identifier(`${figure.slice(0, 3)}_retenido`)
  return sql`select uuid, applies_to, issued_at, cast(${amount} as text) as amount, is_odd, iif(is_odd, ${JSON_ROW}, null) as as_json
    from (${rows}) where reason is null and ${side}`
}

/**
 * Returns a page of the documents behind a figure of the totals. Throws Failure 404 without a readable connection, 400 cursor.invalid and
 * 422 range.invalid.
 */
export async function listWithholdingEntries(ctx: Ctx, query: WithholdingEntriesQuery): Promise<EntriesPage> {
  const insight = await openInsight(ctx, query)
  const { span, rules } = insight
  const { figure, period, limit, cursor } = query
  assertInRange(insight, 'period', period)
  const page = { figure, period, from: span.from, to: span.to, limit, cursor }
  if (isLeftOut(figure)) return pageOfLeftOut(insight, PATH, { ...page, figure })
  const days = {
    first: [span.first, `${period ?? '0000'}-01`].sort().at(-1)!,
    last: [span.last, period === undefined ? '9999' : lastDayOf(period)].sort()[0]!,
  }
  const rowsIn = (partition: Partition) =>
    ([0, 1] as const).flatMap((direction) => {
      if (days.first > days.last) return []
      if (isUnmatched(figure)) return unmatchedRows(figure, partition, direction, days)
      const rows = withheld(partition, direction, days, rules)
      return rows === null ? [] : [rowsOf(rows, figure as Figure)]
    })
  const measureAll = async (odds: readonly WithheldRow[]) => {
    const { outcomeOf } = await measurer(ctx, odds.filter(({ tipo }) => tipo !== 'N' && tipo !== 'R') as never)
    return (odd: WithheldRow) => {
      if (isUnmatched(figure)) return unmatchedAmount(odd as never, outcomeOf(odd as never))
      const lines = linesOf(odd, rules, outcomeOf) ?? []
      return figure === 'missing_amount'
        ? lines.reduce((sum, line) => sum + missingOf(line), 0n)
        : lines.reduce((sum, { impuesto, amount }) => (impuesto.toLowerCase() === figure.slice(0, 3) ? sum + amount : sum), 0n)
    }
  }
  return pageOfPairs(insight, PATH, page, rowsIn, measureAll, isUnmatched(figure))
}
