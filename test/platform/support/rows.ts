import { env } from 'cloudflare:workers'

/** Where a table is, if not in a ledger. */
const databaseOf = (table: string): D1Database =>
  /^(events|deliveries|webhooks|fan_outs|alerts|storage_\w+)$/.test(table) ? env.EVENTS_0 : env.DB

/**
 * Copies the newest row of a table so many times, past the front door. `set` has an SQL expression for each column that differs, where n.i
 * counts from 1.
 */
export async function multiply(
  table: string,
  count: number,
  set: Record<string, string>,
  d1: D1Database = databaseOf(table),
): Promise<void> {
  const { results } = await d1
    .prepare(`select * from ${table} order by rowid desc limit 1`)
    .all<Record<string, unknown>>()
    .catch(() => d1.prepare(`select * from ${table} limit 1`).all<Record<string, unknown>>())
  const [row] = results
  if (!row) throw new Error(`There is no row in ${table} to copy.`)
  const columns = Object.keys(row)
  const values = columns.map((name) => set[name] ?? 't.j->>' + `'$.${name}'`)
  await d1
    .prepare(
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < ?1)
       insert into ${table} (${columns.map((name) => `"${name}"`).join(', ')})
       select ${values.join(', ')} from n cross join (select ?2 as j) t`,
    )
    .bind(count, JSON.stringify(row))
    .run()
}

/** An identifier with this prefix for n.i, as SQL. */
export const idSql = (prefix: string): string => `'${prefix}_' || printf('%026d', n.i)`

export const countOf = async (table: string, condition = '1', d1: D1Database = databaseOf(table)): Promise<number> =>
  (await d1.prepare(`select count(*) as n from ${table} where ${condition}`).first<number>('n'))!
