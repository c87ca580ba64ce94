import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { rendered } from '../platform/db/statement.ts'
import type { Micros } from '../platform/money.ts'
import { type CfdiRow, COLUMNS, cfdiAs, isIn, listOf } from './columns.ts'
import { nulls } from './pick.ts'
import { cfdi } from './tables.ts'

const NOT_READ = [
  ...(['cancelled', 'xml_object', 'xml_offset', 'xml_length', 'xml_method', 'xml_size', 'xml_crc', 'related', 'products'] as const),
  ...(['chunk', 'chunk_at', 'chunk_parts', 'stored_by', 'held', 'net_mxn', 'taxes', 'first_paid_on', 'last_paid_on'] as const),
]

type AsRead<Value> = Value extends Micros ? string : Value

/** A row of `cfdi` as pages and details select it. Micros are text. */
export type ReadRow = { [Name in Exclude<keyof CfdiRow, (typeof NOT_READ)[number]>]: AsRead<CfdiRow[Name]> } & { has_xml: 0 | 1 }

const READ = COLUMNS.filter((name) => !isIn(NOT_READ, name))
const own = cfdiAs('own')
const page = cfdiAs('page')

/** The columns of a ReadRow as they are stored, so that the conditions of an outer select can compare them. */
export const storedColumns = (alias: string): SQL => {
  const row = cfdiAs(alias)
  return rendered(listOf([row.entity, ...READ.map((name) => row[name]), sql`${row.xml_object} is not null as has_xml`]))
}

/** The same of the table itself. */
export const STORED_COLUMNS = storedColumns('cfdi')

const HAS_XML = sql`${page}.has_xml`

/** The columns of a ReadRow, out of a select of `storedColumns` with the alias `page`. */
export const READ_COLUMNS = rendered(listOf([...READ.map((name) => page[name]), HAS_XML]))

const NAMES = [...READ, 'has_xml'] as (keyof ReadRow)[]
const EMPTY = nulls(NAMES)

// D1's functions take 32 arguments.
const HALF = 30
const jsonOf = (expressions: readonly SQLWrapper[]): SQL =>
  rendered(sql`json_array(json_array(${listOf(expressions.slice(0, HALF))}), json_array(${listOf(expressions.slice(HALF))}))`)

/** A ReadRow of `cfdi` without an alias, as one text for `parseRow`: the fifty columns would take five times as long on their way. */
export const ROW_JSON = jsonOf([...READ.map((name) => cfdi[name]), sql`${cfdi.xml_object} is not null`])

/** The same out of a select of `storedColumns` with the alias `page`. */
export const READ_ROW_JSON = jsonOf([...READ.map((name) => page[name]), HAS_XML])

/** Parses a row that was selected as JSON. */
export function parseRow(text: string): ReadRow {
  const row: Record<string, unknown> = { ...EMPTY }
  const [first, second] = JSON.parse(text) as [unknown[], unknown[]]
  for (let n = 0; n < NAMES.length; n++) row[NAMES[n]!] = n < HALF ? first[n] : second[n - HALF]
  return row as ReadRow
}

const COUNTABLE = [
  ...(['kind', 'version', 'direction', 'fecha', 'tipo_comprobante', 'metodo_pago', 'estatus', 'emisor_rfc', 'receptor_rfc'] as const),
  ...(['substituted_from', 'currency', 'tipo_cambio', 'subtotal', 'descuento', 'total'] as const),
  ...(['iva_trasladado', 'iva_retenido', 'isr_retenido', 'ieps_trasladado'] as const),
]

/** The columns that totals are computed from. */
export type CountableRow = Pick<ReadRow, (typeof COUNTABLE)[number]>

/** The columns of a CountableRow, of a row with the alias `own`. */
export const COUNTABLE_COLUMNS = rendered(listOf(COUNTABLE.map((name) => own[name])))
