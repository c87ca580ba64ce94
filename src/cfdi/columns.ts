import { getTableColumns, is, type SQL, type SQLChunk, sql } from 'drizzle-orm'
import { alias, SQLiteCustomColumn, type SQLiteTable } from 'drizzle-orm/sqlite-core'
import type { Micros } from '../platform/money.ts'
import { nulls, picker } from './pick.ts'
import { cfdi, type cfdiPayments, cfdiRelated } from './tables.ts'

/** A row of `cfdi` without its partition. */
export type CfdiRow = Omit<typeof cfdi.$inferSelect, 'entity'>
/** A row of `cfdi_payments` without its partition. */
export type ApplicationRow = Omit<typeof cfdiPayments.$inferSelect, 'entity'>

/** The documents under the name that a statement gives them. */
export const cfdiAs = (name: string) => alias(cfdi, name)

/** How many documents the row of the one that pays or lowers them names; more stand in `cfdi_related`, and the row says how many. */
export const MOST_IN_ROW = 100
/** The bytes of a UUID in a list as JSON. */
const UUID_BYTES = 39
const countIn = (related: string): number => Math.floor(related.length / UUID_BYTES)

/** Whether they stand beside the row. */
export const isLong = (related: string | null): related is string => related !== null && countIn(related) > MOST_IN_ROW

/** What the row holds. */
export const inRow = <Row extends Pick<CfdiRow, 'related'>>(row: Row): Row =>
  isLong(row.related) ? { ...row, related: String(countIn(row.related)) } : row

type Naming = Pick<ReturnType<typeof cfdiAs>, 'entity' | 'uuid' | 'related'>
/** The condition that they stand beside the row; null for a document that names none. */
export const isBeside = ({ related }: Pick<Naming, 'related'>): SQL => sql`${related} < '['`

/** The UUIDs that a document pays or lowers, as JSON, wherever they stand. */
export const relatedIn = (row: Naming): SQL => sql`iif(${isBeside(row)}, (select ${cfdiRelated.related} from ${cfdiRelated}
  where ${cfdiRelated.entity} = ${row.entity} and ${cfdiRelated.uuid} = ${row.uuid}), ${row.related})`

/** How many they are. */
export const countOfRelated = (row: Pick<Naming, 'related'>): SQL =>
  sql`iif(${isBeside(row)}, ${row.related} + 0, octet_length(${row.related}) / ${sql.raw(String(UUID_BYTES))})`

/** Columns, or other values, one after the other. */
export const listOf = (columns: readonly SQLChunk[]): SQL => sql.join([...columns], sql`, `)

/** The columns of a table in its order, without the partition. */
export const columnsOf = (table: SQLiteTable): string[] => Object.keys(getTableColumns(table)).filter((name) => name !== 'entity')

/** The columns of a table that hold micros: these are its custom columns. */
export const microsOf = (table: SQLiteTable): string[] =>
  Object.entries(getTableColumns(table)).flatMap(([name, column]) => (is(column, SQLiteCustomColumn) ? [name] : []))

/** The columns of `cfdi` that hold micros. */
export type MicrosColumn = { [Name in keyof CfdiRow]: NonNullable<CfdiRow[Name]> extends Micros ? Name : never }[keyof CfdiRow]

export const COLUMNS = columnsOf(cfdi) as (keyof CfdiRow)[]
export const MICROS = microsOf(cfdi) as MicrosColumn[]

/** Whether a name is one of these. */
export const isIn = <Name extends string>(names: readonly Name[], name: string): name is Name => (names as readonly string[]).includes(name)

// The key, and the columns that the service computes besides the micros.
const NOT_IN_HEADER = [
  ...(['uuid', 'direction', 'cancelled', 'estatus', 'issued_at', 'utc_offset', 'counterparty_rfc', 'payment_status'] as const),
  ...(['last_payment_at', 'fully_paid_at', 'applied_until', 'substituted_from', 'substitutes_from'] as const),
  ...(['cancelled_at', 'cancellation_reason', 'folio_sustitucion'] as const),
  ...(['xml_object', 'xml_offset', 'xml_length', 'xml_method', 'xml_size', 'xml_crc'] as const),
  ...(['updated_at', 'related', 'stored', 'products', 'chunk', 'chunk_at', 'chunk_parts', 'stored_by'] as const),
  ...(['taxes', 'first_paid_on', 'last_paid_on', 'beyond_advances', 'terms_days', 'status_checks', 'beyond_limits'] as const),
]

/** The header of a document: the columns that hold what its XML says. */
export type Header = Omit<CfdiRow, (typeof NOT_IN_HEADER)[number] | MicrosColumn>
const HEADER = COLUMNS.filter((name) => !isIn(NOT_IN_HEADER, name) && !isIn(MICROS, name)) as (keyof Header)[]

export const EMPTY_ROW = nulls(COLUMNS)
export const EMPTY_HEADER: { [Name in keyof Header]: Header[Name] | null } = nulls(HEADER)

/** A row with the header of a document. Its other columns are null. */
export const rowWithHeader = picker(HEADER, COLUMNS)
