import { getTableColumns, getTableName } from 'drizzle-orm'
import type { SQLiteTable } from 'drizzle-orm/sqlite-core'
import { jsonChunks } from '../../platform/db/commit.ts'
import type { Balance } from '../balances.ts'
import { cfdi, cfdiLines, cfdiPayments } from '../tables.ts'
import type { ApplicationRow } from './applications.ts'
import type { MonthRow, SupplierRow } from './reads.ts'
import type { CfdiRow, LineRow, Status } from './row.ts'

/** All that one slice changes in a book. */
export interface Writes {
  /** New documents, and those of which metadata alone was known. */
  rows: CfdiRow[]
  /** Of the latter, those whose XML differs from their metadata in an indexed column. */
  moved: CfdiRow[]
  lines: LineRow[]
  applications: ApplicationRow[]
  cancelled: ({ uuid: string } & Status)[]
  /** Stored invoices whose balance changes. */
  balances: ({ uuid: string; turned: boolean } & Balance)[]
  months: MonthRow[]
  suppliers: SupplierRow[]
}

export interface Book {
  entity: number
  rfc: string
  /** As it was read; null when the book has no row yet. */
  version: number | null
}

/** Micros are text on their way, for JSON's numbers end at 2^53. */
const MICROS: ReadonlySet<string> = new Set([
  ...['total_micros', 'iva_trasladado', 'iva_retenido', 'isr_retenido', 'ieps_trasladado', 'total_mxn', 'paid', 'credited', 'amount'],
])

/** Set once and for all, or by the authority's word alone; the indexed ones would also cost an index row each (ingest.md 6.6). */
const KEPT: ReadonlySet<string> = new Set([
  ...['uuid', 'direction', 'cancelled', 'estatus', 'issued_at', 'utc_offset', 'fecha', 'tipo_comprobante', 'emisor_rfc', 'receptor_rfc'],
  ...['counterparty_rfc', 'cancelled_at', 'cancellation_reason', 'folio_sustitucion', 'first_seen_at'],
])

const columnsOf = (table: SQLiteTable): string[] => Object.keys(getTableColumns(table)).filter((name) => name !== 'entity')

const value = (name: string, i: number): string => (MICROS.has(name) ? `cast(value->>${i} as integer)` : `value->>${i}`)

/**
 * A JSON list of lists through json_each, the entity as a parameter. The limit keeps SQLite from merging the two selects, where it would
 * write out each element once for every column: it takes half the time so.
 */
const insert = (table: SQLiteTable, conflict: string): string =>
  `insert into ${getTableName(table)} (entity, ${columnsOf(table).join(', ')})
   select ?1, ${columnsOf(table).map(value).join(', ')} from (select value from json_each(?2) limit -1) where true on conflict ${conflict}`

/** The key is out of the JSON as a whole: with the entity as a parameter the planner walks the whole book (ingest.md 6.1). */
const update = (names: readonly string[], condition = ''): string =>
  `update cfdi set ${names.map((name) => `${name} = j.${name}`).join(', ')}
   from (select value->>0 as e, value->>1 as u, ${names.map((name, i) => `${value(name, i + 2)} as ${name}`).join(', ')} from json_each(?1)) j
   where cfdi.entity = j.e and cfdi.uuid = j.u ${condition}`

const CFDI = columnsOf(cfdi)
const LINES = columnsOf(cfdiLines)
const APPLICATIONS = columnsOf(cfdiPayments)
const MOVED = [...['direction', 'issued_at', 'utc_offset', 'fecha', 'tipo_comprobante', 'emisor_rfc', 'receptor_rfc', 'counterparty_rfc']]
const CANCELLED = ['estatus', 'cancelled', 'cancelled_at', 'cancellation_reason', 'folio_sustitucion', 'updated_at']
const BALANCE = ['paid', 'credited', 'last_payment_at', 'fully_paid_at', 'applied_until', 'updated_at']
const TURNED = [...BALANCE, 'payment_status']

const UPSERT_CFDI = insert(
  cfdi,
  `(entity, uuid) do update set ${CFDI.filter((name) => !KEPT.has(name))
    .map((name) => `${name} = excluded.${name}`)
    .join(', ')} where cfdi.xml_object is null and excluded.xml_object is not null`,
)
const INSERT_LINES = insert(cfdiLines, 'do nothing')
const INSERT_APPLICATIONS = insert(cfdiPayments, 'do nothing')
const MOVE = update(MOVED)
const CANCEL = update(CANCELLED, 'and cfdi.cancelled = 0')
const REBALANCE = update(BALANCE)
const TURN = update(TURNED)
const UPSERT_MONTHS = `insert into cfdi_months (entity, month, direction, cells)
   select ?1, value->>0, value->>1, value->>2 from json_each(?2) where true
   on conflict (entity, month, direction) do update set cells = excluded.cells`
const UPSERT_SUPPLIERS = `insert into cfdi_suppliers (entity, month, part, totals)
   select ?1, value->>0, value->>1, value->>2 from json_each(?2) where true
   on conflict (entity, month, part) do update set totals = excluded.totals`
/** A batch that was reckoned from an older version fails as a whole: version is NOT NULL. */
const FENCE = 'update entities set version = case when version = ?2 then version + 1 end where entity = ?1'

/** The statements of one slice, fence first. */
export function statementsOf(ledger: D1Database, { entity, rfc, version }: Book, writes: Writes, now: number): D1PreparedStatement[] {
  const intoBook = (sql: string, rows: readonly unknown[]) => jsonChunks(rows).map((chunk) => ledger.prepare(sql).bind(entity, chunk))
  const byKey = (sql: string, names: readonly string[], rows: readonly { uuid: string }[]) =>
    jsonChunks(rows.map((row) => [entity, row.uuid, ...listed(names, { updated_at: now, ...row })])).map((chunk) =>
      ledger.prepare(sql).bind(chunk),
    )
  const { rows, moved, lines, applications, cancelled, balances, months, suppliers } = writes
  return [
    ...(version === null
      ? [ledger.prepare('insert into entities (entity, rfc, version) values (?1, ?2, 0) on conflict do nothing').bind(entity, rfc)]
      : []),
    ledger.prepare(FENCE).bind(entity, version ?? 0),
    ...intoBook(
      UPSERT_CFDI,
      rows.map((row) => listed(CFDI, row)),
    ),
    ...byKey(MOVE, MOVED, moved),
    ...intoBook(
      INSERT_LINES,
      lines.map((row) => listed(LINES, row)),
    ),
    ...intoBook(
      INSERT_APPLICATIONS,
      applications.map((row) => listed(APPLICATIONS, row)),
    ),
    ...byKey(CANCEL, CANCELLED, cancelled),
    ...byKey(
      REBALANCE,
      BALANCE,
      balances.filter(({ turned }) => !turned),
    ),
    ...byKey(
      TURN,
      TURNED,
      balances.filter(({ turned }) => turned),
    ),
    ...intoBook(
      UPSERT_MONTHS,
      months.map(({ month, direction, cells }) => [month, direction, cells]),
    ),
    ...intoBook(
      UPSERT_SUPPLIERS,
      suppliers.map(({ month, part, totals }) => [month, part, totals]),
    ),
  ]
}

const listed = (names: readonly string[], row: object): unknown[] =>
  names.map((name) => {
    const it = (row as Record<string, unknown>)[name]
    return typeof it === 'bigint' ? it.toString() : it
  })
