import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { amountsIn } from './products.ts'

/** The product key with the largest amount, the first of equals, of the column `products` of a document (products.ts). */
export function mainKeyOf(products: string | null): string | null {
  let [largest, key]: [bigint | null, string | null] = [null, null]
  for (const [name, amount] of products === null ? [] : amountsIn(products, 0n))
    if (largest === null || amount > largest) [largest, key] = [amount, name]
  return key
}

/** The same in SQL. */
export const mainKey = (products: SQLWrapper): SQL => sql`case when instr(${products}, '=') = 0 then ${products} else (
  select substr(j.value, 1, min(8, instr(j.value, '=') - 1)) from json_each('["' || replace(${products}, ',', '","') || '"]') j
  order by cast(substr(j.value, instr(j.value, '=') + 1) as integer) desc, j.key limit 1) end`
