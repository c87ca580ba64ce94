import { type SQL, sql } from 'drizzle-orm'
import { byDay } from '../../authority/rules/by-day.ts'
import type { Rules } from '../../authority/rules/dated.ts'
import type { Days } from '../../cfdi/population/population.ts'
import { OF_THIRD_PARTIES } from '../../cfdi/taxes/breakdown.ts'
import { dividedBy, type Micros } from '../../platform/money.ts'

/** The amounts of cash events to add up, in this order. */
export const SUMS = [
  ...(['base_16', 'iva_16', 'base_8', 'iva_8', 'base_0', 'base_exento', 'base_otras', 'iva_otras', 'iva_retenido'] as const),
  ...(['base_no_objeto', 'base_sin_traslado'] as const),
  ...OF_THIRD_PARTIES.map((name) => `tercero_${name}` as const),
]
export type Sum = (typeof SUMS)[number]

const ONE = 1_000_000n
const TAXED: readonly Sum[] = ['base_16', 'base_8', 'base_0', 'base_otras']
const ALL: readonly Sum[] = [...TAXED, 'base_exento', 'base_no_objeto', 'base_sin_traslado']

/** The parts of what was collected that decide the proportion, and what is out of it or may be: columns and the movements that count. */
export const PROPORTION = {
  gravado: { columns: TAXED, is: 'in' },
  exento: { columns: ['base_exento'], is: 'in' },
  no_objeto: { columns: ['base_no_objeto'], is: 'in' },
  fuera: { columns: ALL, is: 'out' },
  por_revisar: { columns: ALL, is: 'review' },
} as const satisfies Record<string, { columns: readonly Sum[]; is: 'in' | 'out' | 'review' }>
export type ProportionFigure = keyof typeof PROPORTION
export const PROPORTION_FIGURES = Object.keys(PROPORTION) as ProportionFigure[]

const WHERE = { in: 'not is_excluded', out: 'is_excluded', review: 'is_presumed' } as const

/** A sum with signs over the columns of a movement. */
export type SignedColumns = readonly (readonly [sign: 1 | -1, column: Sum])[]

const isOfThirdParties = (name: Sum): name is (typeof OF_THIRD_PARTIES)[number] => (OF_THIRD_PARTIES as readonly string[]).includes(name)

/** Columns of what was collected, with or without what was invoiced on behalf of third parties. */
const signedColumns = (columns: readonly Sum[], withoutThirdParties: boolean): SignedColumns =>
  columns.flatMap((name): SignedColumns => {
    const whole: SignedColumns = [[1, name]]
    return withoutThirdParties && isOfThirdParties(name) ? [...whole, [-1, `tercero_${name}`]] : whole
  })

export const addColumns = (columns: SignedColumns, amounts: Record<Sum, Micros>): Micros =>
  columns.reduce((all, [sign, name]) => all + BigInt(sign) * amounts[name], 0n)

/** The part of the proportion that a figure is; null for others. */
export const proportionPart = (figure: string): ProportionFigure | null =>
  figure.startsWith('proporcion.') ? (figure.slice('proporcion.'.length) as ProportionFigure) : null

/** The columns of movements that a figure without risk adds up. */
export function columnsIn(figure: string, withoutThirdParties: boolean): SignedColumns {
  const part = proportionPart(figure)
  if (part !== null) return signedColumns(PROPORTION[part].columns, withoutThirdParties)
  const name = figure.slice(figure.indexOf('.') + 1)
  if (figure.startsWith('terceros.')) return [[1, `tercero_${name}` as Sum]]
  return signedColumns([WITHHELD.includes(figure) ? 'iva_retenido' : (name as Sum)], withoutThirdParties && figure.startsWith('cobrado.'))
}

const WITHHELD = ['cobrado.retenido_por_clientes', 'pagado.retenido_a_terceros']

/** The condition of a part on movements. */
export const whereOf = (part: ProportionFigure): SQL => sql.raw(WHERE[PROPORTION[part].is])

/** Whether movements with these flags count in a part. */
export const isPartOf = (part: ProportionFigure, { is_excluded, is_presumed }: { is_excluded: boolean; is_presumed: boolean }): boolean =>
  ({ in: !is_excluded, out: is_excluded, review: is_presumed })[PROPORTION[part].is]

/** The taxed part of sales, in millionths. */
export function proportionOf(taxed: Micros, others: Micros): Micros {
  if (others <= 0n) return ONE
  return taxed <= 0n ? 0n : dividedBy(taxed * ONE, (taxed + others).toString())
}

const some = (starts: readonly string[]): string => `(${starts.map((start) => `',' || products like '%,${start}%'`).join(' or ') || '0'})`

/**
 * The conditions on collected movements that all product keys of the invoice are out of the proportion, and that some are or may be. The
 * values of the rule are digits.
 */
export function proportionFlags(rules: Rules, days: Days): [isOut: SQL, isReview: SQL] {
  const startsOf = (on: Rules, treatment: 'out' | 'review') =>
    on.get('vat.proportion').flatMap((one) => (one.treatment === treatment ? one.claves : []))
  const outOn = (on: Rules): string => {
    const out = startsOf(on, 'out')
    const isOther = `exists (select 1 from json_each('["' || replace(products, ',', '","') || '"]') one
      where not (${out.map((start) => `one.value like '${start}%'`).join(' or ')}))`
    return out.length === 0 ? '0' : `coalesce(${some(out)} and not ${isOther}, 0)`
  }
  const reviewOn = (on: Rules): string => `coalesce(${some([...startsOf(on, 'out'), ...startsOf(on, 'review')])} and not ${outOn(on)}, 0)`
  return [sql.raw(byDay(rules, 'day', days, outOn)), sql.raw(byDay(rules, 'day', days, reviewOn))]
}
