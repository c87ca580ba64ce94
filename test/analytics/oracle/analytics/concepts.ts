import { exact, isZero, type Micros, micros, money, over, percent, quotient, sum, times } from '../amounts.ts'
import type { ConceptRow, ConceptsHeader } from '../analytics-shapes.ts'
import { populationOf, rateOf, signOf } from '../counting.ts'
import { hasPrefix } from '../lists.ts'
import type { Direction } from '../shapes.ts'
import { newTally, type Tally } from '../tally.ts'
import { IVA, statedTaxes } from '../taxes.ts'
import { byNewest, compare, type Document, monthOf, nameOf, type Range, type World } from '../world.ts'

type Level = ConceptsHeader['level']
export interface ConceptsQuery extends Range {
  direction?: Direction
  level?: Level
  terceros?: 'include' | 'exclude'
}

interface Line {
  document: Document
  clave: string | null
  key: string | null
  text: string | null
  /** In MXN, for its price; signed. */
  amount: Micros
  /** In the document’s currency; signed. */
  own: Micros
  quantity: Micros
  unit: string | null
  /** MXN for one unit; null on credit notes and without a quantity. */
  price: Micros | null
  mix: keyof ConceptRow['iva_mix']
  isOfThirdParty: boolean
}

const DIGITS: Record<Exclude<Level, 'description'>, number> = { segment: 2, family: 4, class: 6, key: 8 }
const described = (text: string | null): string | null => text?.trim().replace(/\s+/g, ' ') || null

function mixOf(line: Document['conceptos'][number]): Line['mix'] {
  const tax = statedTaxes(line.impuestos).find(({ kind, impuesto }) => kind === 'traslado' && impuesto === IVA)
  if (!tax) return line.objeto_imp === null || line.objeto_imp === '01' ? 'no_objeto' : 'sin_traslado'
  if (tax.factor === 'Exento') return 'exento'
  return tax.tasa === 160_000n ? '16' : tax.tasa === 80_000n ? '8' : tax.tasa === 0n ? '0' : 'otras'
}

function linesOf(world: World, query: ConceptsQuery): Line[] {
  const { direction = 'received', level = 'key' } = query
  return populationOf(world, query, ['I', 'E'])
    .filter((one) => one.direction === direction)
    .flatMap((document) =>
      document.conceptos.map((line): Line => {
        const sign = signOf(document)
        const own = (micros(line.importe) - micros(line.descuento)) * sign
        const amount = times(own, rateOf(world, document)!)
        const clave = /^\d{8}$/.test(line.clave_prod_serv ?? '') ? line.clave_prod_serv : null
        const key =
          level === 'description' ? (described(line.descripcion)?.toUpperCase() ?? null) : (clave?.slice(0, DIGITS[level]) ?? null)
        const isPriced = sign > 0n && line.cantidad !== null && !isZero(line.cantidad)
        return {
          ...{ document, clave, key, text: described(line.descripcion), amount, own, quantity: micros(line.cantidad) * sign },
          ...{ unit: line.clave_unidad, price: isPriced ? over(amount, line.cantidad!) : null, mix: mixOf(line) },
          isOfThirdParty: line.a_cuenta_terceros_rfc !== null,
        }
      }),
    )
}

/** What lines add up to in MXN: rounded once for each document. */
const amountOf = (world: World, lines: readonly Line[]): Micros =>
  sum([...documentsOf(lines)].map(([document, some]) => times(sum(some.map(({ own }) => own)), rateOf(world, document)!)))
const documentsOf = (lines: readonly Line[]) => Map.groupBy(lines, ({ document }) => document)

const sorted = (values: readonly Micros[]): Micros[] => [...values].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
function medianOf(values: readonly Micros[]): Micros {
  const list = sorted(values)
  const middle = list.length >> 1
  return list.length % 2 === 1 ? list[middle]! : quotient(list[middle - 1]! + list[middle]!, 2n)
}
const size = (value: Micros): Micros => (value < 0n ? -value : value)

/** Lines whose unit price is far from what the counterparty usually asks for the key. */
function outliersAmong({ rules, today }: World, lines: readonly Line[]): Set<Line> {
  const { outlier } = rules(today)
  const priced = lines.filter(({ price, clave }) => price !== null && clave !== null)
  const groups = Map.groupBy(priced, ({ document, clave }) => `${document.counterparty.rfc}|${clave}`)
  return new Set(
    [...groups.values()].flatMap((group) => {
      if (group.length < outlier.least) return []
      const median = medianOf(group.map(({ price }) => price!))
      const mad = medianOf(group.map(({ price }) => size(price! - median)))
      return mad === 0n ? [] : group.filter(({ price }) => size(price! - median) > BigInt(outlier.mad) * mad)
    }),
  )
}

/** The mean price of some lines; null without a priced one. */
function averageOf(lines: readonly Line[]): Micros | null {
  const priced = lines.filter(({ price }) => price !== null)
  const quantity = sum(priced.map((line) => line.quantity))
  return quantity === 0n ? null : quotient(sum(priced.map(({ amount }) => amount)) * 1_000_000n, quantity)
}

function changeOf(lines: readonly Line[]): string | null {
  const months = Map.groupBy(
    lines.filter(({ price }) => price !== null),
    ({ document }) => monthOf(document.fecha),
  )
  const [first, ...others] = [...months.keys()].sort()
  const last = others.at(-1)
  if (first === undefined || last === undefined) return null
  const [before, after] = [averageOf(months.get(first)!)!, averageOf(months.get(last)!)!]
  return percent(after - before, before)
}

/** GET /v1/analytics/concepts: header, rows in their order without labels of the catalog, and the entries of `amount|<key>` and others. */
export function conceptsOf(
  world: World,
  query: ConceptsQuery,
): { header: Omit<ConceptsHeader, 'drilldown'>; rows: Omit<ConceptRow, 'drilldown' | 'label'>[]; tally: Tally } {
  const { direction = 'received', level = 'key', terceros } = query
  const tally = newTally()
  const all = linesOf(world, query)
  const ofOthers = all.filter(({ isOfThirdParty }) => isOfThirdParty)
  const lines = terceros === 'exclude' ? all.filter(({ isOfThirdParty }) => !isOfThirdParty) : all
  const outliers = outliersAmong(world, lines)
  const figuresOf = (line: Line): string[] => {
    const row = `amount|${line.key ?? ''}`
    return [
      ...['total', row, `${row}|${monthOf(line.document.fecha)}`],
      ...(line.document.tipo_comprobante === 'I' ? [`invoice_count|${line.key ?? ''}`] : []),
      ...(hasPrefix(line.clave, world.rules(world.today).claves.unclassified) ? ['unclassified_amount'] : []),
      ...(outliers.has(line) ? ['outliers'] : []),
    ]
  }
  for (const figure of new Set(lines.flatMap(figuresOf)))
    for (const [document, some] of documentsOf(lines.filter((line) => figuresOf(line).includes(figure))))
      tally.add(figure, document.uuid, amountOf(world, some))
  const total = tally.sum('total')
  const rows = [...Map.groupBy(lines, ({ key }) => key)]
    .map(([key, list]) => ({ key, list, amount: amountOf(world, list) }))
    .sort((a, b) => compare([-a.amount, a.key === null ? 1 : 0, a.key ?? ''], [-b.amount, b.key === null ? 1 : 0, b.key ?? '']))
    .map(({ key, list, amount }) => rowOf(world, key, list, amount, total, outliers))
  const unclassified = tally.sum('unclassified_amount')
  const header = {
    ...{ has_line_figures: true, third_party_amount: money(amountOf(world, ofOthers)) },
    ...{ direction, level, total: money(total), line_count: lines.length, unclassified_amount: money(unclassified) },
    ...{ unclassified_share: percent(unclassified, total), outlier_count: outliers.size },
  }
  return { header, rows, tally }
}

function rowOf(
  world: World,
  key: string | null,
  list: readonly Line[],
  amount: Micros,
  total: Micros,
  outliers: ReadonlySet<Line>,
): Omit<ConceptRow, 'drilldown' | 'label'> {
  const prices = sorted(list.flatMap(({ price }) => (price === null ? [] : [price])))
  const parties = [...Map.groupBy(list, ({ document }) => document.counterparty.rfc)]
    .map(([rfc, some]) => ({ rfc, amount: amountOf(world, some) }))
    .sort((a, b) => compare([-a.amount, a.rfc], [-b.amount, b.rfc]))
  const top = parties[0]
  const units = new Set(list.map(({ unit }) => unit))
  const mix = (rate: Line['mix']) =>
    money(
      amountOf(
        world,
        list.filter((line) => line.mix === rate),
      ),
    )
  const months = Map.groupBy(list, ({ document }) => monthOf(document.fecha))
  const price = (value: Micros | null | undefined) => (value === null || value === undefined ? null : money(value))
  const documents = list.map(({ document }) => document).sort(byNewest)
  return {
    ...{ key, amount: money(amount), share: percent(amount, total), quantity: exact(sum(list.map(({ quantity }) => quantity))) },
    unit: units.size === 1 ? [...units][0]! : null,
    ...{ avg_unit_price: price(averageOf(list)), min_unit_price: price(prices[0]), max_unit_price: price(prices.at(-1)) },
    price_change_pct: changeOf(list),
    invoice_count: new Set(list.filter(({ document }) => document.tipo_comprobante === 'I').map(({ document }) => document.uuid)).size,
    counterparty_count: parties.length,
    top_counterparty: top ? { rfc: top.rfc, nombre: nameOf(documents, top.rfc), amount: money(top.amount) } : null,
    iva_mix: {
      '16': mix('16'),
      '8': mix('8'),
      '0': mix('0'),
      exento: mix('exento'),
      otras: mix('otras'),
      no_objeto: mix('no_objeto'),
      sin_traslado: mix('sin_traslado'),
    },
    outlier_count: list.filter((line) => outliers.has(line)).length,
    by_month: [...months].sort(([a], [b]) => (a < b ? -1 : 1)).map(([month, some]) => ({ month, amount: money(amountOf(world, some)) })),
  }
}
