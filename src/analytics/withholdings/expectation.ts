import { type SQL, sql } from 'drizzle-orm'
import type { Rules } from '../../authority/rules/dated.ts'
import { type WithholdingClass, withholdingClasses, withholdingClassOf } from '../../authority/rules/withholding-classes.ts'
import { dividedBy, type Micros, times } from '../../platform/money.ts'
import { GENERIC_RFCS } from '../../taxpayers/rfc.ts'

/** The facts that decide the class of an invoice. */
export interface Billed {
  emisor_rfc: string
  receptor_rfc: string
  emisor_regimen_fiscal: string | null
  /** Its product key with the largest amount. */
  clave: string | null
}

const COMPANY = 12
const PERSON = 13

/** The class of an invoice to a company; null where nothing can be expected of the receiver. */
export const classOf = (
  rules: Rules,
  { emisor_rfc, receptor_rfc, emisor_regimen_fiscal: regimen, clave }: Billed,
): WithholdingClass | null =>
  receptor_rfc.length === COMPANY && !GENERIC_RFCS.includes(receptor_rfc)
    ? withholdingClassOf(rules, { isPerson: emisor_rfc.length === PERSON, regimen, clave })
    : null

interface Fraction {
  numerator: number
  denominator: number
}
const share = (amount: Micros, { numerator, denominator }: Fraction): Micros | null => {
  const expected = dividedBy(amount * BigInt(numerator), String(denominator))
  return expected > 0n ? expected : null
}

/** The expected withholdings of a net amount and its IVA, rounded half up to millionths; null where nothing is expected. */
export const expectedOf = (found: WithholdingClass | null, net: Micros, iva: Micros): { ISR: Micros | null; IVA: Micros | null } => ({
  ISR: found?.isr ? share(net, found.isr) : null,
  IVA: found?.iva ? share(found.iva.of === 'iva' ? iva : net, found.iva) : null,
})

/** Whether the withheld amount differs from the expected one by more than the tolerance. */
export function isMissing(amount: Micros, expected: Micros | null, tolerance: string): boolean {
  if (expected === null) return false
  const difference = amount - expected
  return (difference < 0n ? -difference : difference) > times(expected, tolerance)
}

const anyOf = (conditions: readonly SQL[]): SQL => (conditions.length === 0 ? sql`0` : sql.join([...conditions], sql` or `))

/** The condition that a key begins with one of these. */
const begins = (prefixes: readonly string[] | null): SQL =>
  prefixes === null
    ? sql`1`
    : anyOf([...Map.groupBy(prefixes, ({ length }) => length)].map(([length, some]) => sql`substr(clave, 1, ${length}) in ${some}`))

const half = (amount: SQL, { numerator, denominator }: Fraction): SQL =>
  sql`nullif(max((${amount} * ${2 * numerator} + ${denominator}) / ${2 * denominator}, 0), 0)`

/**
 * The same rules in SQL, over the columns of `Billed` and net and iva in micros: the `name` of the class, null where nothing can be expected
 * of the receiver, and the `isr` and `iva` that are expected.
 */
export function expectationSql(rules: Rules): Record<'name' | 'isr' | 'iva', SQL> {
  const classes = withholdingClasses(rules).map((one) => {
    const detected = one.detection.map(({ emisor_regimenes, claves }) => {
      const regime = emisor_regimenes === null ? sql`1` : sql`emisor_regimen_fiscal in ${emisor_regimenes}`
      return sql`(coalesce(${regime}, 0) and (${begins(claves)}))`
    })
    return { ...one, is: sql`${one.emisor === 'any' ? sql`1` : sql`length(emisor_rfc) = ${PERSON}`} and (${anyOf(detected)})` }
  })
  const isReceiver = sql`length(receptor_rfc) = ${COMPANY} and receptor_rfc not in ${GENERIC_RFCS}`
  const chosen = (of: (one: (typeof classes)[number]) => SQL, is = isReceiver): SQL => {
    const each = classes.map((one) => sql`when ${one.is} then ${of(one)}`)
    return sql`case when not coalesce(${is}, 0) then null ${sql.join(each, sql` `)} end`
  }
  const iva = (one: (typeof classes)[number]) =>
    one.iva ? sql`iif(${begins(one.iva.claves)}, ${half(one.iva.of === 'iva' ? sql`iva` : sql`net`, one.iva)}, null)` : sql`null`
  return {
    name: chosen((one) => sql`${one.class}`),
    isr: chosen(({ isr }) => (isr ? half(sql`net`, isr) : sql`null`), sql`${isReceiver} and tipo <> 'E'`),
    iva: chosen(iva, sql`${isReceiver} and tipo <> 'E'`),
  }
}
