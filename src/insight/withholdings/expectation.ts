import { dividedBy, type Micros, times } from '../../cfdi/money.ts'
import type { Rules } from '../../rules/dated.ts'
import { type WithholdingClass, withholdingClasses, withholdingClassOf } from '../../rules/withholding-classes.ts'
import { GENERIC_RFCS } from '../../taxpayers/rfc.ts'

/** What decides the class of what an invoice bills. */
export interface Billed {
  emisor_rfc: string
  receptor_rfc: string
  emisor_regimen_fiscal: string | null
  /** Its product key with the largest amount. */
  clave: string | null
}

const COMPANY = 12
const PERSON = 13

/** The class of what a company is billed; null where nothing can be expected of the receiver. */
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
const portion = (amount: Micros, { numerator, denominator }: Fraction): Micros | null => {
  const expected = dividedBy(amount * BigInt(numerator), String(denominator))
  return expected > 0n ? expected : null
}

/** What should be withheld of a net amount and its IVA, rounded half up to millionths; null where nothing is expected. */
export const expectedOf = (found: WithholdingClass | null, net: Micros, iva: Micros): { ISR: Micros | null; IVA: Micros | null } => ({
  ISR: found?.isr ? portion(net, found.isr) : null,
  IVA: found?.iva ? portion(found.iva.of === 'iva' ? iva : net, found.iva) : null,
})

/** Whether what is withheld differs from what is expected by more than the tolerance. */
export function isMissing(amount: Micros, expected: Micros | null, tolerance: string): boolean {
  if (expected === null) return false
  const difference = amount - expected
  return (difference < 0n ? -difference : difference) > times(expected, tolerance)
}

const listed = (values: readonly string[]): string => `(${values.map((value) => `'${value}'`).join()})`

/** The condition that a key begins with one of these. Rules hold nothing but digits here (rules/shapes.ts). */
const begins = (prefixes: readonly string[] | null): string =>
  prefixes === null
    ? '1'
    : [...Map.groupBy(prefixes, ({ length }) => length)]
        .map(([length, some]) => `substr(clave, 1, ${length}) in ${listed(some)}`)
        .join(' or ') || '0'

const half = (amount: string, { numerator, denominator }: Fraction): string =>
  `nullif(max((${amount} * ${2 * numerator} + ${denominator}) / ${2 * denominator}, 0), 0)`

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`

/**
 * The same rules in SQL, over the columns of `Billed` and net and iva in micros: the `name` of the class, null where nothing can be expected
 * of the receiver, and the `isr` and `iva` that are expected.
 */
export function expectationSql(rules: Rules): Record<'name' | 'isr' | 'iva', string> {
  const classes = withholdingClasses(rules).map((one) => {
    const detected = one.detection.map(({ emisor_regimenes, claves }) => {
      const regime = emisor_regimenes === null ? '1' : `emisor_regimen_fiscal in ${listed(emisor_regimenes)}`
      return `(coalesce(${regime}, 0) and (${begins(claves)}))`
    })
    return { ...one, is: `${one.emisor === 'any' ? '1' : `length(emisor_rfc) = ${PERSON}`} and (${detected.join(' or ') || '0'})` }
  })
  const isReceiver = `length(receptor_rfc) = ${COMPANY} and receptor_rfc not in ${listed(GENERIC_RFCS)}`
  const chosen = (of: (one: (typeof classes)[number]) => string, is = isReceiver) =>
    `case when not coalesce(${is}, 0) then null ${classes.map((one) => `when ${one.is} then ${of(one)}`).join(' ')} end`
  const iva = (one: (typeof classes)[number]) =>
    one.iva ? `iif(${begins(one.iva.claves)}, ${half(one.iva.of === 'iva' ? 'iva' : 'net', one.iva)}, null)` : 'null'
  return {
    name: chosen((one) => quoted(one.class)),
    isr: chosen(({ isr }) => (isr ? half('net', isr) : 'null'), `${isReceiver} and tipo <> 'E'`),
    iva: chosen(iva, `${isReceiver} and tipo <> 'E'`),
  }
}
