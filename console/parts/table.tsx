import { ArrowDown, ArrowUp, Download } from 'lucide-preact'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { count } from '../format.ts'
import { useWords } from '../language.ts'
import { Button } from './button.tsx'
import type { Endless } from './more.tsx'
import { inOrder, type Order } from './order.ts'
import { Problem } from './states.tsx'
import css from './table.module.css'
import { words } from './words.ts'

export interface Column<Row> {
  name: string
  /** Figures stand at the right. */
  end?: boolean
  /** What the column is sorted by when its heading is pressed: a figure, also one that is text, or a text. Rows that have none come last. */
  by?: (row: Row) => string | number | null
  cell: (row: Row) => ComponentChildren
}

interface Props<Row> {
  /** What the table is, for whoever hears it. */
  label: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => string
  /** Where the rows are those of its pages that were loaded: a file has those of all pages. */
  list?: Endless
  /** False where a table of the same name goes on below, which saves the rows of all of them. */
  isLast?: boolean
  /** How many rows there are with those of tables of the same name above. */
  loaded?: number
  /** False where the sum of a column means nothing. */
  isSummed?: boolean
}

const FORMATS = ['Excel', 'CSV'] as const

/** Saves the rows of a table as they are shown, after the pages that are still to be loaded. */
interface SavingProps {
  label: string
  list: Endless | undefined
  isSummed: boolean
}

function Saving({ label, list, isSummed }: SavingProps) {
  const t = useWords(words)
  const [busy, be] = useState<(typeof FORMATS)[number] | null>(null)
  const [error, fail] = useState<Error | null>(null)
  const write = async (format: (typeof FORMATS)[number]) => {
    be(format)
    fail(null)
    try {
      const [{ csvOf, readTables, workbookOf }, { save }] = await Promise.all([import('./sheet.ts'), import('./save.ts')])
      for (let isMore = list?.hasNextPage; isMore; ) {
        const read = await list!.fetchNextPage()
        if (read.error) throw read.error
        isMore = read.hasNextPage
      }
      // The last page is drawn before the next frame.
      await new Promise(requestAnimationFrame)
      const table = readTables(document.querySelectorAll<HTMLTableElement>(`[aria-label=${CSS.escape(label)}] > table`))
      if (format === 'CSV') save(`${label}.csv`, csvOf(table))
      else save(`${label}.xlsx`, await workbookOf(t.total, [{ name: label, table, isSummed }]))
    } catch (reason) {
      fail(reason as Error)
    }
    be(null)
  }
  return (
    <div class={css.saving}>
      {FORMATS.map((format) => (
        <Button key={format} kind="quiet" small isBusy={busy === format} title={t.saveAs(format, label)} onClick={() => void write(format)}>
          <Download size={14} aria-hidden="true" />
          {format}
        </Button>
      ))}
      <Problem error={error} />
    </div>
  )
}

/** A table that scrolls sideways where it is too wide; on a phone its rows are cards. The first column names the row, and stays in sight. */
export function Table<Row>({ label, columns, rows, keyOf, list, isLast = true, loaded = rows.length, isSummed = true }: Props<Row>) {
  const t = useWords(words)
  const [order, setOrder] = useState<Order | null>(null)
  // An order of the rows that were loaded is none of the list.
  const isWhole = !list?.hasNextPage
  // The page after the last row of a list has none: headings alone would say nothing.
  if (rows.length === 0) return null
  return (
    <>
      {/* Without a tabIndex, a keyboard cannot scroll it. */}
      <section class={css.scroll} tabIndex={0} aria-label={label}>
        <table class={css.table}>
          <thead>
            <tr>
              {columns.map(({ name, end, by }) => {
                const own = isWhole && order?.name === name ? order : null
                return (
                  <th
                    key={name}
                    scope="col"
                    class={end ? css.end : undefined}
                    aria-sort={own ? (own.isDown ? 'descending' : 'ascending') : undefined}
                  >
                    {by && isWhole ? (
                      <button type="button" class={css.sort} onClick={() => setOrder({ name, isDown: own !== null && !own.isDown })}>
                        {name}
                        {own && (own.isDown ? <ArrowDown size={13} aria-hidden="true" /> : <ArrowUp size={13} aria-hidden="true" />)}
                      </button>
                    ) : (
                      name
                    )}
                  </th>
                )
              })}
            </tr>
          </thead>
          <tbody>
            {inOrder(rows, columns, isWhole ? order : null).map((row) => (
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
      {isLast && (
        <div class={css.foot}>
          <small>{list?.hasNextPage ? t.rowsAndMore(count(loaded)) : t.rows(count(loaded))}</small>
          <Saving label={label} list={list} isSummed={isSummed} />
        </div>
      )}
    </>
  )
}
