import { getTableColumns, type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core'
import { jsonChunks } from '../../platform/db/commit.ts'
import { bare } from '../../platform/db/statement.ts'
import { formChunks } from '../chunks/chunks.ts'
import { type ApplicationRow, type CfdiRow, COLUMNS, columnsOf, inRow, isIn, isLong, listOf, MOST_IN_ROW } from '../columns.ts'
import { type Touched, writeTouched } from '../commits.ts'
import {
  cfdi,
  cfdiAdvances,
  cfdiChunks,
  cfdiCommits,
  cfdiMonths,
  cfdiPayments,
  cfdiRelated,
  cfdiSubstitutions,
  cfdiSuppliers,
  entities,
} from '../tables.ts'
import type { Balance, Substitution, SubstitutionState } from '../totals.ts'
import type { XmlLocation } from '../xml/xml-store.ts'
import type { Advance, StoredMonth, StoredSuppliers } from './reads.ts'
import type { StatusColumns } from './row.ts'

/** Everything that one slice writes into a partition. */
export interface SliceWrites {
  /** Documents that are taken out, and the invoices to which they are applied. */
  removed: { uuid: string; invoices: string[] }[]
  /** Documents whose XML is the same, in another object. */
  moved: ({ uuid: string; stored: string } & XmlLocation)[]
  /** Parts of import sources that are added to those of stored documents. */
  stored: { uuid: string; stored: string }[]
  /** New documents, and documents that were known from metadata only. */
  documents: { row: CfdiRow; content: string | null }[]
  /** The rest of the chunks of documents that are taken out; null for nothing. */
  chunks: { chunk: number; data: string | null }[]
  /** Rows known from metadata only that the XML changes in an indexed column. */
  reindexed: CfdiRow[]
  applications: ApplicationRow[]
  /**
   * Stored credit notes that lower other invoices than before, or by other amounts: the least ceiling that shows it, the invoices that they
   * lowered so far, and what they apply now.
   */
  redirected: { uuid: string; from: number; related: string; gone: string[]; applications: ApplicationRow[] }[]
  /** Stored invoices of which payments in form 30 move another part beyond their advances. */
  beyond: ({ uuid: string } & Pick<CfdiRow, 'beyond_advances'>)[]
  /** Stored credit notes that may count on another day than their own. */
  marked: ({ uuid: string } & Pick<CfdiRow, 'first_paid_on' | 'last_paid_on'>)[]
  /** The relations 04 of the new documents. */
  substitutions: Substitution[]
  /** The relations 07 of the new documents. */
  advances: Advance[]
  /** Stored documents with another place among substitutions. */
  substituted: ({ uuid: string } & SubstitutionState)[]
  cancelled: ({ uuid: string } & StatusColumns)[]
  /** Stored invoices with a changed balance, and whether the payment status changed too. */
  balances: ({ uuid: string; isStatusChanged: boolean } & Balance)[]
  /** The documents that the commit names for those that mirror the partition, besides those that it writes. */
  turned: Required<Pick<Touched, 'substituted' | 'balances' | 'advanced'>>
  months: (StoredMonth & { sums: string })[]
  suppliers: StoredSuppliers[]
}

/** The commit that comes next in a partition as it was read. */
export interface NextCommit {
  entity: number
  rfc: string
  sequence: number
}

/**
 * The columns that the XML does not overwrite in a row known from metadata. They are set once, or only the authority changes them, or they
 * are indexed and are updated only when they differ, since each costs an index row.
 */
const KEPT: readonly (keyof CfdiRow)[] = [
  ...(['uuid', 'direction', 'cancelled', 'estatus', 'issued_at', 'utc_offset', 'fecha', 'tipo_comprobante', 'emisor_rfc'] as const),
  ...(['receptor_rfc', 'counterparty_rfc', 'stored', 'cancelled_at', 'cancellation_reason', 'folio_sustitucion'] as const),
  ...(['substituted_from', 'substitutes_from', 'status_checks', 'stored_by'] as const),
]

/** Writes or deletes rows of a partition, which a JSON list gives. */
type Write = (entity: number, json: string) => SQL
type Partitioned = SQLiteTable & { entity: SQLiteColumn }
type Columns = readonly SQLiteColumn[]

const columnsIn = (table: SQLiteTable): Columns => Object.values(getTableColumns(table))
const names = (columns: Columns): SQL => listOf(columns.map(bare))
const replacing = (key: Columns, others: Columns): SQL =>
  sql`(${names(key)}) do update set ${listOf(others.map((one) => sql`${bare(one)} = excluded.${bare(one)}`))}`

/** Inserts lists of the values that follow the entity. */
const insert = (table: SQLiteTable, conflict: SQL, rowsOf = (json: string) => sql`json_each(${json})`): Write => {
  const columns = columnsIn(table)
  const values = sql.raw(Array.from(columns.slice(1), (_, i) => `value->>${i}`).join(', '))
  return (entity, json) =>
    sql`insert into ${table} (${names(columns)}) select ${entity}, ${values} from ${rowsOf(json)} where true on conflict ${conflict}`
}

/**
 * The rows of the tables with the most of them. The limit keeps SQLite from merging the two selects, which would write out each element once
 * for every column; with it the insert takes half the time.
 */
const oneByOne = (json: string): SQL => sql`(select value from json_each(${json}) limit -1)`

const deleteNamed =
  (table: Partitioned, column: SQLiteColumn): Write =>
  (entity, json) =>
    sql`delete from ${table} where ${table.entity} = ${entity} and ${column} in (select value from json_each(${json}))`
const deletePairs =
  (table: Partitioned, ...[first, second]: readonly [SQLiteColumn, SQLiteColumn]): Write =>
  (entity, json) =>
    sql`delete from ${table} where (${table.entity}, ${first}, ${second}) in (select ${entity}, value->>0, value->>1 from json_each(${json}))`

const setTo = (name: keyof CfdiRow): SQL => sql`${bare(cfdi[name])} = j.${bare(cfdi[name])}`

/** The whole key comes out of the JSON: with the entity as a parameter, the planner would walk the whole partition. */
const update =
  (columns: readonly (keyof CfdiRow)[], condition = sql``, set = listOf(columns.map(setTo))) =>
  (json: string): SQL =>
    sql`update ${cfdi} set ${set} from (
        select value->>0 as e, value->>1 as u, ${listOf(columns.map((name, i) => sql`${sql.raw(`value->>${i + 2}`)} as ${bare(cfdi[name])}`))}
        from json_each(${json})) j
      where ${cfdi.entity} = j.e and ${cfdi.uuid} = j.u ${condition}`

const APPLICATIONS = columnsOf(cfdiPayments)
const INDEXED = [
  ...(['direction', 'issued_at', 'utc_offset', 'fecha', 'tipo_comprobante', 'emisor_rfc', 'receptor_rfc', 'counterparty_rfc'] as const),
]
const SUBSTITUTED = ['substituted_from', 'substitutes_from'] as const
const STATUS = ['estatus', 'cancelled', 'cancelled_at', 'cancellation_reason', 'folio_sustitucion', 'updated_at'] as const
const BALANCE = ['paid', 'credited', 'last_payment_at', 'fully_paid_at', 'applied_until'] as const
const LOCATION = ['xml_object', 'xml_offset', 'xml_length', 'xml_method', 'stored'] as const
const BALANCE_AND_STATUS = [...BALANCE, 'payment_status'] as const

const OVERWRITTEN = COLUMNS.filter((name) => !isIn(KEPT, name)).map((name) => cfdi[name])
const upsertCfdi = insert(
  cfdi,
  sql`${replacing([cfdi.entity, cfdi.uuid], OVERWRITTEN)}
    where ${cfdi.xml_object} is null and excluded.${bare(cfdi.xml_object)} is not null`,
  oneByOne,
)
const insertApplications = insert(cfdiPayments, sql`do nothing`, oneByOne)
const updateRelated = update(['related'])
const insertRelated = insert(cfdiRelated, replacing([cfdiRelated.entity, cfdiRelated.uuid], [cfdiRelated.related]))
const deleteRelated = deleteNamed(cfdiRelated, cfdiRelated.uuid)
const updateBeyond = update(['beyond_advances'])
const MARKED = ['first_paid_on', 'last_paid_on'] as const
const updateMarked = update(
  MARKED,
  sql``,
  sql`${setTo('first_paid_on')}, ${bare(cfdi.last_paid_on)} = max(coalesce(${cfdi.last_paid_on}, ''), j.${bare(cfdi.last_paid_on)})`,
)
const insertAdvances = insert(cfdiAdvances, sql`do nothing`, oneByOne)
const insertSubstitutions = insert(cfdiSubstitutions, sql`do nothing`, oneByOne)
const updateIndexed = update(INDEXED)
const cancel = update(STATUS, sql`and (${cfdi.cancelled} = 0 or ${cfdi.cancelled_at} is null)`)
const updateBalance = update(BALANCE)
const updateBalanceAndStatus = update(BALANCE_AND_STATUS)
const updateSubstituted = update(SUBSTITUTED)
const move = update(LOCATION)
const hold = update(['stored'], sql``, sql`${bare(cfdi.stored)} = ${cfdi.stored} || ',' || j.${bare(cfdi.stored)}`)
const deleteCfdi = deleteNamed(cfdi, cfdi.uuid)
const upsertChunks: Write = (entity, json) =>
  sql`insert into ${cfdiChunks} (${names(columnsIn(cfdiChunks))}) select ${entity}, value->>0, unhex(value->>1) from json_each(${json}) where true
    on conflict ${replacing([cfdiChunks.entity, cfdiChunks.chunk], [cfdiChunks.data])}`
const deleteChunks = deleteNamed(cfdiChunks, cfdiChunks.chunk)
const deleteApplications = deletePairs(cfdiPayments, cfdiPayments.invoice, cfdiPayments.source)
const deleteAdvances = deleteNamed(cfdiAdvances, cfdiAdvances.source)
const deleteSubstitutions = deleteNamed(cfdiSubstitutions, cfdiSubstitutions.source)
const deleteMonths = deletePairs(cfdiMonths, cfdiMonths.month, cfdiMonths.direction)
const deleteSuppliers = deletePairs(cfdiSuppliers, cfdiSuppliers.month, cfdiSuppliers.part)
const upsertMonths = insert(
  cfdiMonths,
  replacing([cfdiMonths.entity, cfdiMonths.month, cfdiMonths.direction], [cfdiMonths.sums, cfdiMonths.cells, cfdiMonths.products]),
)
const upsertSuppliers = insert(
  cfdiSuppliers,
  replacing([cfdiSuppliers.entity, cfdiSuppliers.month, cfdiSuppliers.part], [cfdiSuppliers.totals]),
)

/** The statements of one slice, beginning with its commit. `now` in milliseconds. */
export function writeStatements({ entity, rfc, sequence }: NextCommit, writes: SliceWrites, now: number): SQL[] {
  const intoPartition = (write: Write, rows: Iterable<unknown>) => jsonChunks(rows).map((json) => write(entity, json))
  const byKey = (write: (json: string) => SQL, columns: readonly string[], rows: readonly { uuid: string }[]) =>
    jsonChunks(rows.map((row) => [entity, row.uuid, ...valuesOf(columns, { updated_at: now, ...row })])).map((json) => write(json))
  const { removed, moved, documents, reindexed, applications, substitutions, substituted, cancelled, balances, redirected } = writes
  const formed = formChunks(documents, sequence)
  const [kept, emptyChunks] = partitioned(writes.chunks, ({ data }) => data !== null)
  const gone = named(removed)
  const changed = [...removed.map(({ uuid, invoices }) => ({ uuid, gone: invoices })), ...redirected]
  const naming = [...documents.map(({ row }) => row), ...redirected]
  const stored = named(documents.map(({ row }) => row))
  const touched = writeTouched({ ...writes.turned, stored, removed: gone, cancelled: named(cancelled) })
  for (const { row } of documents) row.stored_by = sequence
  const [months, emptyMonths] = partitioned(writes.months, ({ cells }) => cells !== '{}')
  const [suppliers, emptySuppliers] = partitioned(writes.suppliers, ({ totals }) => totals !== '{}')
  return [
    // The fence: it refuses a batch that was computed before another commit took the sequence.
    sql`insert into ${cfdiCommits} (${names(columnsIn(cfdiCommits))}) values (${entity}, ${sequence}, ${now}, unhex(${touched}))`,
    ...(sequence === 1
      ? [sql`insert into ${entities} (${names([entities.entity, entities.rfc])}) values (${entity}, ${rfc}) on conflict do nothing`]
      : []),
    ...intoPartition(deleteCfdi, gone),
    ...intoPartition(
      deleteChunks,
      emptyChunks.map(({ chunk }) => chunk),
    ),
    ...intoPartition(
      deleteApplications,
      changed.flatMap((one) => one.gone.map((invoice) => [invoice, one.uuid])),
    ),
    ...intoPartition(deleteRelated, named(changed.filter((one) => one.gone.length > MOST_IN_ROW))),
    ...intoPartition(deleteSubstitutions, gone),
    ...intoPartition(deleteAdvances, gone),
    ...byKey(move, LOCATION, moved),
    ...intoPartition(
      upsertCfdi,
      documents.values().map(({ row }) => valuesOf(COLUMNS, inRow(row))),
    ),
    ...byKey(updateIndexed, INDEXED, reindexed),
    ...intoPartition(
      upsertChunks,
      [...formed, ...kept].map(({ chunk, data }) => [chunk, data]),
    ),
    ...intoPartition(
      insertApplications,
      [...applications, ...redirected.flatMap((one) => one.applications)].values().map((row) => valuesOf(APPLICATIONS, row)),
    ),
    ...byKey(updateRelated, ['related'], redirected.map(inRow)),
    ...intoPartition(
      insertRelated,
      naming.filter(({ related }) => isLong(related)).map(({ uuid, related }) => [uuid, related]),
    ),
    ...byKey(updateMarked, MARKED, writes.marked),
    ...byKey(updateBeyond, ['beyond_advances'], writes.beyond),
    ...intoPartition(
      insertAdvances,
      writes.advances.map(({ advance, source }) => [advance, source]),
    ),
    ...intoPartition(
      insertSubstitutions,
      substitutions.map(({ substituted, source }) => [substituted, source]),
    ),
    ...byKey(hold, ['stored'], writes.stored),
    ...byKey(updateSubstituted, SUBSTITUTED, substituted),
    ...byKey(cancel, STATUS, cancelled),
    ...byKey(
      updateBalance,
      BALANCE,
      balances.filter(({ isStatusChanged }) => !isStatusChanged),
    ),
    ...byKey(
      updateBalanceAndStatus,
      BALANCE_AND_STATUS,
      balances.filter(({ isStatusChanged }) => isStatusChanged),
    ),
    ...intoPartition(
      upsertMonths,
      months.map(({ month, direction, sums, cells, products }) => [month, direction, sums, cells, products]),
    ),
    ...intoPartition(
      upsertSuppliers,
      suppliers.map(({ month, part, totals }) => [month, part, totals]),
    ),
    ...intoPartition(
      deleteMonths,
      emptyMonths.map(({ month, direction }) => [month, direction]),
    ),
    ...intoPartition(
      deleteSuppliers,
      emptySuppliers.map(({ month, part }) => [month, part]),
    ),
  ]
}

const named = (rows: readonly { uuid: string }[]): string[] => rows.map(({ uuid }) => uuid)

/**
 * Deletes a partition's commits before an instant, but for the last one, which fences the next. Whoever mirrors it and has not read that
 * yet reads all of it.
 */
export const deleteCommits = (entity: number, before: number): SQL =>
  sql`delete from ${cfdiCommits} where ${cfdiCommits.entity} = ${entity} and ${cfdiCommits.committed_at} < ${before}
      and ${cfdiCommits.sequence} < (select max(${cfdiCommits.sequence}) from ${cfdiCommits} where ${cfdiCommits.entity} = ${entity})`

const partitioned = <T>(list: readonly T[], isFirst: (one: T) => boolean): [T[], T[]] => [
  list.filter(isFirst),
  list.filter((one) => !isFirst(one)),
]

const valuesOf = (names: readonly string[], row: object): unknown[] =>
  names.map((name) => {
    const column = (row as Record<string, unknown>)[name]
    return typeof column === 'bigint' ? column.toString() : column
  })
