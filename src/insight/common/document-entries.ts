import type { Micros } from '../../cfdi/money.ts'
import type { Population } from '../../cfdi/population/population.ts'
import { type Fragment, raw, sql } from '../../platform/db/fragment.ts'
import type { DirectionNumber, Partition } from '../../visibility/scoped-ledger.ts'
import type { EntriesPage } from './contract.ts'
import { type EntryRow, pageOfEntries } from './entries.ts'
import type { Insight } from './insight.ts'
import { newestOf } from './left-out.ts'
import { IS_UNRATED, inPesos, parseUnrated, ratesOf, unratedJson } from './unrated.ts'

interface AmountRow extends EntryRow {
  tipo: string
  amount: string | null
  unrated: string | null
}

const IS_INVOICE = raw("own.tipo_comprobante in ('I', 'E')")

/**
 * Returns a page of invoices and credit notes with their amount in MXN, before taxes or including them; that of a credit note is negative.
 * Those that state no exchange rate are converted at the published one. The conditions may name common table
 * expressions, `ctes`.
 */
export function pageOfDocuments(
  insight: Insight,
  path: string,
  query: { limit: number; cursor?: string | undefined },
  {
    direction,
    conditions: more = [],
    ...population
  }: Omit<Population, 'types' | 'after' | 'direction' | 'conditions'> & {
    direction: DirectionNumber | 'both'
    conditions?: readonly Fragment[] | ((partition: Partition) => readonly Fragment[])
  },
  which: 'net' | 'total' = 'net',
  ctes: Fragment | null = null,
): Promise<EntriesPage> {
  const columns = `own.tipo_comprobante as tipo, own.${which}_mxn as amount, case when ${IS_UNRATED} then ${unratedJson('emisor_nombre')} end as unrated`
  const isAny = raw(`(own.net_mxn is not null or ${IS_UNRATED})`)
  return pageOfEntries<AmountRow>(
    insight,
    path,
    query,
    (partition, after, take) => {
      const conditions = [IS_INVOICE, isAny, ...(typeof more === 'function' ? more(partition) : more)]
      const some = (direction === 'both' ? ([0, 1] as const) : [direction]).flatMap(
        (one) => newestOf(partition, columns, { ...population, direction: one, conditions }, after, take) ?? [],
      )
      const [first, second] = some
      if (!first) return null
      const rows = second
        ? sql`select * from (${first}) union all select * from (${second}) order by 2 desc, 1 desc limit ${raw(String(take))}`
        : first
      return ctes === null ? rows : sql`with ${ctes} no_more as (select 1) ${rows}`
    },
    async (rows) => {
      const unrated = rows.flatMap((row) => parseUnrated(row.unrated))
      const rates = await ratesOf(insight.ctx, unrated)
      const converted = new Map<string, Micros | null>(unrated.map((one, n) => [one.uuid, inPesos(one[which], rates[n] ?? null)]))
      return rows.map(({ uuid, tipo, amount, unrated: isUnrated }) => {
        const pesos = isUnrated === null ? BigInt(amount ?? 0) : (converted.get(uuid) ?? null)
        return pesos === null ? null : tipo === 'E' ? -pesos : pesos
      })
    },
  )
}
