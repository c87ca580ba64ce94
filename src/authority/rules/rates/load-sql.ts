import type { LoadedRate } from './rates-csv.ts'

/** Below 100 KB, the longest statement that D1 accepts. */
const ROWS_A_STATEMENT = 2_000

/** A text of SQL. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`

/**
 * The statements that load rates: for each currency, they replace what is held between its first and last day in the file. Values stand in
 * the text, because an operator's command binds none. Loading the same file again writes nothing.
 */
export function loadSql(rates: readonly LoadedRate[], source: string): string[] {
  return [...Map.groupBy(rates, ({ currency }) => currency)].flatMap(([currency, own]) => {
    const chunks = Array.from({ length: Math.ceil(own.length / ROWS_A_STATEMENT) }, (_, n) =>
      own.slice(n * ROWS_A_STATEMENT, (n + 1) * ROWS_A_STATEMENT),
    )
    return chunks.flatMap((chunk) => {
      const json = quoted(JSON.stringify(chunk.map(({ date, rate }) => [date, rate])))
      const [first, last] = [chunk[0]!.date, chunk.at(-1)!.date]
      return [
        `delete from fx_rates where currency = '${currency}' and date between '${first}' and '${last}'
         and date not in (select value->>0 from json_each(${json}))`,
        `insert into fx_rates (currency, date, rate, source) select '${currency}', value->>0, value->>1, ${quoted(source)} from json_each(${json}) where true
         on conflict do update set rate = excluded.rate, source = excluded.source where rate <> excluded.rate or source <> excluded.source`,
      ]
    })
  })
}
