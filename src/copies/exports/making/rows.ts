import type { KnownDetail } from '../../../cfdi/chunks/content.ts'
import { readContents } from '../../../cfdi/chunks/contents.ts'
import type { Cfdi } from '../../../cfdi/contract.ts'
import type { PageItem } from '../../../cfdi/search/search.ts'
import { view } from '../../../cfdi/view.ts'
import type { ListedParties } from '../../../lists/listed/listed.ts'
import type { Partition, ScopedLedger } from '../../../taxpayers/visibility/scoped-ledger.ts'
import { type LineRow, type PaidDocumentRow, REPEATED, type Repeated } from './columns.ts'

const repeated = (cfdi: Cfdi): Repeated => Object.fromEntries(REPEATED.map((name) => [name, cfdi[name]])) as Repeated

/** The documents of a page by their partitions. */
export const byPartition = (items: readonly PageItem[]): Map<Partition, PageItem[]> =>
  Map.groupBy(items, ({ context }) => context.partition as Partition)

/** The rows of documents, in their order. */
export async function rowsOf(
  ledger: ScopedLedger,
  kind: 'cfdi' | 'conceptos' | 'pagos',
  items: readonly PageItem[],
  listed: ListedParties,
): Promise<unknown[]> {
  if (kind === 'cfdi') return items.map(({ row, context }) => view(row, context, listed))
  const found = new Map<string, unknown[]>()
  const itemOf = new Map(items.map((item) => [item.row.uuid, item]))
  for (const [partition, some] of byPartition(items))
    await readContents(ledger, partition, some, (uuid, content) => {
      const { row, context } = itemOf.get(uuid)!
      const common = repeated(view(row, context, listed))
      found.set(uuid, kind === 'conceptos' ? linesOf(common, content) : paidOf(common, content))
    })
  return items.flatMap(({ row }) => found.get(row.uuid) ?? [])
}

const linesOf = (common: Repeated, { conceptos }: KnownDetail): LineRow[] =>
  conceptos.map((line, n) => ({ ...common, concepto: n + 1, ...line }) as LineRow)

const paidOf = (common: Repeated, { pagos }: KnownDetail): PaidDocumentRow[] =>
  pagos.flatMap(({ documentos, ...pago }, n) => {
    const one: PaidDocumentRow = { ...common, pago: n + 1, ...pago, documento: null }
    if (documentos.length === 0) return [one]
    return documentos.map(({ uuid, serie, folio, ...rest }, at) => ({
      ...one,
      ...{ documento: at + 1, documento_uuid: uuid, serie_dr: serie, folio_dr: folio },
      ...rest,
    }))
  })
