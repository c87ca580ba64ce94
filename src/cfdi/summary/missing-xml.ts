import { and, eq } from 'drizzle-orm'
import { connect } from '../../platform/db/commit.ts'
import { cfdiMonths } from '../tables.ts'
import { parseCells } from '../totals.ts'
import { addStored, type StoredMonths } from './stored-months.ts'

/** How many documents of a month the authority announces and are stored without the XML that it delivers. */
export async function countMissingXml(ledger: D1Database, entity: number, direction: 0 | 1, month: string): Promise<number> {
  const row = await connect(ledger)
    .select({ sums: cfdiMonths.sums })
    .from(cfdiMonths)
    .where(and(eq(cfdiMonths.entity, entity), eq(cfdiMonths.month, month), eq(cfdiMonths.direction, direction)))
    .get()
  const stored: StoredMonths = new Map()
  for (const [cell, totals] of parseCells(row?.sums ?? null)) addStored(stored, { month, direction, cell }, totals, 1)
  return stored.get(`${month}|${direction}`)?.missingXml ?? 0
}
