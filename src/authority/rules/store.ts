import { sql } from 'drizzle-orm'
import { readRows } from '../../platform/db/statement.ts'
import type { RuleRow } from './dated.ts'
import { productKeys, rules } from './tables.ts'

/** The deployment's own rows; they are few. */
export async function findOwnRules(d1: D1Database): Promise<RuleRow[]> {
  const rows = await readRows<typeof rules.$inferSelect>(
    d1,
    sql`select ${rules.key}, ${rules.value}, ${rules.rule_ref}, ${rules.valid_from}, ${rules.valid_to}, ${rules.source}, ${rules.confidence}
      from ${rules}`,
  )
  return rows.map((row) => ({ ...row, key: row.key as RuleRow['key'], value: JSON.parse(row.value) }))
}

/** The labels of keys of c_ClaveProdServ, of those that were loaded. */
export const findLabels = (d1: D1Database, keys: readonly string[]) =>
  readRows(
    d1,
    sql<{
      key: string
      label: string
    }>`select ${productKeys.key}, ${productKeys.label} from json_each(${JSON.stringify(keys)}) j cross join ${productKeys} on ${productKeys.key} = j.value`,
  )
