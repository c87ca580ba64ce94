import type { Rules } from '../../authority/rules/dated.ts'
import { decimal, dividedBy, type Micros, times } from '../../platform/money.ts'
import { exact, percentOf, sumAll } from '../common/figures.ts'
import type { ConceptRow } from './contract.ts'
import { amountOf, type ConceptLine, MIXES } from './lines.ts'

type Priced = ConceptLine & { price: Micros }
const pricedOf = (lines: readonly ConceptLine[]): Priced[] => lines.filter((line): line is Priced => line.price !== null)

const sorted = (values: readonly Micros[]): Micros[] => [...values].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
const size = (value: Micros): Micros => (value < 0n ? -value : value)

function medianOf(values: readonly Micros[]): Micros {
  const list = sorted(values)
  const middle = list.length >> 1
  return list.length % 2 === 1 ? list[middle]! : dividedBy(list[middle - 1]! + list[middle]!, '2')
}

/** The lines whose unit price is far from the median of their counterparty and key, in median absolute deviations. */
export function outliersAmong(lines: readonly ConceptLine[], rules: Rules): Set<ConceptLine> {
  const [least, far] = [rules.get('concepts.outlier_least'), rules.get('concepts.outlier_mad')]
  const groups = Map.groupBy(
    pricedOf(lines).filter(({ clave }) => clave !== ''),
    ({ document, clave }) => `${document.rfc}|${clave}`,
  )
  const outliers = new Set<ConceptLine>()
  for (const group of groups.values()) {
    if (group.length < least) continue
    const median = medianOf(group.map(({ price }) => price))
    const deviation = medianOf(group.map(({ price }) => size(price - median)))
    if (deviation > 0n) for (const line of group) if (size(line.price - median) > times(deviation, far)) outliers.add(line)
  }
  return outliers
}

/** The mean price of lines; null without a priced one. */
function averageOf(lines: readonly Priced[]): Micros | null {
  const quantity = sumAll(lines.map((line) => line.quantity))
  return quantity === 0n ? null : dividedBy(sumAll(lines.map(({ amount }) => amount)) * 1_000_000n, quantity.toString())
}

function changeOf(lines: readonly Priced[]): string | null {
  const months = Map.groupBy(lines, ({ document }) => document.day.slice(0, 7))
  const [first, ...others] = [...months.keys()].sort()
  const last = others.at(-1)
  if (first === undefined || last === undefined) return null
  const [before, after] = [averageOf(months.get(first)!), averageOf(months.get(last)!)]
  return before === null || after === null ? null : percentOf(after - before, before)
}

type LineFigures = Pick<
  ConceptRow,
  'quantity' | 'unit' | 'avg_unit_price' | 'min_unit_price' | 'max_unit_price' | 'price_change_pct' | 'iva_mix' | 'outlier_count'
>

/** What only the lines of a row say. Everything is null when they were not read. */
export function lineFiguresOf(lines: readonly ConceptLine[] | null, outliers: ReadonlySet<ConceptLine>): LineFigures {
  if (lines === null)
    return {
      ...{ quantity: null, unit: null, avg_unit_price: null, min_unit_price: null, max_unit_price: null, price_change_pct: null },
      ...{ iva_mix: null, outlier_count: null },
    }
  const priced = pricedOf(lines)
  const prices = sorted(priced.map(({ price }) => price))
  const text = (price: Micros | null | undefined) => (price == null ? null : decimal(price))
  const units = new Set(lines.map(({ unit }) => unit))
  return {
    quantity: exact(sumAll(lines.map(({ quantity }) => quantity))),
    unit: units.size === 1 ? [...units][0]! : null,
    ...{ avg_unit_price: text(averageOf(priced)), min_unit_price: text(prices[0]), max_unit_price: text(prices.at(-1)) },
    price_change_pct: changeOf(priced),
    iva_mix: Object.fromEntries(MIXES.map((mix) => [mix, decimal(amountOf(lines.filter((line) => line.mix === mix)))])) as NonNullable<
      ConceptRow['iva_mix']
    >,
    outlier_count: lines.filter((line) => outliers.has(line)).length,
  }
}
