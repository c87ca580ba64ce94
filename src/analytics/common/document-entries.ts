import { type SQL, sql } from 'drizzle-orm'
import { own } from '../../cfdi/population/aliases.ts'
import type { Population } from '../../cfdi/population/population.ts'
import type { Ctx } from '../../platform/context.ts'
import type { Micros } from '../../platform/money.ts'
import type { Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import type { EntriesPage } from './contract.ts'
import { type EntryPosition, type EntryRow, pageOfEntries } from './entries.ts'
import type { Insight } from './insight.ts'
import { newestOf } from './left-out.ts'
import { IS_UNRATED, inPesos, parseUnrated, ratesOf, unratedJson } from './unrated.ts'

/** An invoice or credit note with its amount: before taxes (`net`), or including them (`total`). */
export interface AmountRow extends EntryRow {
  tipo: string
  amount: string | null
  unrated: string | null
}
type Which = 'net' | 'total'
type Meant = Omit<Population, 'types' | 'after'>

const CONDITIONS = [sql`${own.tipo_comprobante} in ('I', 'E')`, sql`(${own.net_mxn} is not null or ${IS_UNRATED})`]

/** Selects the invoices and credit notes of a population that add an amount, newest first, for `pageOfEntries`. */
export function documentsAfter(population: Meant, which: Which) {
  const columns = sql`${own.tipo_comprobante} as tipo, ${own[`${which}_mxn`]} as amount, case when ${IS_UNRATED} then ${unratedJson('emisor_nombre')} end as unrated`
  const conditions = [...CONDITIONS, ...(population.conditions ?? [])]
  return (partition: Partition, after: EntryPosition | undefined, take: number): SQL | null =>
    newestOf(partition, columns, { ...population, conditions }, after, take)
}

/** Their amounts in MXN, of credit notes negative. Those that state no exchange rate are converted at the published one; null without any. */
export async function amountsOfDocuments(ctx: Ctx, rows: readonly AmountRow[], which: Which): Promise<(Micros | null)[]> {
  const unrated = rows.flatMap((row) => parseUnrated(row.unrated))
  const rates = await ratesOf(ctx, unrated)
  const converted = new Map<string, Micros | null>(unrated.map((one, n) => [one.uuid, inPesos(one[which], rates[n] ?? null)]))
  return rows.map(({ uuid, tipo, amount, unrated: isUnrated }) => {
    const pesos = isUnrated === null ? BigInt(amount ?? 0) : (converted.get(uuid) ?? null)
    return pesos === null ? null : tipo === 'E' ? -pesos : pesos
  })
}

/** Returns a page of the invoices and credit notes of a population with their amounts in MXN. */
export const pageOfDocuments = (
  insight: Insight,
  path: string,
  query: { limit: number; cursor?: string | undefined },
  population: Meant,
  which: Which = 'net',
): Promise<EntriesPage> =>
  pageOfEntries<AmountRow>(insight, path, query, documentsAfter(population, which), (rows) => amountsOfDocuments(insight.ctx, rows, which))
