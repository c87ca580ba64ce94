import { labelsOf } from '../../authority/rules/catalogs.ts'
import type { Ctx } from '../../platform/context.ts'
import { invalid } from '../../platform/failures.ts'
import { decimal } from '../../platform/money.ts'
import { type CursorScope, openCursor, paginate } from '../../platform/paging/cursor.ts'
import type { Basis } from '../common/contract.ts'
import { percentOf } from '../common/figures.ts'
import { aggregateOf, type Insight, openInsight } from '../common/insight.ts'
import { type Links, linksOf as linksOfSurface, qualityLinks } from '../common/links.ts'
import { directionNumber, nameOf } from '../common/names.ts'
import type { ConceptRow, Concepts, ConceptsQuery } from './contract.ts'
import { documentsOf } from './documents.ts'
import { type ConceptLine, linesOf, MOST_LINES } from './lines.ts'
import { lineFiguresOf, outliersAmong } from './prices.ts'
import { lineStatements, MOST_DOCUMENTS, type ProductRow, productStatements } from './store.ts'
import { type ConceptSum, digitsOf, isAfter, keyOf, sumLines, sumProducts } from './sums.ts'

export const PATH = 'analytics/concepts'

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

export const tooManyLines = () =>
  invalid('concepts.too_many', [
    {
      path: 'from',
      message: `Must begin a range of at most ${MOST_DOCUMENTS} documents with ${MOST_LINES} lines, because this answer needs the lines. Ask for fewer months.`,
    },
  ])

/**
 * Returns what was bought or sold by product key or description: the header of the whole range, and a page of rows, the largest amount first.
 * At most five D1 calls beside authentication, and one more for documents without an exchange rate. Throws Failure 404, 422 range.invalid,
 * 422 concepts.too_many for descriptions of too many documents, and 400 for a foreign cursor.
 */
export async function getConcepts(ctx: Ctx, query: ConceptsQuery): Promise<Concepts> {
  const { limit, cursor, level } = query
  const direction = query.direction
  const insight = await openInsight(ctx, query)
  const { span, rules, ledger } = insight
  const scope: CursorScope = { list: PATH, filters: { ...query, fiscal_entity_id: ledger.fiscal_entity_id } }
  const after = (await openCursor(ctx, scope, cursor)) as readonly [amount: string, key: string] | undefined
  const unclassified = rules.get('concepts.unclassified')
  const side = directionNumber(direction)
  const products = level === 'description' ? [] : productStatements(ledger, side, span, { digits: digitsOf(level), unclassified })
  const { found, envelope } = await aggregateOf(insight, [...products, ...lineStatements(ledger, side, span)])
  const rows = found.slice(0, products.length).flat() as ProductRow[]
  const lines = await linesOf(ctx, found.slice(products.length))
  if (lines === null && level === 'description') throw tooManyLines()
  const sums =
    level === 'description'
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
    ...{ direction, level, has_line_figures: lines !== null, total: decimal(sums.total), line_count: lines === null ? null : lines.length },
    ...{ unclassified_amount: decimal(sums.unclassified), unclassified_share: percentOf(sums.unclassified, sums.total) },
    outlier_count: lines && outliers.size,
    drilldown: {
      ...{ total: links.entries('total'), unclassified_amount: links.entries('unclassified_amount') },
      ...(lines ? { outlier_count: links.entries('outliers') } : {}),
    },
    ...page,
  }
}

export const conceptLinks = (insight: Insight, { direction, level }: Pick<ConceptsQuery, 'direction' | 'level'>): Links =>
  linksOfSurface(insight, PATH, { direction, level })

/** The newest spelling of each description. */
function spellings(byKey: ReadonlyMap<string, readonly ConceptLine[]>): Map<string, string | null> {
  const place = ({ document: { issued_at, uuid } }: ConceptLine): string => `${issued_at}${uuid}`
  return new Map([...byKey].map(([key, lines]) => [key, lines.reduce((a, b) => (place(b) > place(a) ? b : a)).text || null]))
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
