import { type Fragment, raw } from '../platform/db/fragment.ts'
import { type CfdiRow, COLUMNS, isIn } from './columns.ts'
import type { Micros } from './money.ts'

const NOT_READ = [
  ...(['cancelled', 'xml_object', 'xml_offset', 'xml_length', 'xml_method', 'xml_size', 'xml_crc', 'related', 'products'] as const),
  ...(['chunk', 'chunk_at', 'chunk_parts', 'held'] as const),
]

type AsRead<Value> = Value extends Micros ? string : Value

/** A row of `cfdi` as pages and details select it. Micros are text. */
export type ReadRow = { [Name in Exclude<keyof CfdiRow, (typeof NOT_READ)[number]>]: AsRead<CfdiRow[Name]> } & { has_xml: 0 | 1 }

const READ = ['entity', ...COLUMNS].filter((name) => !isIn(NOT_READ, name))

/** The columns of a ReadRow as they are stored, so that the conditions of an outer select can compare them. */
export const storedColumns = (alias: string): Fragment =>
  raw([...READ.map((name) => `${alias}.${name}`), `${alias}.xml_object is not null as has_xml`].join(', '))

/** The columns of a ReadRow, out of a select of `storedColumns`. */
export const readColumns = (alias: string): Fragment => raw([...READ, 'has_xml'].map((name) => `${alias}.${name}`).join(', '))

const COUNTABLE = [
  ...(['kind', 'version', 'direction', 'fecha', 'tipo_comprobante', 'metodo_pago', 'estatus', 'emisor_rfc', 'receptor_rfc'] as const),
  ...(['substituted_from', 'currency', 'tipo_cambio', 'subtotal', 'descuento', 'total'] as const),
  ...(['iva_trasladado', 'iva_retenido', 'isr_retenido', 'ieps_trasladado'] as const),
]

/** The columns that totals are computed from. */
export type CountableRow = Pick<ReadRow, (typeof COUNTABLE)[number]>

/** The columns of a CountableRow, of a row with the alias `own`. */
export const COUNTABLE_COLUMNS = raw(COUNTABLE.join(', '))
