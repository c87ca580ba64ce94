import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { byDay } from '../../authority/rules/by-day.ts'
import type { Rules, Unit } from '../../authority/rules/dated.ts'
import { inlined } from '../../platform/db/statement.ts'

type Days = { first: string; last: string }

/** `byDay` of composed SQL. Its values are written into it, because what the rules of two days make is compared as text. */
export const composedByDay = (rules: Rules, column: SQLWrapper, days: Days, make: (on: Rules) => SQL, unit?: Unit): SQL =>
  sql.raw(byDay(rules, inlined(sql`${column}`), days, (on) => inlined(make(on)), unit))

/** The same where a rule may say nothing: null when none of the days has one that does. */
export function anyComposedByDay(rules: Rules, column: SQLWrapper, days: Days, make: (on: Rules) => SQL | null, unit?: Unit): SQL | null {
  const text = byDay(rules, inlined(sql`${column}`), days, (on) => inlined(make(on) ?? sql`0`), unit)
  return text === '0' ? null : sql.raw(text)
}
