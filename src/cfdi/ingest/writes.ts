import { getTableName } from 'drizzle-orm'
import type { SQLiteTable } from 'drizzle-orm/sqlite-core'
import { jsonChunks } from '../../platform/db/commit.ts'
import type { Balance } from '../balances.ts'
import { formChunks } from '../chunks/chunks.ts'
import { type ApplicationRow, type CfdiRow, columnsOf } from '../columns.ts'
import { type Touched, writeTouched } from '../commits/touched.ts'
import type { Substitution, SubstitutionState } from '../substitution.ts'
import { cfdi, cfdiPayments, cfdiSubstitutions } from '../tables.ts'
import type { XmlPlace } from '../xml/xml-store.ts'
import type { StoredMonth, StoredSuppliers } from './reads.ts'
import type { StatusColumns } from './row.ts'

/** Everything that one slice writes into a partition. */
export interface SliceWrites {
  /** Documents that are taken out, and the invoices to which they are applied. */
  removed: { uuid: string; invoices: string[] }[]
  /** Documents whose XML is the same, in another object. */
  moved: ({ uuid: string; held: string } & XmlPlace)[]
  /** Parts of holdings that are added to those of stored documents. */
  held: { uuid: string; held: string }[]
  /** New documents, and documents that were known from metadata only. */
  documents: { row: CfdiRow; content: string | null }[]
  /** What is left of the chunks of documents that are taken out; null for nothing. */
  chunks: { chunk: number; data: string | null }[]
  /** Those of the latter that differ from their metadata in an indexed column. */
  reindexed: CfdiRow[]
  applications: ApplicationRow[]
  /** The relations 04 of the new documents. */
  substitutions: Substitution[]
  /** Stored documents with another place among substitutions. */
  substituted: ({ uuid: string } & SubstitutionState)[]
  cancelled: ({ uuid: string } & StatusColumns)[]
  /** Stored invoices with a changed balance, and whether the payment status changed too. */
  balances: ({ uuid: string; isStatusChanged: boolean } & Balance)[]
  /** What the commit names for those that mirror the partition, besides the documents that it writes. */
  turned: Required<Pick<Touched, 'substituted' | 'balances'>>
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
 * are indexed and are updated only when they differ, since each costs an index row (ingest.md 6.6).
 */
const KEPT: ReadonlySet<string> = new Set([
  ...['uuid', 'direction', 'cancelled', 'estatus', 'issued_at', 'utc_offset', 'fecha', 'tipo_comprobante', 'emisor_rfc', 'receptor_rfc'],
  ...['counterparty_rfc', 'held', 'cancelled_at', 'cancellation_reason', 'folio_sustitucion', 'substituted_from', 'substitutes_from'],
  'status_checks',
  'stored_by',
])

/**
 * Inserts a JSON list of lists, with the entity as a parameter. The limit keeps SQLite from merging the two selects, which would write out
 * each element once for every column; with it the insert takes half the time.
 */
const insert = (table: SQLiteTable, conflict: string): string =>
  `insert into ${getTableName(table)} (entity, ${columnsOf(table).join(', ')})
   select ?1, ${columnsOf(table)
     .map((_, i) => `value->>${i}`)
     .join(', ')} from (select value from json_each(?2) limit -1) where true on conflict ${conflict}`

/** The whole key comes out of the JSON: with the entity as a parameter, the planner would walk the whole partition (ingest.md 6.1). */
const update = (names: readonly string[], condition = ''): string =>
  `update cfdi set ${names.map((name) => `${name} = j.${name}`).join(', ')}
   from (select value->>0 as e, value->>1 as u, ${names.map((name, i) => `value->>${i + 2} as ${name}`).join(', ')} from json_each(?1)) j
   where cfdi.entity = j.e and cfdi.uuid = j.u ${condition}`

const CFDI = columnsOf(cfdi)
const APPLICATIONS = columnsOf(cfdiPayments)
const INDEXED = ['direction', 'issued_at', 'utc_offset', 'fecha', 'tipo_comprobante', 'emisor_rfc', 'receptor_rfc', 'counterparty_rfc']
const SUBSTITUTED = ['substituted_from', 'substitutes_from']
const STATUS = ['estatus', 'cancelled', 'cancelled_at', 'cancellation_reason', 'folio_sustitucion', 'updated_at']
const BALANCE = ['paid', 'credited', 'last_payment_at', 'fully_paid_at', 'applied_until']
const PLACE = ['xml_object', 'xml_offset', 'xml_length', 'xml_method', 'held']
const BALANCE_AND_STATUS = [...BALANCE, 'payment_status']

const UPSERT_CFDI = insert(
  cfdi,
  `(entity, uuid) do update set ${CFDI.filter((name) => !KEPT.has(name))
    .map((name) => `${name} = excluded.${name}`)
    .join(', ')} where cfdi.xml_object is null and excluded.xml_object is not null`,
)
const INSERT_APPLICATIONS = insert(cfdiPayments, 'do nothing')
const UPDATE_INDEXED = update(INDEXED)
const CANCEL = update(STATUS, 'and (cfdi.cancelled = 0 or cfdi.cancelled_at is null)')
const UPDATE_BALANCE = update(BALANCE)
const UPDATE_BALANCE_AND_STATUS = update(BALANCE_AND_STATUS)
const INSERT_SUBSTITUTIONS = insert(cfdiSubstitutions, 'do nothing')
const UPDATE_SUBSTITUTED = update(SUBSTITUTED)
const MOVE = update(PLACE)
const HOLD = `update cfdi set held = cfdi.held || ',' || j.held from (select value->>0 as e, value->>1 as u, value->>2 as held from json_each(?1)) j
   where cfdi.entity = j.e and cfdi.uuid = j.u`
const DELETE_CFDI = 'delete from cfdi where entity = ?1 and uuid in (select value from json_each(?2))'
const UPSERT_CHUNKS = `insert into cfdi_chunks (entity, chunk, data) select ?1, value->>0, unhex(value->>1) from json_each(?2) where true
   on conflict (entity, chunk) do update set data = excluded.data`
const DELETE_CHUNKS = 'delete from cfdi_chunks where entity = ?1 and chunk in (select value from json_each(?2))'
const INSERT_COMMIT = 'insert into cfdi_commits (entity, sequence, committed_at, touched) values (?1, ?2, ?3, unhex(?4))'
const DELETE_APPLICATIONS = `delete from cfdi_payments
   where (entity, invoice, source) in (select ?1, value->>0, value->>1 from json_each(?2))`
const DELETE_SUBSTITUTIONS = 'delete from cfdi_substitutions where entity = ?1 and source in (select value from json_each(?2))'
const DELETE_MONTHS = 'delete from cfdi_months where (entity, month, direction) in (select ?1, value->>0, value->>1 from json_each(?2))'
const DELETE_SUPPLIERS = 'delete from cfdi_suppliers where (entity, month, part) in (select ?1, value->>0, value->>1 from json_each(?2))'
const UPSERT_MONTHS = `insert into cfdi_months (entity, month, direction, sums, cells, products)
   select ?1, value->>0, value->>1, value->>2, value->>3, value->>4 from json_each(?2) where true
   on conflict (entity, month, direction) do update set sums = excluded.sums, cells = excluded.cells, products = excluded.products`
const UPSERT_SUPPLIERS = `insert into cfdi_suppliers (entity, month, part, totals)
   select ?1, value->>0, value->>1, value->>2 from json_each(?2) where true
   on conflict (entity, month, part) do update set totals = excluded.totals`

/** The statements of one slice, beginning with its commit. `now` in milliseconds. */
export function writeStatements(
  ledger: D1Database,
  { entity, rfc, sequence }: NextCommit,
  writes: SliceWrites,
  now: number,
): D1PreparedStatement[] {
  const intoPartition = (sql: string, rows: Iterable<unknown>) => jsonChunks(rows).map((chunk) => ledger.prepare(sql).bind(entity, chunk))
  const byKey = (sql: string, names: readonly string[], rows: readonly { uuid: string }[]) =>
    jsonChunks(rows.map((row) => [entity, row.uuid, ...valuesOf(names, { updated_at: now, ...row })])).map((chunk) =>
      ledger.prepare(sql).bind(chunk),
    )
  const { removed, moved, documents, reindexed, applications, substitutions, substituted, cancelled, balances } = writes
  const formed = formChunks(documents, sequence)
  const [kept, emptyChunks] = separate(writes.chunks, ({ data }) => data !== null)
  const gone = named(removed)
  for (const { row } of documents) row.stored_by = sequence
  const [months, emptyMonths] = separate(writes.months, ({ cells }) => cells !== '{}')
  const [suppliers, emptySuppliers] = separate(writes.suppliers, ({ totals }) => totals !== '{}')
  return [
    // The fence: it refuses a batch that was computed before another commit took the sequence.
    ledger
      .prepare(INSERT_COMMIT)
      .bind(
        entity,
        sequence,
        now,
        writeTouched({ ...writes.turned, stored: named(documents.map(({ row }) => row)), removed: gone, cancelled: named(cancelled) }),
      ),
    ...(sequence === 1
      ? [ledger.prepare('insert into entities (entity, rfc) values (?1, ?2) on conflict do nothing').bind(entity, rfc)]
      : []),
    ...intoPartition(DELETE_CFDI, gone),
    ...intoPartition(
      DELETE_CHUNKS,
      emptyChunks.map(({ chunk }) => chunk),
    ),
    ...intoPartition(
      DELETE_APPLICATIONS,
      removed.flatMap(({ uuid, invoices }) => invoices.map((invoice) => [invoice, uuid])),
    ),
    ...intoPartition(DELETE_SUBSTITUTIONS, gone),
    ...byKey(MOVE, PLACE, moved),
    ...intoPartition(
      UPSERT_CFDI,
      documents.values().map(({ row }) => valuesOf(CFDI, row)),
    ),
    ...byKey(UPDATE_INDEXED, INDEXED, reindexed),
    ...intoPartition(
      UPSERT_CHUNKS,
      [...formed, ...kept].map(({ chunk, data }) => [chunk, data]),
    ),
    ...intoPartition(
      INSERT_APPLICATIONS,
      applications.values().map((row) => valuesOf(APPLICATIONS, row)),
    ),
    ...intoPartition(
      INSERT_SUBSTITUTIONS,
      substitutions.map(({ substituted, source }) => [substituted, source]),
    ),
    ...byKey(HOLD, ['held'], writes.held),
    ...byKey(UPDATE_SUBSTITUTED, SUBSTITUTED, substituted),
    ...byKey(CANCEL, STATUS, cancelled),
    ...byKey(
      UPDATE_BALANCE,
      BALANCE,
      balances.filter(({ isStatusChanged }) => !isStatusChanged),
    ),
    ...byKey(
      UPDATE_BALANCE_AND_STATUS,
      BALANCE_AND_STATUS,
      balances.filter(({ isStatusChanged }) => isStatusChanged),
    ),
    ...intoPartition(
      UPSERT_MONTHS,
      months.map(({ month, direction, sums, cells, products }) => [month, direction, sums, cells, products]),
    ),
    ...intoPartition(
      UPSERT_SUPPLIERS,
      suppliers.map(({ month, part, totals }) => [month, part, totals]),
    ),
    ...intoPartition(
      DELETE_MONTHS,
      emptyMonths.map(({ month, direction }) => [month, direction]),
    ),
    ...intoPartition(
      DELETE_SUPPLIERS,
      emptySuppliers.map(({ month, part }) => [month, part]),
    ),
  ]
}

const named = (rows: readonly { uuid: string }[]): string[] => rows.map(({ uuid }) => uuid)

/**
 * Deletes a partition's commits before an instant, but for the last one, which fences the next. Whoever mirrors it and has not read that
 * yet reads all of it.
 */
export const deleteCommits = (ledger: D1Database, entity: number, before: number): D1PreparedStatement =>
  ledger
    .prepare(`delete from cfdi_commits where entity = ?1 and committed_at < ?2
     and sequence < (select max(sequence) from cfdi_commits where entity = ?1)`)
    .bind(entity, before)

const separate = <T>(list: readonly T[], isFirst: (one: T) => boolean): [T[], T[]] => [
  list.filter(isFirst),
  list.filter((one) => !isFirst(one)),
]

const valuesOf = (names: readonly string[], row: object): unknown[] =>
  names.map((name) => {
    const column = (row as Record<string, unknown>)[name]
    return typeof column === 'bigint' ? column.toString() : column
  })
