import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { prepared } from '../../platform/db/statement.ts'
import type { Day } from '../../platform/time/calendar.ts'
import type { RuleRow } from './dated.ts'
import { fxRates, productKeys, rules } from './tables.ts'

/** The deployment's own rows; they are few. */
export async function findOwnRules(d1: D1Database): Promise<RuleRow[]> {
  const { results } = await prepared(
    d1,
    sql`select ${rules.key}, ${rules.value}, ${rules.rule_ref}, ${rules.valid_from}, ${rules.valid_to}, ${rules.source}, ${rules.confidence}
      from ${rules}`,
  ).all<typeof rules.$inferSelect>()
  return results.map((row) => ({ ...row, key: row.key as RuleRow['key'], value: JSON.parse(row.value) }))
}

/** The labels of keys of c_ClaveProdServ, of those that were loaded. */
export const findLabels = (d1: D1Database, keys: readonly string[]) =>
  prepared(
    d1,
    sql`select ${productKeys.key}, ${productKeys.label} from json_each(${JSON.stringify(keys)}) j cross join ${productKeys} on ${productKeys.key} = j.value`,
  ).all<{ key: string; label: string }>()

const f = alias(fxRates, 'f')

export interface FoundRate {
  /** The place of the question. */
  n: number
  date: Day
  rate: string
  source: string
}

/** The last rates before these days, one for each `[currency, day]` that has one. Reads two rows for each. */
export async function findRates(d1: D1Database, wanted: readonly (readonly [string, Day])[]): Promise<FoundRate[]> {
  const { results } = await prepared(
    d1,
    sql`select j.key as n, ${f.date}, ${f.rate}, ${f.source} from json_each(${JSON.stringify(wanted)}) j cross join ${fxRates} ${f}
       on ${f.currency} = j.value->>0
       and ${f.date} = (select max(${fxRates.date}) from ${fxRates} where ${fxRates.currency} = j.value->>0
         and ${fxRates.date} < j.value->>1)`,
  ).all<FoundRate>()
  return results
}
