import { type SQL, sql } from 'drizzle-orm'
import { parseSum } from '../../cfdi/population/sums.ts'
import type { Micros } from '../../platform/money.ts'
import type { Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import type { EntriesPage } from './contract.ts'
import { type EntryPosition, type EntryRow, pageOfEntries } from './entries.ts'
import type { Insight } from './insight.ts'

/** A document behind a figure and what it applies to, as SQL adds it up. */
interface PairRow extends EntryRow {
  /** For `parseSum`. */
  amount: string
  /** The rows of the pair, and a JSON list of what is to be measured of them. */
  n: number
  odds: string
}

const pairs = (rows: SQL, after: EntryPosition | undefined, take: number, keepsZeros: boolean): SQL => sql`
  select uuid, applies_to, issued_at, count(*) as n, group_concat(iif(is_odd, '0', amount), '+') as amount,
    json_group_array(json(as_json)) filter (where is_odd) as odds
  from (${rows}) where ${keepsZeros ? sql`1` : sql`(is_odd or amount <> '0')`}
    ${after ? sql`and (issued_at, uuid, coalesce(applies_to, '')) < (${after[0]}, ${after[1]}, ${after[2]})` : sql``}
  group by issued_at, uuid, coalesce(applies_to, '')
  order by issued_at desc, uuid desc, coalesce(applies_to, '') desc limit ${sql.raw(String(take))}`

/**
 * Returns a page of the documents behind a figure on a cash basis, a pair of a document and what it applies to once. `rowsIn` gives what
 * selects them in a partition: uuid, applies_to, issued_at, amount in micros as text, is_odd, and as_json, what is to be measured when it is
 * odd. `measureAll` tells what each of these adds, null when it does not belong to the figure. `keepsZeros` lists what adds nothing too, for
 * counts. Throws Failure 400 cursor.invalid.
 */
export const pageOfPairs = <Odd>(
  insight: Insight,
  path: string,
  query: { limit: number; cursor?: string | undefined },
  rowsIn: (partition: Partition) => SQL[],
  measureAll: (odds: readonly Odd[]) => Promise<(odd: Odd) => Micros | null>,
  keepsZeros = false,
): Promise<EntriesPage> =>
  pageOfEntries<PairRow>(
    insight,
    path,
    query,
    (partition, after, take) => rowsIn(partition).map((rows) => pairs(rows, after, take, keepsZeros)),
    async (rows) => {
      const parsed = rows.map(({ amount, n, odds }) => ({ amount: parseSum(amount), n, odds: JSON.parse(odds) as Odd[] }))
      const measured = await measureAll(parsed.flatMap(({ odds }) => odds))
      return parsed.map(({ amount, n, odds }) => {
        const parts = odds.flatMap((odd) => measured(odd) ?? [])
        const sum = parts.reduce((all, part) => all + part, amount)
        const isKept = keepsZeros ? n > odds.length - parts.length : sum !== 0n
        return isKept ? sum : null
      })
    },
  )
