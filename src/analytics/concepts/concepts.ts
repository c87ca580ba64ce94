import { type SQL, sql } from 'drizzle-orm'
import type { Rules } from '../../authority/rules/dated.ts'
import { labelsOf } from '../../authority/rules/rules.ts'
import { own } from '../../cfdi/population/aliases.ts'
import type { Ctx } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { invalid } from '../../platform/failures.ts'
import { decimal, dividedBy, type Micros, sumAll, times } from '../../platform/money.ts'
import { type CursorScope, openCursor, paginate } from '../../platform/paging/cursor.ts'
import type { Basis, EntriesPage } from '../common/contract.ts'
import { type EntryRow, exact, isLeftOut, newestOf, pageOfEntries, pageOfLeftOut, pageOfList, percentOf } from '../common/figures.ts'
import {
  aggregateOf,
  type Insight,
  type Links,
  linksOf as linksOfSurface,
  openEntries,
  openInsight,
  qualityLinks,
} from '../common/insight.ts'
import { directionNumber, nameOf } from '../common/omitted.ts'
import type { ConceptRow, Concepts, ConceptsEntriesQuery, ConceptsQuery } from './contract.ts'
import {
  amountOf,
  byDocument,
  type ConceptLine,
  type ConceptSum,
  digitsOf,
  documentsOf,
  isAfter,
  isAmong,
  keyOf,
  linesOf,
  MIXES,
  MOST_LINES,
  ownOf,
  pesosOf,
  sumLines,
  sumProducts,
} from './lines.ts'
import { foreignJson, IN_AMOUNTS, lineStatements, MOST_DOCUMENTS, type ProductRow, productStatements } from './store.ts'

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
function outliersAmong(lines: readonly ConceptLine[], rules: Rules): Set<ConceptLine> {
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

/** The figures that need the lines of a row. All are null when the lines were not read. */
function lineFiguresOf(lines: readonly ConceptLine[] | null, outliers: ReadonlySet<ConceptLine>): LineFigures {
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

const PATH = 'analytics/concepts'

const BASIS: Omit<Basis, 'rules'> = {
  formulas: {
    amount: 'Σ (importe − descuento) of the lines of I − Σ of E, in MXN, rounded once for each document',
    share: 'amount ÷ total',
    avg_unit_price: 'Σ amount ÷ Σ cantidad of the lines of I with a quantity',
    price_change_pct: 'avg_unit_price of the last month with prices ÷ that of the first − 1',
    unclassified_share: 'unclassified_amount ÷ total',
    outlier_count:
      'lines of I whose unit price differs from the median of its counterparty and key by more median absolute deviations than ' +
      'concepts.outlier_mad, of concepts.outlier_least lines or more',
  },
  notes: ['Lines of documents without XML or exchange rate are in no figure.'],
}

const tooManyLines = () =>
  invalid('concepts.too_many', [
    {
      path: 'from',
      message: `The range may have at most ${MOST_DOCUMENTS} documents and ${MOST_LINES} lines, because this answer needs the lines. Ask for fewer months.`,
    },
  ])

/**
 * Returns what was bought or sold by product key or description: the header of the whole range, and a page of rows, the largest amount first.
 * At most five D1 calls beside authentication, and one more for documents without an exchange rate. Throws Failure 404, 422 range.invalid,
 * 422 concepts.too_many for descriptions of too many documents, and 400 for a foreign cursor.
 */
export async function getConcepts(ctx: Ctx, query: ConceptsQuery): Promise<Concepts> {
  const { limit, cursor, level, terceros } = query
  const isByLine = level === 'description' || terceros === 'exclude'
  const direction = query.direction
  const insight = await openInsight(ctx, query)
  const { span, rules, ledger } = insight
  const scope: CursorScope = { list: PATH, filters: { ...query, fiscal_entity_id: ledger.fiscal_entity_id } }
  const after = (await openCursor(ctx, scope, cursor)) as readonly [amount: string, key: string] | undefined
  const unclassified = rules.get('concepts.unclassified')
  const side = directionNumber(direction)
  const products = isByLine ? [] : productStatements(ledger, side, span, { digits: digitsOf(level), unclassified })
  const { found, envelope } = await aggregateOf(insight, [...products, ...lineStatements(ledger, side, span)])
  const rows = found.slice(0, products.length).flat() as ProductRow[]
  const read = await linesOf(ctx, found.slice(products.length))
  if (read === null && isByLine) throw tooManyLines()
  const lines = read && linesIn(read, query)
  const sums = isByLine
    ? sumLines(lines!, level, unclassified)
    : sumProducts(
        rows,
        await documentsOf(
          ctx,
          rows.map((row) => row.foreign),
        ),
        level,
        unclassified,
      )
  const outliers = lines === null ? new Set<ConceptLine>() : outliersAmong(lines, rules)
  const shown = sums.concepts.filter((one) => after === undefined || isAfter(one, after)).slice(0, limit + 1)
  const links = conceptLinks(insight, query)
  const byKey = lines && Map.groupBy(lines, (line) => keyOf(line, level))
  const labels =
    level === 'description'
      ? spellings(byKey!)
      : await labelsOf(
          ctx,
          rules,
          shown.flatMap(({ key }) => key || []),
        )
  const page = await paginate(
    ctx,
    scope,
    limit,
    shown,
    ({ amount, key }) => [amount.toString(), key],
    (one) => ({
      ...rowOf(one, links),
      ...lineFiguresOf(byKey && (byKey.get(one.key) ?? []), outliers),
      label: labels.get(one.key) ?? null,
      share: percentOf(one.amount, sums.total),
    }),
  )
  return {
    ...envelope(BASIS, rules, { dof_rate: sums.dof_rate, drilldown: qualityLinks(links) }),
    ...{ direction, level, has_line_figures: lines !== null, total: decimal(sums.total), line_count: lines?.length ?? null },
    third_party_amount: read && decimal(amountOf(read.filter(({ isOfThirdParty }) => isOfThirdParty))),
    ...{ unclassified_amount: decimal(sums.unclassified), unclassified_share: percentOf(sums.unclassified, sums.total) },
    outlier_count: lines && outliers.size,
    drilldown: {
      ...{ total: links.entries('total'), unclassified_amount: links.entries('unclassified_amount') },
      ...(lines ? { outlier_count: links.entries('outliers') } : {}),
    },
    ...page,
  }
}

export const conceptLinks = (
  insight: Insight,
  { direction, level, terceros }: Pick<ConceptsQuery, 'direction' | 'level' | 'terceros'>,
): Links => linksOfSurface(insight, PATH, { direction, level, ...(terceros === 'exclude' ? { terceros } : {}) })

/** The lines that count. */
const linesIn = (lines: readonly ConceptLine[], { terceros }: Pick<ConceptsQuery, 'terceros'>): readonly ConceptLine[] =>
  terceros === 'exclude' ? lines.filter(({ isOfThirdParty }) => !isOfThirdParty) : lines

/** The newest spelling of each description. */
function spellings(byKey: ReadonlyMap<string, readonly ConceptLine[]>): Map<string, string | null> {
  const position = ({ document: { issued_at, uuid } }: ConceptLine): string => `${issued_at}${uuid}`
  return new Map([...byKey].map(([key, lines]) => [key, lines.reduce((a, b) => (position(b) > position(a) ? b : a)).text || null]))
}

type SumFigures = Omit<ConceptRow, keyof ReturnType<typeof lineFiguresOf> | 'label' | 'share'>

function rowOf({ key, amount, invoices, months, parties }: ConceptSum, links: Links): SumFigures {
  const [top] = [...parties].sort(([a, one], [b, other]) =>
    one.amount === other.amount ? (a < b ? -1 : 1) : one.amount > other.amount ? -1 : 1,
  )
  const sorted = [...months].sort(([a], [b]) => (a < b ? -1 : 1))
  return {
    ...{ key: key === '' ? null : key, amount: decimal(amount), invoice_count: invoices, counterparty_count: parties.size },
    top_counterparty: top ? { rfc: top[0], nombre: nameOf(top[1].name), amount: decimal(top[1].amount) } : null,
    by_month: sorted.map(([month, sum]) => ({ month, amount: decimal(sum) })),
    drilldown: {
      ...{ amount: links.entries('amount', { key }), invoice_count: links.entries('invoice_count', { key }) },
      ...Object.fromEntries(sorted.map(([month]) => [`by_month.${month}`, links.entries('amount', { key, month })])),
    },
  }
}

/**
 * Returns a page of the documents behind a figure. At most three D1 calls beside authentication. Throws Failure 422 concepts.too_many where a
 * figure needs the lines of too many documents, and what `getConcepts` throws.
 */
export async function getConceptsEntries(ctx: Ctx, query: ConceptsEntriesQuery): Promise<EntriesPage> {
  const insight = await openEntries(ctx, query)
  const { figure, level, key = '', direction, terceros } = query
  if (isLeftOut(figure)) return pageOfLeftOut(insight, PATH, { ...query, figure })
  const unclassified = insight.rules.get('concepts.unclassified')
  const isOfRow = figure === 'amount' || figure === 'invoice_count'
  if (figure === 'outliers' || (isOfRow && level === 'description') || terceros === 'exclude') {
    // Whether a price is an outlier depends on all lines of the range.
    const lines = linesIn(await readLines(insight, query), query)
    const outliers = figure === 'outliers' ? outliersAmong(lines, insight.rules) : null
    const isMeant = (line: ConceptLine) => {
      if (outliers) return outliers.has(line)
      if (!isOfRow) return figure === 'total' || isAmong(unclassified, line.clave)
      return keyOf(line, level) === key && (figure === 'amount' || line.document.tipo === 'I')
    }
    const entries = byDocument(lines.filter(isMeant)).map(({ document: { uuid, issued_at }, amount }) => ({ uuid, issued_at, amount }))
    return pageOfList(insight, PATH, query, entries)
  }
  const isMeant = isOfRow
    ? (one: string) => one.slice(0, digitsOf(level)) === key
    : figure === 'total'
      ? () => true
      : (one: string) => isAmong(unclassified, one)
  const starts = isOfRow ? [key] : figure === 'total' ? null : unclassified
  const conditions = [
    IN_AMOUNTS,
    figure === 'invoice_count' ? sql`${own.tipo_comprobante} = 'I'` : sql`${own.tipo_comprobante} in ('I', 'E')`,
  ]
  if (starts) conditions.push(hasKey(starts))
  const side = directionNumber(direction)
  return pageOfEntries<EntryRow & { document: string }>(
    insight,
    PATH,
    query,
    (partition, after, take) =>
      newestOf(partition, sql`${foreignJson(side)} as document`, { ...insight.span, direction: side, conditions }, after, take),
    async (rows) => {
      const documents = new Map(
        (
          await documentsOf(
            ctx,
            rows.map(({ document }) => document),
          )
        ).map((one) => [one.uuid, pesosOf(one, ownOf(one, isMeant))]),
      )
      return rows.map(({ uuid }): Micros | null => documents.get(uuid) ?? null)
    },
  )
}

/** The condition that a product key begins with one of these. An empty one means the empty key. */
const hasKey = (starts: readonly string[]): SQL =>
  sql`(${sql.join(
    [
      ...starts.map((start) =>
        start === ''
          ? sql`(${own.products} = '' or ${own.products} like '=%' or ${own.products} like '%,=%')`
          : sql`instr(',' || ${own.products}, ${`,${start}`}) > 0`,
      ),
    ],
    sql` or `,
  )})`

async function readLines({ ctx, ledger, span }: Insight, { direction }: ConceptsEntriesQuery): Promise<ConceptLine[]> {
  const statements = lineStatements(ledger, directionNumber(direction), span)
  const found = statements.length === 0 ? [] : await commit(ledger.d1, statements)
  const lines = await linesOf(
    ctx,
    found.map(({ results }) => results),
  )
  if (lines === null) throw tooManyLines()
  return lines
}
