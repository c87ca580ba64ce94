import { type SQL, sql } from 'drizzle-orm'
import { own } from '../../cfdi/population/aliases.ts'
import type { Ctx } from '../../platform/context.ts'
import { prepared } from '../../platform/db/statement.ts'
import type { Micros } from '../../platform/money.ts'
import type { EntriesPage } from '../common/contract.ts'
import { type EntryRow, pageOfEntries, pageOfList } from '../common/entries.ts'
import { type Insight, openEntries } from '../common/insight.ts'
import { isLeftOut, newestOf, pageOfLeftOut } from '../common/left-out.ts'
import { directionNumber } from '../common/names.ts'
import { PATH, tooManyLines } from './concepts.ts'
import type { ConceptsEntriesQuery } from './contract.ts'
import { documentsOf, ownOf, pesosOf } from './documents.ts'
import { byDocument, type ConceptLine, linesOf } from './lines.ts'
import { outliersAmong } from './prices.ts'
import { foreignJson, IN_AMOUNTS, lineStatements } from './store.ts'
import { digitsOf, isAmong, keyOf } from './sums.ts'

/**
 * Returns a page of the documents behind a figure. At most three D1 calls beside authentication. Throws Failure 422 concepts.too_many where a
 * figure needs the lines of too many documents, and what `getConcepts` throws.
 */
export async function getConceptsEntries(ctx: Ctx, query: ConceptsEntriesQuery): Promise<EntriesPage> {
  const insight = await openEntries(ctx, query)
  const { figure, level, key = '', direction } = query
  if (isLeftOut(figure)) return pageOfLeftOut(insight, PATH, { ...query, figure })
  const unclassified = insight.rules.get('concepts.unclassified')
  const isOfRow = figure === 'amount' || figure === 'invoice_count'
  if (figure === 'outliers' || (isOfRow && level === 'description')) {
    // Whether a price is an outlier depends on all lines of the range.
    const lines = await readLines(insight, query)
    const outliers = figure === 'outliers' ? outliersAmong(lines, insight.rules) : null
    const isMeant = (line: ConceptLine) =>
      outliers ? outliers.has(line) : keyOf(line, level) === key && (figure === 'amount' || line.document.tipo === 'I')
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

/** The condition that a product key begins so. Without a beginning it is the empty key. */
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
  const found = statements.length === 0 ? [] : await ledger.d1.batch(statements.map((one) => prepared(ledger.d1, one)))
  const lines = await linesOf(
    ctx,
    found.map(({ results }) => results),
  )
  if (lines === null) throw tooManyLines()
  return lines
}
