import type { Day } from '../../platform/time/calendar.ts'

export interface FoundRate {
  /** The place of the question. */
  n: number
  date: Day
  rate: string
  source: string
}

/** The last rates before these days, one for each `[currency, day]` that has one. Reads two rows for each. */
export async function findRates(d1: D1Database, wanted: readonly (readonly [string, Day])[]): Promise<FoundRate[]> {
  const { results } = await d1
    .prepare(
      `select j.key as n, f.date, f.rate, f.source from json_each(?1) j cross join fx_rates f
       on f.currency = j.value->>0
       and f.date = (select max(date) from fx_rates where currency = j.value->>0 and date < j.value->>1)`,
    )
    .bind(JSON.stringify(wanted))
    .all<FoundRate>()
  return results
}
