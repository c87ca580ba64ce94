import { type SQL, sql } from 'drizzle-orm'
import { inlined } from '../../platform/db/statement.ts'
import { inPesos, type Micros } from '../../platform/money.ts'
import { cfdiAs } from '../columns.ts'
import { BREAKDOWN } from '../taxes/breakdown.ts'

/** The digits of micros that SQLite adds up: 900,000 amounts of so many fit its integers. The others are listed beside the sum. */
const DIGITS = 13

/** The exact sum of micros over a group, for `parseSum`. SQLite’s own sum would lose or refuse large amounts. */
export const sumOf = (micros: string): SQL =>
  sql.raw(
    `cast(coalesce(sum(case when length(${micros}) <= ${DIGITS} then ${micros} + 0 else 0 end), 0) as text)` +
      ` || coalesce('+' || group_concat(${micros}, '+') filter (where length(${micros}) > ${DIGITS}), '')`,
  )

/** Parses a sum that `sumOf` selected, in micros. */
export const parseSum = (text: string): Micros => text.split('+').reduce((sum, part) => sum + BigInt(part), 0n)

/**
 * An amount of the taxes by rate of a document with this alias, as an expression of SQL: out of its `taxes`, or what follows when it has
 * none because the general rate applies to all of it.
 */
export const taxOf = (alias: string, name: (typeof BREAKDOWN)[number]): string => {
  const { taxes, net_mxn, iva_trasladado } = cfdiAs(alias)
  const plain = name === 'base_16' ? net_mxn : name === 'iva_16' ? iva_trasladado : 0
  return inlined(sql`case when ${taxes} is null then ${plain} else coalesce(${taxes}->>${BREAKDOWN.indexOf(name)}, 0) end`)
}

/** The conditions that an invoice or credit note adds no amount: its exchange rate is not known, or one of its amounts does not fit. */
export const MISSING_RATE = (alias: string): string => {
  const { version, currency, tipo_cambio } = cfdiAs(alias)
  const isPesos = sql.raw(inPesos(inlined(sql`${currency}`)))
  return inlined(sql`(${version} is null or (not ${isPesos} and (${tipo_cambio} is null or ${tipo_cambio} + 0 <= 0)))`)
}
export const NOT_COUNTED = (alias: string): string =>
  inlined(sql`(${cfdiAs(alias).net_mxn} is null and not ${sql.raw(MISSING_RATE(alias))})`)
