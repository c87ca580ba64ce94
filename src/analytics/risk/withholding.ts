import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { Rules } from '../../authority/rules/dated.ts'
import { withholdingClasses } from '../../authority/rules/withholding-classes.ts'
import { own } from '../../cfdi/population/aliases.ts'
import { all } from '../../platform/db/statement.ts'

// What rules say is written into the text, by `composedByDay`.

/** The condition that one of these holds. */
const anyOf = (conditions: readonly SQL[]): SQL => sql`(${sql.join([...conditions], sql` or `)})`

/** The condition that a text of SQL begins with one of these. */
const beginsWith = (text: SQL, prefixes: readonly string[]): SQL =>
  anyOf([...Map.groupBy(prefixes, ({ length }) => length)].map(([length, some]) => sql`substr(${text}, 1, ${length}) in ${some}`))

/** The condition that a line of `own` has a product key that begins with one of these. */
export const hasKey = (prefixes: readonly string[]): SQL =>
  anyOf(prefixes.map((prefix) => sql`instr(',' || ${own.products}, ${`,${prefix}`}) > 0`))

/** The product key of `own` with the largest amount, the first of equals. */
const MAIN_KEY = sql`case when instr(${own.products}, '=') = 0 then ${own.products} else (
  select substr(j.value, 1, instr(j.value, '=') - 1) from json_each('["' || replace(${own.products}, ',', '","') || '"]') j
  order by cast(substr(j.value, instr(j.value, '=') + 1) as integer) desc, j.key limit 1) end`

const inMicros = (column: SQLWrapper): SQL => sql`cast(round(coalesce(${column}, '0') * 1000000) as integer)`

const MILLION = 1_000_000

/**
 * The condition that an invoice `own` withholds less or more than its class says (insights.md 8.2), in its own currency, by more than the
 * tolerated part. Null when no rule of the day can expect anything.
 */
export function withholdingMissing(rules: Rules): SQL | null {
  const classes = withholdingClasses(rules)
  const tolerance = Math.round(Number(rules.find('withholding.tolerance') ?? 0) * MILLION)
  if (classes.length === 0) return null
  const detected = classes.map(({ emisor, detection }) => {
    const one = detection.map(({ emisor_regimenes, claves }) =>
      all([
        ...(emisor_regimenes === null ? [] : [sql`${own.emisor_regimen_fiscal} in ${emisor_regimenes}`]),
        ...(claves === null ? [] : [beginsWith(sql`main`, claves)]),
      ]),
    )
    return sql`${emisor === 'any' ? sql`` : sql`length(${own.emisor_rfc}) = 13 and `}${anyOf(one)}`
  })
  const differs = (of: SQL, stated: SQLWrapper, { numerator, denominator }: { numerator: number; denominator: number }): SQL => {
    const expected = sql`((2 * ${of} * ${numerator} + ${denominator}) / ${2 * denominator})`
    return sql`(${expected} > 0 and abs(coalesce(${stated}, 0) - ${expected}) > (${expected} * ${tolerance} + ${MILLION / 2}) / ${MILLION})`
  }
  const branches = classes.map(({ isr, iva }, n) => {
    const isIva = iva?.claves ? sql`${beginsWith(sql`main`, iva.claves)} and ` : sql``
    const faults = [
      ...(isr === null ? [] : [differs(sql`net`, own.isr_retenido, isr)]),
      ...(iva === null
        ? []
        : [sql`${isIva}${differs(iva.of === 'net' ? sql`net` : sql`coalesce(${own.iva_trasladado}, 0)`, own.iva_retenido, iva)}`]),
    ]
    return sql`when ${detected[n]} then ${faults.length === 0 ? sql`0` : anyOf(faults.map((one) => sql`(${one})`))}`
  })
  // Most invoices are of companies and of no freight; they are told apart before their keys are compared.
  const any = classes.filter(({ emisor }) => emisor === 'any').flatMap(({ detection }) => detection.flatMap(({ claves }) => claves ?? []))
  return sql`length(${own.receptor_rfc}) = 12 and ${own.products} is not null and (length(${own.emisor_rfc}) = 13${any.length > 0 ? sql` or ${hasKey(any)}` : sql``})
    and (select case ${sql.join(branches, sql` `)} else 0 end from (select ${MAIN_KEY} as main, ${inMicros(own.subtotal)} - ${inMicros(own.descuento)} as net))`
}
