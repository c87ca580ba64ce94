import { type SQL, sql } from 'drizzle-orm'
import { byDay } from '../../authority/rules/by-day.ts'
import type { Rules } from '../../authority/rules/dated.ts'
import { shareOf } from '../../cfdi/cash/exact-amounts.ts'
import type { Days } from '../../cfdi/population/population.ts'
import { BREAKDOWN, type Breakdown, OF_THIRD_PARTIES } from '../../cfdi/taxes/breakdown.ts'
import { dividedBy, type Micros } from '../../platform/money.ts'
import { beginsWith, hasKey, type Thing } from '../common/deductible.ts'

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

const WHERE = {
  in: 'not is_excluded',
  out: `(is_excluded or as_json->>'thing' is not null or fuera_gravado + fuera_exento + fuera_no_objeto <> 0)`,
  review: 'is_presumed',
} as const

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

/** The parts of the proportion that lines of an invoice may be out of, where it has no other base. */
export const SPLIT = ['gravado', 'exento', 'no_objeto'] as const

/** What of a movement is out of each of these, by the lines of its invoice, as `splitOf` has them. */
export const outOfParts = (thing: Thing | null, amounts: Record<Sum, Micros>): Record<`fuera_${(typeof SPLIT)[number]}`, Micros> =>
  Object.fromEntries(
    SPLIT.map((name) => {
      const columns = signedColumns(PROPORTION[name].columns, false)
      return [`fuera_${name}`, thing ? shareOf(addColumns(columns, amounts), BigInt(thing[0]), BigInt(thing[1])) : 0n]
    }),
  ) as ReturnType<typeof outOfParts>

/** Whether the taxes of an invoice have bases of several of these parts, or what no key tells apart: third parties, or no transfer of IVA. */
const IS_MIXED = ((): string => {
  const has = (columns: readonly (keyof Breakdown)[]) =>
    `(${columns.map((name) => `coalesce(invoice_taxes->>${BREAKDOWN.indexOf(name)}, 0) + 0 <> 0`).join(' or ')})`
  const kinds = SPLIT.map((name) => has(PROPORTION[name].columns))
  return `(${kinds.join(' + ')} > 1 or ${has(['base_sin_traslado', ...OF_THIRD_PARTIES.map((name) => `tercero_${name}` as const)])})`
})()

const startsOf = (on: Rules, treatment: 'out' | 'review') =>
  on.get('vat.proportion').flatMap((one) => (one.treatment === treatment ? one.claves : []))

/** JSON as `thingFound`: the part of the lines of a collected movement that is out of the proportion. Null where all or none of it is, or may be. */
export function splitOf(rules: Rules, days: Days): SQL {
  const on = (rules: Rules): string => {
    const [out, review] = [startsOf(rules, 'out'), startsOf(rules, 'review')]
    const amount = `cast(substr(value, instr(value, '=') + 1) as integer)`
    return `case when instr(products, '=') and not ${IS_MIXED} and ${hasKey('products', out)} and not ${hasKey('products', review)} then (
      select json_array(cast(out / unit + 0.5 as integer), cast(every / unit + 0.5 as integer), 0, 0) from (
        select total(iif(${beginsWith('value', out)}, ${amount}, 0)) as out, total(${amount}) as every, iif(total(${amount}) < 3000000000, 1.0, 10000.0) as unit,
          min(${amount}) as least, min(${beginsWith('value', out)}) as is_all
        from json_each('["' || replace(products, ',', '","') || '"]')) where least >= 0 and every > 0 and not is_all) end`
  }
  return sql.raw(byDay(rules, 'day', days, on))
}

/**
 * The conditions on collected movements that all product keys of the invoice are out of the proportion, and that some are or may be, and
 * nothing tells which part (`splitOf`). The values of the rule are digits.
 */
export function proportionFlags(rules: Rules, days: Days): [isOut: SQL, isReview: SQL] {
  const outOn = (on: Rules): string => {
    const out = startsOf(on, 'out')
    const isOther = `exists (select 1 from json_each('["' || replace(products, ',', '","') || '"]') one
      where not ${beginsWith('one.value', out)})`
    return out.length === 0 ? '0' : `coalesce(${hasKey('products', out)} and not ${isOther}, 0)`
  }
  const reviewOn = (on: Rules): string =>
    `coalesce(${hasKey('products', [...startsOf(on, 'out'), ...startsOf(on, 'review')])} and thing is null and not ${outOn(on)}, 0)`
  return [sql.raw(byDay(rules, 'day', days, outOn)), sql.raw(byDay(rules, 'day', days, reviewOn))]
}
