import type { RuleRow } from './dated.ts'
import type { rules } from './tables.ts'

/** The deployment's own rows; they are few. */
export async function findOwnRules(d1: D1Database): Promise<RuleRow[]> {
  const { results } = await d1
    .prepare('select key, value, rule_ref, valid_from, valid_to, source, confidence from rules')
    .all<typeof rules.$inferSelect>()
  return results.map((row) => ({ ...row, key: row.key as RuleRow['key'], value: JSON.parse(row.value) }))
}

/** The labels of keys of c_ClaveProdServ, of those that were loaded. */
export const findLabels = (d1: D1Database, keys: readonly string[]) =>
  d1
    .prepare('select p.key, p.label from json_each(?1) j cross join product_keys p on p.key = j.value')
    .bind(JSON.stringify(keys))
    .all<{ key: string; label: string }>()
