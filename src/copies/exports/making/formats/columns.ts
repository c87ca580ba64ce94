import type { ColumnType } from './cells.ts'

/** A column of a table: its heading, what its values are, and how a row says its value. */
export interface ExportColumn {
  heading: string
  type: ColumnType
  value: (row: unknown) => unknown
}
export type Columns = readonly ExportColumn[]

export const valuesOf = (columns: Columns, row: unknown): unknown[] => columns.map(({ value }) => value(row))
