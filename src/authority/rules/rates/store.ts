import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { prepared } from '../../../platform/db/statement.ts'
import type { Day } from '../../../platform/time/calendar.ts'
import { fxRates } from '../tables.ts'

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
