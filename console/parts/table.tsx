import type { ComponentChildren } from 'preact'
import css from './table.module.css'

export interface Column<Row> {
  name: string
  /** Figures stand at the right. */
  end?: boolean
  cell: (row: Row) => ComponentChildren
}

interface Props<Row> {
  /** What the table is, for whoever hears it. */
  label: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => string
}

/** A table that scrolls sideways where it is too wide; on a phone its rows are cards. The first column names the row, and stays in sight. */
export function Table<Row>({ label, columns, rows, keyOf }: Props<Row>) {
  // The page after the last row of a list has none: headings alone would say nothing.
  if (rows.length === 0) return null
  return (
    // Without a tabIndex, a keyboard cannot scroll it.
    <section class={css.scroll} tabIndex={0} aria-label={label}>
      <table class={css.table}>
        <thead>
          <tr>
            {columns.map(({ name, end }) => (
              <th key={name} scope="col" class={end ? css.end : undefined}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ name, end, cell }) => (
                <td key={name} data-name={name} class={end ? css.end : undefined}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
