import { quoted } from '../../platform/db/statement.ts'
import type { Rules } from '../../rules/dated.ts'
import { withholdingClasses } from '../../rules/withholding-classes.ts'

/** The condition that a text of SQL begins with one of these. */
export const beginsWith = (text: string, prefixes: readonly string[]): string =>
  `(${[...Map.groupBy(prefixes, ({ length }) => length)].map(([length, some]) => `substr(${text}, 1, ${length}) in (${some.map(quoted).join()})`).join(' or ')})`

/** The condition that a line of `own` has a product key that begins with one of these. */
export const hasKey = (prefixes: readonly string[]): string =>
  `(${prefixes.map((prefix) => `instr(',' || own.products, ${quoted(`,${prefix}`)}) > 0`).join(' or ')})`

/** The product key of `own` with the largest amount, the first of equals. */
const MAIN_KEY = `case when instr(own.products, '=') = 0 then own.products else (
  select substr(j.value, 1, instr(j.value, '=') - 1) from json_each('["' || replace(own.products, ',', '","') || '"]') j
  order by cast(substr(j.value, instr(j.value, '=') + 1) as integer) desc, j.key limit 1) end`

const inMicros = (column: string): string => `cast(round(coalesce(own.${column}, '0') * 1000000) as integer)`

const MILLION = 1_000_000

/**
 * The condition that an invoice `own` withholds less or more than its class says (insights.md 8.2), in its own currency, by more than the
 * tolerated part. Null when no rule of the day can expect anything.
 */
export function withholdingMissing(rules: Rules): string | null {
  const classes = withholdingClasses(rules)
  const tolerance = Math.round(Number(rules.find('withholding.tolerance') ?? 0) * MILLION)
  if (classes.length === 0) return null
  const detected = classes.map(({ emisor, detection }) => {
    const one = detection.map(({ emisor_regimenes, claves }) =>
      [
        ...(emisor_regimenes === null ? [] : [`own.emisor_regimen_fiscal in (${emisor_regimenes.map(quoted).join()})`]),
        ...(claves === null ? [] : [beginsWith('main', claves)]),
      ].join(' and '),
    )
    return `${emisor === 'any' ? '' : 'length(own.emisor_rfc) = 13 and '}(${one.map((each) => each || '1').join(' or ')})`
  })
  const differs = (of: string, stated: string, { numerator, denominator }: { numerator: number; denominator: number }): string => {
    const expected = `((2 * ${of} * ${numerator} + ${denominator}) / ${2 * denominator})`
    return `(${expected} > 0 and abs(coalesce(own.${stated}, 0) - ${expected}) > (${expected} * ${tolerance} + ${MILLION / 2}) / ${MILLION})`
  }
  const branches = classes.map(({ isr, iva }, n) => {
    const isIva = iva?.claves ? `${beginsWith('main', iva.claves)} and ` : ''
    const faults = [
      ...(isr === null ? [] : [differs('net', 'isr_retenido', isr)]),
      ...(iva === null ? [] : [`${isIva}${differs(iva.of === 'net' ? 'net' : 'coalesce(own.iva_trasladado, 0)', 'iva_retenido', iva)}`]),
    ]
    return `when ${detected[n]} then ${faults.length === 0 ? '0' : faults.map((one) => `(${one})`).join(' or ')}`
  })
  // Most invoices are of companies and of no freight; they are told apart before their keys are compared.
  const any = classes.filter(({ emisor }) => emisor === 'any').flatMap(({ detection }) => detection.flatMap(({ claves }) => claves ?? []))
  return `length(own.receptor_rfc) = 12 and own.products is not null and (length(own.emisor_rfc) = 13${any.length > 0 ? ` or ${hasKey(any)}` : ''})
    and (select case ${branches.join(' ')} else 0 end from (select ${MAIN_KEY} as main, ${inMicros('subtotal')} - ${inMicros('descuento')} as net))`
}
