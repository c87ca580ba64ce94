import { sql } from 'drizzle-orm'
import { commit } from '../../platform/db/commit.ts'
import { all, bare, readRows } from '../../platform/db/statement.ts'
import { isVisible, type Partition, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { type CfdiRow, cfdiAs, listOf } from '../columns.ts'
import { cfdi, cfdiCommits } from '../tables.ts'
import type { XmlLocation } from '../xml/xml-store.ts'
import { type VisibleRange, type VisibleRangePosition, within } from './visible-ranges.ts'

const c = cfdiAs('c')

const COLUMNS = [
  ...(['uuid', 'direction', 'issued_at', 'fecha', 'kind', 'tipo_comprobante', 'emisor_rfc', 'receptor_rfc', 'chunk', 'stored_by'] as const),
  ...(['estatus', 'cancelled_at', 'cancellation_reason', 'folio_sustitucion'] as const),
  ...(['xml_object', 'xml_offset', 'xml_length', 'xml_method', 'xml_size'] as const),
]
const SELECT = listOf(COLUMNS.map((name) => c[name]))

/** A visible document, as those that mirror the partition see it. Without its XML, the last six are null. */
export type MirroredRow = Pick<CfdiRow, Exclude<(typeof COLUMNS)[number], keyof XmlLocation>> & {
  [Name in keyof XmlLocation]: XmlLocation[Name] | null
}

/** Rows that one statement reads. It is written into the text, because a bound limit makes SQLite prepare the statement again. */
export const ROWS = 250

/** Reads the visible documents of a visible range after a position, at most ROWS. */
export async function readVisibleRange(
  { d1 }: ScopedLedger,
  partition: Partition,
  visibleRange: VisibleRange,
  after: VisibleRangePosition | null,
): Promise<MirroredRow[]> {
  const of = (cancelled: 0 | 1) =>
    sql`select ${SELECT} from ${cfdi} ${c} indexed by cfdi_dirc
      where ${all([isVisible(partition, 'c'), sql`${c.cancelled} = ${cancelled}`, ...within(visibleRange, after)])}`
  return await readRows(
    d1,
    sql<MirroredRow>`${of(0)} union all ${of(1)} order by ${bare(c.issued_at)}, ${bare(c.uuid)} limit ${sql.raw(String(ROWS))}`,
  )
}

/** Counts the visible documents with an XML in visible ranges, by the chunks in which they are: from the first, and before the last. */
export async function countVisibleRanges(
  { d1 }: ScopedLedger,
  partition: Partition,
  visibleRanges: readonly VisibleRange[],
  [from, before]: readonly [number, number],
): Promise<number> {
  const results = await commit<{ n: number }>(
    d1,
    visibleRanges.map(
      (visibleRange) =>
        sql`select count(*) as n from ${cfdi} ${c} indexed by cfdi_dirc where ${all([
          isVisible(partition, 'c'),
          sql`${c.cancelled} in (0, 1)`,
          ...within(visibleRange, null),
          sql`${c.chunk} >= ${from} and ${c.chunk} < ${before}`,
        ])}`,
    ),
  )
  return results.reduce((sum, { results: [row] }) => sum + row!.n, 0)
}

/** Finds the visible ones of these documents. */
export const findVisible = async ({ d1 }: ScopedLedger, partition: Partition, uuids: readonly string[]): Promise<MirroredRow[]> =>
  await readRows(
    d1,
    sql<MirroredRow>`select ${SELECT} from json_each(${JSON.stringify(uuids)}) j cross join ${cfdi} ${c} where ${c.uuid} = j.value and ${isVisible(partition, 'c')}`,
  )

/** A commit of a partition. `touched` is for `readTouched`. */
export interface CommitRow {
  sequence: number
  touched: string
}

const { entity, sequence, touched } = cfdiCommits

/** Reads the first commits of a partition after one, up to another. Of a partition without visible documents there is none to read. */
export const readCommits = async ({ d1 }: ScopedLedger, { number }: Partition, after: number, until: number): Promise<CommitRow[]> =>
  await readRows(
    d1,
    sql<CommitRow>`select ${sequence}, hex(${touched}) as touched from ${cfdiCommits}
        where ${entity} = ${number} and ${sequence} > ${after} and ${sequence} <= ${until} order by ${sequence} limit 10`,
  )
